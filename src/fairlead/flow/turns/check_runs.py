"""The commands of a turn that looked like tests, and how they ended, gathered from what the agent does."""

from typing import Final

from fairlead.core.check_commands import command_of, find_check, has_passed, read_result
from fairlead.core.engine import ToolEnded, ToolProgressed, ToolStarted
from fairlead.core.turn_reports import CheckRun

MOST_CHECKS: Final = 10


class CheckRuns:
    def __init__(self) -> None:
        self._running: dict[str, str] = {}
        self._printed: dict[str, str] = {}
        self._ended: dict[str, CheckRun] = {}

    @property
    def latest(self) -> tuple[CheckRun, ...]:
        """In the order in which they ended, each command once: its last run counts."""
        return tuple(self._ended.values())[-MOST_CHECKS:]

    def note(self, event: ToolStarted | ToolProgressed | ToolEnded) -> None:
        match event:
            case ToolStarted():
                check = find_check(command_of(event.name, event.input))
                if check:
                    self._running[event.tool_id] = check
            case ToolProgressed():
                if event.output and event.tool_id in self._running:
                    self._printed[event.tool_id] = event.output
            case ToolEnded():
                self._end(event)

    def _end(self, event: ToolEnded) -> None:
        check = self._running.pop(event.tool_id, "")
        printed = self._printed.pop(event.tool_id, "")
        if not check:
            return
        result = read_result(event.summary) or read_result(printed)
        self._ended.pop(check, None)
        self._ended[check] = CheckRun(check, has_passed(ok=event.ok, result=result), result)
