"""What a turn did beside its answer, as a fact: the tests that its agent ran, and how full the agent's context is."""

import msgspec


class CheckRun(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """A command that looked like tests, and how it ended; `result` are its counts, such as `5 passed, 1 failed`."""

    command: str
    ok: bool
    result: str = ""


class TurnReport(msgspec.Struct, frozen=True, omit_defaults=True, gc=False, kw_only=True):
    """`context_used` of `context_size` tokens; 0 where the agent does not say. `machine_time` is what the clock of
    another machine said when the turn ended there."""

    checks: tuple[CheckRun, ...] = ()
    context_used: int = 0
    context_size: int = 0
    machine_time: str = ""


NO_REPORT = TurnReport()
