"""What every translator does: lines in, engine events out, and the end of the turn when the process has ended. Pure."""

from typing import Protocol

import msgspec

from fairlead.core.engine import EngineEvent, TurnEnded, TurnFailed
from fairlead.errors import Code
from fairlead.runtimes.faults import failure_from, shorten
from fairlead.runtimes.lines import Unread

_ENDS = frozenset({TurnEnded, TurnFailed})


class Exit(msgspec.Struct, frozen=True):
    """How the process ended. `interrupted`: because we asked it to."""

    returncode: int | None
    stderr: str = ""
    interrupted: bool = False


class Translator(Protocol):
    """`feed` may already give the end of the turn; then the rest of the output does not matter any more."""

    def feed(self, line: bytes) -> list[EngineEvent]: ...

    def finish(self, end: Exit) -> list[EngineEvent]:
        """The last events, exactly one TurnEnded or TurnFailed at their end."""
        ...


def is_end(event: EngineEvent) -> bool:
    # This is asked of every event, and `isinstance` takes ten times as long for an event that is no end.
    return type(event) in _ENDS


def misshapen_failure(unread: Unread, text: str = "") -> TurnFailed:
    what = f"The agent's {unread.kind!r} event has an unknown format ({unread.reason})"
    return TurnFailed(Code.E_ADAPTER_PARSE, f"{what}: {unread.excerpt}", text)


def exit_failure(end: Exit, text: str = "", *, status: int | None = None) -> TurnFailed:
    """For a process that ended with an error of its own and told us nothing on standard output."""
    said = end.stderr.strip()
    how = _how(end.returncode)
    if not said:
        return TurnFailed(Code.E_CLI_EXIT_NONZERO, f"The agent's process {how} without output.", text)
    fault = failure_from(said, status=status, otherwise=Code.E_CLI_EXIT_NONZERO, text=text)
    if fault.code is Code.E_CLI_EXIT_NONZERO:
        return TurnFailed(fault.code, f"The agent's process {how}: {shorten(_last_lines(said))}", text)
    return fault


def _how(returncode: int | None) -> str:
    if returncode is None:
        return "would not end"
    return f"was ended by signal {-returncode}" if returncode < 0 else f"ended with exit code {returncode}"


def _last_lines(said: str) -> str:
    return "\n".join(said.splitlines()[-8:])
