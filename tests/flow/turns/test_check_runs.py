"""The tests that an agent ran in a turn: the last run of each command counts."""

import pytest

from fairlead.core.engine import ToolEnded, ToolProgressed, ToolStarted
from fairlead.core.turn_reports import CheckRun
from fairlead.flow.turns.check_runs import CheckRuns

pytestmark = pytest.mark.req("F3")


def run(runs: CheckRuns, tool_id: str, command: str, *, ok: bool = True, output: str = "", printed: str = "") -> None:
    runs.note(ToolStarted(tool_id, "Bash", {"command": command}))
    if printed:
        runs.note(ToolProgressed(tool_id=tool_id, output=printed))
    runs.note(ToolEnded(tool_id, ok, output))


def test_only_tests_are_kept_and_a_second_run_replaces_the_first():
    runs = CheckRuns()
    run(runs, "1", "ls")
    run(runs, "2", "pytest", ok=False, output="1 failed, 4 passed")
    run(runs, "3", "npm test", printed="3 passed")
    run(runs, "4", "pytest", output="5 passed")
    assert runs.latest == (CheckRun("npm test", ok=True, result="3 passed"), CheckRun("pytest", True, "5 passed"))


def test_a_test_that_never_ended_is_not_told():
    runs = CheckRuns()
    runs.note(ToolStarted("1", "Bash", {"command": "pytest"}))
    runs.note(ToolEnded("2"))
    assert runs.latest == ()
