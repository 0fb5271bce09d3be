"""`fairlead journal` where there is no journal."""

from pathlib import Path

import pytest

from tests.cli.harness import run

pytestmark = pytest.mark.req("A21")


def test_journal_commands_without_a_journal_say_what_to_do(tmp_path: Path):
    assert run(tmp_path, "journal", "verify").returncode == 0
    for command in (("tail",), ("show", "job_1")):
        done = run(tmp_path, "journal", *command)
        assert done.returncode == 78
        assert "There is no journal" in done.stderr
        assert "`fairlead up`" in done.stderr
