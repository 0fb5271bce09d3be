"""`fairlead doctor`: what is broken, what is missing, and how to go on."""

from pathlib import Path

import pytest

from tests.cli.harness import run, state_of

pytestmark = pytest.mark.req("A21")


def test_doctor_on_a_fresh_machine_is_content_and_tells_how_to_go_on(tmp_path: Path):
    done = run(tmp_path, "doctor")
    assert done.returncode == 0
    for words in ("settings   ok", "there is no journal yet", "echo", "Discord", "`fairlead init`"):
        assert words in done.stdout


def test_doctor_fails_on_what_is_broken_and_says_what(tmp_path: Path):
    state = state_of(tmp_path)
    state.mkdir(parents=True)
    (state / "events.ndjson").write_text("rubbish\n")
    done = run(tmp_path, "doctor", PROJECTS=f'["{tmp_path}/nowhere"]')
    assert done.returncode == 1
    assert "journal    FAIL" in done.stdout
    assert f"projects   FAIL {tmp_path}/nowhere does not exist. Make it, or correct PROJECTS" in done.stdout


@pytest.mark.req("A21")
def test_doctor_names_the_agents_that_are_not_there_and_where_it_looked(tmp_path: Path):
    done = run(tmp_path, "doctor", PATH="/usr/bin:/bin", CLAUDE_COMMAND="claude-of-mine")
    assert "claude-of-mine -    not found on PATH (/usr/bin:/bin). To have this agent, install it" in done.stdout
