"""A runtime whose agents live for one turn. What is particular to a CLI is in the adapter it is given."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, aclosing
from typing import Literal, Protocol

import msgspec

from fairlead.core.engine import (
    AgentInitiated,
    AgentInstruction,
    EngineEvent,
    Interrupt,
    Invocation,
    Noticed,
    Ready,
    Steer,
    SteerResult,
    TurnFailed,
)
from fairlead.errors import Code, FairleadError
from fairlead.ports import AgentInfo, AgentPreparation, JobLogs, RuntimeCapabilities, RuntimeHealth, SessionRecords
from fairlead.runtimes.clean_ups import CleanUps
from fairlead.runtimes.cli_turn import CliCommand, CliTurn
from fairlead.runtimes.translator import Translator


class Prepared(msgspec.Struct, frozen=True):
    """A turn that is ready to run; `notes` are for the person."""

    command: CliCommand
    translator: Translator
    notes: tuple[str, ...] = ()


class Adapter(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def capabilities(self) -> RuntimeCapabilities:
        """What this CLI takes, such as a model; `PerTurnRuntime` adds what it can do with every CLI."""
        ...

    @property
    def records(self) -> SessionRecords: ...

    def prepare(self, invocation: Invocation) -> AbstractAsyncContextManager[Prepared]:
        """Raises the FairleadError that forbids the turn. Leaving the block removes what was made for the turn."""
        ...

    async def check(self) -> RuntimeHealth: ...


class PerTurnRuntime:
    def __init__(self, adapter: Adapter, job_logs: JobLogs) -> None:
        self._adapter = adapter
        self._capabilities = msgspec.structs.replace(
            adapter.capabilities, interrupt=True, second_attempt=True, gets_ready=True, hand_over="told"
        )
        self._job_logs = job_logs
        self._running: dict[str, CliTurn] = {}
        self._clean_ups = CleanUps(adapter.name)

    @property
    def name(self) -> str:
        return self._adapter.name

    @property
    def capabilities(self) -> RuntimeCapabilities:
        return self._capabilities

    @property
    def records(self) -> SessionRecords:
        return self._adapter.records

    async def invoke(self, invocation: Invocation) -> AsyncGenerator[EngineEvent]:
        session_key = invocation.session_key
        await self._clean_ups.until_done(session_key)
        if invocation.fork is not None and invocation.resume_key is None and not self._capabilities.forks:
            yield TurnFailed(Code.E_FORK_UNAVAILABLE, f"{self.name} cannot begin with a copy of another talk.")
            return
        try:
            # Left when the process is gone: it may still read what was made for the turn.
            stack = AsyncExitStack()
            prepared = await stack.enter_async_context(self._adapter.prepare(invocation))
        except FairleadError as refusal:
            yield TurnFailed(refusal.code, refusal.message)
            return
        turn = CliTurn(prepared.command, prepared.translator, self._job_logs(invocation.job_id))
        self._running[session_key] = turn
        try:
            async with aclosing(self._clean_ups.pass_on(turn.events(), session_key, stack)) as events:
                async for event in events:
                    yield event
                    if type(event) is Ready:
                        for note in prepared.notes:
                            yield Noticed(note)
        finally:
            if self._running.get(session_key) is turn:
                del self._running[session_key]

    async def prepare(self, preparation: AgentPreparation) -> None:
        """Nothing: the agent starts with its first turn."""

    def adopt(self, ticket: str, session_key: str, generation: int) -> None:
        """Nothing was prepared."""

    async def instruct(self, session_key: str, instruction: AgentInstruction) -> None:
        """Nobody can be asked in the middle of such a turn, so only an interruption means anything."""
        turn = self._running.get(session_key)
        if turn is not None and isinstance(instruction, Interrupt):
            turn.interrupt()

    async def steer(self, session_key: str, steer: Steer) -> SteerResult:  # noqa: ARG002 - the port's shape
        """Such an agent reads nothing more once it works."""
        return SteerResult("refused")

    async def watch_agent_turns(self) -> AsyncIterator[AgentInitiated]:
        """Empty: between turns there is no process that could do anything."""
        for nothing in ():
            yield nothing

    def describe(self, session_key: str) -> AgentInfo:
        return AgentInfo(state="Prompting" if session_key in self._running else "Closed")

    async def end_session(self, session_key: str, how: Literal["stop", "kill"]) -> None:  # noqa: ARG002
        turn = self._running.get(session_key)
        if turn is not None:
            turn.interrupt()
        await self._clean_ups.until_done(session_key)

    async def check(self) -> RuntimeHealth:
        return await self._adapter.check()

    async def aclose(self) -> None:
        """Each stream of `invoke` owns its process until the turn has ended, and the turn that reads the stream closes
        it."""
        for turn in tuple(self._running.values()):
            turn.interrupt()
        await self._clean_ups.join()
