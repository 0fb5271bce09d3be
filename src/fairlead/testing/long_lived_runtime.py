"""A scripted runtime whose agents outlive a turn, as those that speak ACP do.

They are started before their first prompt, held to no time limit but their own watchdog, and replaced while they work.
What became of each of them outlives the runtime.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing
from typing import Final, Literal, cast

import msgspec

from fairlead.core.agents import ConfiguredAgent
from fairlead.core.engine import (
    AgentInstruction,
    EngineEvent,
    Invocation,
    PermissionRequested,
    PlanProposed,
    QuestionRequested,
    Response,
    TurnEnded,
    TurnFailed,
)
from fairlead.errors import Code, error
from fairlead.ports import AgentPreparation, Runtime, RuntimeCapabilities
from fairlead.testing.runtime import AgentLog, ScriptedRuntime

WATCHDOG_SEC: Final = 1800.0
_ASKS: Final = (PermissionRequested, QuestionRequested, PlanProposed)


class StartedAgent(msgspec.Struct, kw_only=True):
    """An agent that was started before its first prompt, by the ticket that stood for its session."""

    ticket: str
    mark: str
    life: int
    state: Literal["ready", "adopted", "ended"] = "ready"


class AgentsOfTheWorld:
    """Agents that were started ahead, in all lives, and starts that failed. `fails` says whether the next one does."""

    def __init__(self, *, latency: Callable[[], float], fails: Callable[[], bool]) -> None:
        self.latency = latency
        self.fails = fails
        self.prepared: dict[str, StartedAgent] = {}
        self.failed: set[str] = set()

    def alive_in(self, life: int) -> list[StartedAgent]:
        return [agent for agent in self.prepared.values() if agent.life == life and agent.state != "ended"]


class LongLivedRuntime(ScriptedRuntime):
    """ports.Runtime of one configured agent."""

    def __init__(self, agent: ConfiguredAgent, log: AgentLog, agents: AgentsOfTheWorld, *, life: int) -> None:
        super().__init__(log, name=agent.name, life=life)
        self.agent = agent
        self._agents = agents
        self._log_of_turns = log
        self._life_number = life
        self._open_asks: dict[str, set[str]] = {}
        self._turns: set[str] = set()

    @property
    def capabilities(self) -> RuntimeCapabilities:
        return msgspec.structs.replace(super().capabilities, prepares=True, bounded_turns=False, second_attempt=False)

    async def prepare(self, preparation: AgentPreparation) -> None:
        await asyncio.sleep(self._agents.latency())
        if self._agents.fails():
            self._agents.failed.add(preparation.ticket)
            raise error(Code.E_ACP_CONNECTION, "The agent does not start today.")
        self._agents.prepared[preparation.ticket] = StartedAgent(
            ticket=preparation.ticket, mark=preparation.mark, life=self._life_number
        )

    def adopt(self, ticket: str, session_key: str, generation: int) -> None:  # noqa: ARG002 - the port's shape
        agent = self._agents.prepared.get(ticket)
        if agent is not None and agent.state == "ready":
            agent.state = "adopted"

    async def invoke(self, invocation: Invocation) -> AsyncIterator[EngineEvent]:
        """Silence ends the turn, unless a person is asked."""
        self._turns.add(invocation.job_id)
        asked = self._open_asks[invocation.session_key] = set()
        turn = cast("AsyncGenerator[EngineEvent]", super().invoke(invocation))
        try:
            async with aclosing(turn) as events:
                while True:
                    try:
                        async with asyncio.timeout(None if asked else WATCHDOG_SEC):
                            event = await anext(events)
                    except TimeoutError:
                        yield TurnFailed(Code.E_ACP_TIMEOUT, "The agent fell silent.")
                        return
                    if isinstance(event, _ASKS):
                        asked.add(event.request_id)
                    if isinstance(event, TurnEnded | TurnFailed):
                        self._turns.discard(invocation.job_id)
                    yield event
        except StopAsyncIteration:
            return
        finally:
            self._turns.discard(invocation.job_id)

    async def instruct(self, session_key: str, instruction: AgentInstruction) -> None:
        if isinstance(instruction, Response):
            self._open_asks.get(session_key, set()).discard(instruction.request_id)
        await super().instruct(session_key, instruction)

    async def end_session(self, session_key: str, how: Literal["stop", "kill"]) -> None:
        agent = self._agents.prepared.get(session_key)
        if agent is not None:
            agent.state = "ended"
        await super().end_session(session_key, how)

    async def aclose(self) -> None:
        for job_id in sorted(self._turns):
            self._log_of_turns.violations.append(f"the runtime of {job_id} was closed while it ran")
        for agent in self._agents.alive_in(self._life_number):
            agent.state = "ended"
        await super().aclose()


class SimulatedCatalogue:
    """flow.agent_runtimes.RuntimeCatalogue: a runtime for each configured agent, and those that are always there."""

    def __init__(self, always: Mapping[str, Runtime], make: Callable[[ConfiguredAgent], LongLivedRuntime]) -> None:
        self.runtimes: dict[str, Runtime] = dict(always)
        self.made: list[LongLivedRuntime] = []
        self._always = always
        self._make = make

    def follow(self, configured: Mapping[str, ConfiguredAgent]) -> Sequence[Runtime]:
        there = {name: r for name, r in self.runtimes.items() if isinstance(r, LongLivedRuntime)}
        kept = {name: r for name, r in there.items() if configured.get(name) == r.agent}
        wanted: dict[str, Runtime] = {name: kept.get(name) or self._new(agent) for name, agent in configured.items()}
        self.runtimes.clear()
        self.runtimes.update(wanted | dict(self._always))
        return [runtime for name, runtime in there.items() if name not in kept]

    def _new(self, agent: ConfiguredAgent) -> LongLivedRuntime:
        runtime = self._make(agent)
        self.made.append(runtime)
        return runtime

    def unplug(self) -> None:
        for runtime in self.made:
            runtime.unplug()
