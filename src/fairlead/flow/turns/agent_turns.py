"""Turns that agents begin on their own: each of them becomes a job of its own, never the next message's answer."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine
from contextlib import aclosing
from typing import Any, Final

from fairlead.core.decide.scheduling import BeginAgentTurn
from fairlead.core.engine import AgentInitiated, EngineEvent, Invocation, Ready, TurnEnded, TurnFailed
from fairlead.core.message_ids import agent_turn_id
from fairlead.core.state import Job
from fairlead.flow.ledger import Ledger
from fairlead.flow.turns.turn import OpenStream, Turn
from fairlead.kit.tasks import TaskOwner
from fairlead.observe import log_failure
from fairlead.ports import Runtime

LISTEN_AGAIN_SECONDS: Final = 15.0

MakeAgentTurn = Callable[[Job, Runtime, OpenStream], Turn]
WatchOver = Callable[[Turn], Coroutine[Any, Any, None]]


class AgentStream:
    """The events of one turn that an agent began, from the runtime's shared stream to the turn that records them."""

    def __init__(self) -> None:
        self._events: asyncio.Queue[EngineEvent] = asyncio.Queue()

    def put(self, event: EngineEvent) -> None:
        self._events.put_nowait(event)

    async def open(self, invocation: Invocation) -> AsyncIterator[EngineEvent]:  # noqa: ARG002 - OpenStream's shape
        yield Ready()  # the turn waits here until its start is durable
        while True:
            event = await self._events.get()
            yield event
            if isinstance(event, TurnEnded | TurnFailed):
                return


class AgentTurns:
    def __init__(self, ledger: Ledger, runtime: Runtime, make_turn: MakeAgentTurn) -> None:
        self._ledger = ledger
        self._runtime = runtime
        self._make_turn = make_turn
        self._streams: dict[str, AgentStream] = {}

    async def run(self, watch_over: WatchOver) -> None:
        """For ever: begin a job with the first event of each turn, and feed it the rest."""
        async with TaskOwner(f"agent turns {self._runtime.name}") as owner:
            while True:
                async with aclosing(self._listen()) as initiated_events:
                    async for initiated in initiated_events:
                        self._pass_on(initiated, owner, watch_over)
                await asyncio.sleep(LISTEN_AGAIN_SECONDS)

    async def _listen(self) -> AsyncGenerator[AgentInitiated]:
        try:
            async for initiated in self._runtime.watch_agent_turns():
                yield initiated
        except Exception as fault:  # a runtime that breaks here loses its own turns for a while, and nobody else's
            log_failure("a runtime broke while it was listened to", fault, runtime=self._runtime.name)

    def _pass_on(self, initiated: AgentInitiated, owner: TaskOwner, watch_over: WatchOver) -> None:
        stream = self._streams.get(initiated.turn_id) or self._begin(initiated, owner, watch_over)
        if stream is None:
            return
        stream.put(initiated.event)
        if isinstance(initiated.event, TurnEnded | TurnFailed):
            del self._streams[initiated.turn_id]

    def _begin(self, initiated: AgentInitiated, owner: TaskOwner, watch_over: WatchOver) -> AgentStream | None:
        decision = self._ledger.apply_now(
            BeginAgentTurn(initiated.session_key, initiated.generation, initiated.turn_id, self._runtime.name)
        )
        if decision.refusal is not None:
            log_failure("an agent began a turn by itself, and its session is gone", decision.refusal)
            return None
        job = self._find_begun(initiated) if decision.duplicate else self._ledger.state.jobs[decision.job_id]
        if job is None:
            return None
        stream = AgentStream()
        self._streams[initiated.turn_id] = stream
        turn = self._make_turn(job, self._runtime, stream.open)
        if decision.duplicate:
            turn.attach()
        owner.start(watch_over(turn), name=job.job_id)
        return stream

    def _find_begun(self, initiated: AgentInitiated) -> Job | None:
        """The job of a turn that is told again: it goes on if it runs on another machine and an earlier process of the
        daemon listened to it."""
        session = self._ledger.state.sessions.get(initiated.session_key)
        if session is None or not self._runtime.capabilities.is_remote:
            return None
        job = self._ledger.state.job_of(session.conversation, agent_turn_id(initiated.turn_id))
        return job if job is not None and job.is_live else None
