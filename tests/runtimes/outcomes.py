"""One turn on a stage, and the failure it ended with."""

from fairlead.core.engine import (
    EngineEvent,
    Invocation,
    TurnFailed,
)
from tests.runtimes.harness import ReplayStage
from tests.support.runtime_contract import closing, invocation, processes_of, run


async def outcome(stage: ReplayStage, turn: Invocation | None = None, /, **switches: object) -> list[EngineEvent]:
    turn = turn or invocation(stage.root, "hello")
    async with closing(stage.runtime("answers", **switches)) as runtime:
        events = await run(runtime, turn)
    assert processes_of(turn) == []
    return events


def failure_in(events: list[EngineEvent]) -> TurnFailed:
    assert isinstance(events[-1], TurnFailed), events[-1]
    return events[-1]
