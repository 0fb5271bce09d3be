"""What agents do on their own: each such turn becomes a job of its own, never the next message's answer."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine
from contextlib import aclosing
from typing import Any, Final

import msgspec

from fairlead.core.decide.scheduling import BeginAgentTurn
from fairlead.core.engine import AgentInitiated, EngineEvent, Invocation, TurnEnded, TurnFailed
from fairlead.core.state import Job
from fairlead.flow.ledger import Ledger
from fairlead.flow.turns.turn import Turn
from fairlead.kit.tasks import TaskOwner
from fairlead.observe import log_failure
from fairlead.ports import Runtime

LISTEN_AGAIN_SECONDS: Final = 15.0

WatchOver = Callable[[Turn], Coroutine[Any, Any, None]]


class StreamAsRuntime:
    """The events of one unasked turn, as they come in, in the shape of a runtime that was invoked."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._events: asyncio.Queue[EngineEvent] = asyncio.Queue()
        self.name = runtime.name
        self.capabilities = msgspec.structs.replace(runtime.capabilities, gets_ready=False)
        self.instruct = runtime.instruct
        self.unasked = runtime.unasked
        self.describe = runtime.describe
        self.end_session = runtime.end_session
        self.check = runtime.check
        self.aclose = runtime.aclose

    def hear(self, event: EngineEvent) -> None:
        self._events.put_nowait(event)

    async def invoke(self, invocation: Invocation) -> AsyncIterator[EngineEvent]:  # noqa: ARG002 - the port's shape
        while True:
            event = await self._events.get()
            yield event
            if isinstance(event, TurnEnded | TurnFailed):
                return


class AgentTurns:
    def __init__(self, ledger: Ledger, runtime: Runtime, make_turn: Callable[[Job, Runtime], Turn]) -> None:
        self._ledger = ledger
        self._runtime = runtime
        self._make_turn = make_turn
        self._heard: dict[str, StreamAsRuntime] = {}

    async def run(self, watch_over: WatchOver) -> None:
        """For ever: begin a job with the first event of each turn, and feed it the rest."""
        async with TaskOwner(f"unasked {self._runtime.name}") as owner:
            while True:
                async with aclosing(self._spoken()) as spoken:
                    async for unasked in spoken:
                        self._take(unasked, owner, watch_over)
                await asyncio.sleep(LISTEN_AGAIN_SECONDS)

    async def _spoken(self) -> AsyncGenerator[AgentInitiated]:
        """What the runtime says by itself; a runtime that breaks here has only stopped talking."""
        try:
            async for unasked in self._runtime.unasked():
                yield unasked
        except Exception as fault:
            log_failure("a runtime broke while it was listened to", fault, runtime=self._runtime.name)

    def _take(self, unasked: AgentInitiated, owner: TaskOwner, watch_over: WatchOver) -> None:
        stream = self._heard.get(unasked.turn_id) or self._begin(unasked, owner, watch_over)
        if stream is None:
            return
        stream.hear(unasked.event)
        if isinstance(unasked.event, TurnEnded | TurnFailed):
            del self._heard[unasked.turn_id]

    def _begin(self, unasked: AgentInitiated, owner: TaskOwner, watch_over: WatchOver) -> StreamAsRuntime | None:
        decision = self._ledger.apply_now(BeginAgentTurn(unasked.session_key, unasked.generation, unasked.turn_id))
        if decision.refusal is not None:
            log_failure("an agent spoke unasked, and nobody is there to hear it", decision.refusal)
            return None
        if decision.duplicate:
            return None
        stream = StreamAsRuntime(self._runtime)
        self._heard[unasked.turn_id] = stream
        turn = self._make_turn(self._ledger.state.jobs[decision.job_id], stream)
        owner.start(watch_over(turn), name=decision.job_id)
        return stream
