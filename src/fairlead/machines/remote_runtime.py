"""A runtime on another machine, behind the same port as one that is here. The turn outlives this process: closing its
stream leaves it running, and asking for it again goes on with it."""

import asyncio
from collections.abc import AsyncIterator
from typing import Literal

import msgspec

from fairlead.core.agent_sessions import ResumeCommand, SessionWriter, StoredSession
from fairlead.core.engine import (
    AgentInitiated,
    AgentInstruction,
    EngineEvent,
    Interrupt,
    Invocation,
    ModelsOffered,
    ModesOffered,
    Response,
    Steer,
    SteerResult,
    TurnFailed,
    UsageReported,
)
from fairlead.core.ids import ResumeKey, SessionKeyText
from fairlead.core.machines.messages import AgentTurnBegun, EndSession, Tell
from fairlead.core.machines.offers import AgentOffer
from fairlead.core.machines.places import machine_of, name_there, path_there
from fairlead.errors import FairleadError
from fairlead.kit.tasks import OwnedTasks
from fairlead.machines.hub import Machines
from fairlead.machines.remote_machine import RemoteMachine
from fairlead.ports import AgentInfo, AgentPreparation, RuntimeCapabilities, RuntimeHealth


def turn_id_of(invocation: Invocation) -> str:
    """The same turn has the same name, also for a later process that asks for it."""
    return f"{invocation.job_id}#{2 if invocation.is_second_attempt else 1}"


class RemoteRuntime:
    def __init__(self, machines: Machines, machine: str, offer: AgentOffer, *, limit_sec: float) -> None:
        self.machine = machine
        self.offer = offer
        self._machines = machines
        self._limit_sec = limit_sec
        self._open: dict[str, AgentInfo] = {}
        self._known: dict[str, AgentInfo] = {}
        self._begun: asyncio.Queue[AgentInitiated] = asyncio.Queue()
        self._watched = OwnedTasks(f"agent turns of {self.name}")
        self.records = RemoteRecords(machines, offer.name)
        # Those of the runtime there; but the agent gets its prompt there, and no agent is started before its time.
        there = msgspec.convert(offer.capabilities, RuntimeCapabilities)
        self.capabilities = msgspec.structs.replace(
            there, is_remote=True, hand_over="told", gets_ready=False, prepares=False
        )

    @property
    def name(self) -> str:
        return name_there(self.machine, self.offer.name)

    async def invoke(self, invocation: Invocation) -> AsyncIterator[EngineEvent]:
        machine = await self._machines.get(self.machine)
        turn_id = turn_id_of(invocation)
        limit = self._limit_sec if self.capabilities.bounded_turns else 0.0
        self._open[invocation.session_key] = self._known.get(invocation.session_key, AgentInfo())
        try:
            async for event in machine.turns.listen(turn_id, self.offer.name, invocation, limit_sec=limit):
                self._learn(invocation.session_key, event)
                yield event
        finally:
            self._open.pop(invocation.session_key, None)

    def _learn(self, session_key: str, event: EngineEvent) -> None:
        known = self._known.get(session_key, AgentInfo())
        match event:
            case ModelsOffered():
                known = msgspec.structs.replace(known, model=event.current, models=event.models)
            case ModesOffered():
                known = msgspec.structs.replace(known, mode=event.current, modes=event.modes)
            case UsageReported() if event.context_size:
                known = msgspec.structs.replace(known, context_used=event.context_used, context_size=event.context_size)
            case _:
                return
        self._known[session_key] = known

    async def prepare(self, preparation: AgentPreparation) -> None:
        """Nothing: the agent starts with its first turn."""

    def adopt(self, ticket: str, session_key: str, generation: int) -> None:
        """Nothing was prepared."""

    async def instruct(self, session_key: str, instruction: AgentInstruction) -> None:
        machine = await self._machines.get(self.machine)
        key = SessionKeyText(session_key)
        if isinstance(instruction, Response | Interrupt):
            machine.turns.tell(Tell(agent=self.offer.name, session_key=key, instruction=instruction))
        else:
            await machine.call("instruct", type(None), agent=self.offer.name, session_key=key, instruction=instruction)

    async def steer(self, session_key: str, steer: Steer) -> SteerResult:
        machine = await self._machines.get(self.machine)
        if not machine.is_usable:
            return SteerResult("too_late")
        try:
            files = await machine.files.send(steer.files)
            return await machine.call(
                "steer",
                SteerResult,
                may_repeat=False,
                agent=self.offer.name,
                session_key=session_key,
                steer=msgspec.structs.replace(steer, files=()),
                files=files,
            )
        except FairleadError:
            return SteerResult("unknown")

    async def watch_agent_turns(self) -> AsyncIterator[AgentInitiated]:
        self._machines.listen_to_agent(self.machine, self.offer.name, self._on_agent_turn)
        async with self._watched:
            while True:
                yield await self._begun.get()

    def _on_agent_turn(self, machine: RemoteMachine, begun: AgentTurnBegun) -> None:
        self._watched.start(self._watch(machine, begun), name=begun.turn_id)

    async def _watch(self, machine: RemoteMachine, begun: AgentTurnBegun) -> None:
        if machine.turns.is_listening_to(begun.turn_id):
            return
        try:
            async for event in machine.turns.watch(begun.turn_id):
                self._pass_on(begun, event)
        except FairleadError as lost:
            self._pass_on(begun, TurnFailed(lost.code, lost.message))

    def _pass_on(self, begun: AgentTurnBegun, event: EngineEvent) -> None:
        self._begun.put_nowait(AgentInitiated(begun.session_key, begun.generation, begun.turn_id, event))

    def describe(self, session_key: str) -> AgentInfo:
        known = self._known.get(session_key, AgentInfo())
        return msgspec.structs.replace(known, state="Prompting" if session_key in self._open else "Closed")

    async def end_session(self, session_key: str, how: Literal["stop", "kill"]) -> None:
        machine = await self._machines.get(self.machine)
        self._known.pop(session_key, None)
        machine.post(EndSession(agent=self.offer.name, session_key=SessionKeyText(session_key), how=how))

    async def check(self) -> RuntimeHealth:
        try:
            return await self._machines.find(self.machine).call("check", RuntimeHealth, agent=self.offer.name)
        except FairleadError as fault:
            return RuntimeHealth(ok=False, notes=(fault.message,))

    async def aclose(self) -> None:
        """Nothing ends there: its turns go on."""


class RemoteRecords:
    """ports.SessionRecords of an agent on another machine."""

    are_files = False  # what is asked of another machine is not asked without need

    def __init__(self, machines: Machines, agent: str) -> None:
        self._machines = machines
        self._agent = agent

    async def list_sessions(self, directory: str) -> tuple[StoredSession, ...]:
        there = self._machines.find(machine_of(directory))
        return await there.call(
            "records.list_sessions", tuple[StoredSession, ...], agent=self._agent, directory=path_there(directory)
        )

    async def read_session(self, directory: str, key: ResumeKey, since: str = "") -> StoredSession | None:
        there = self._machines.find(machine_of(directory))
        return await there.call(
            "records.read_session",
            StoredSession | None,  # pyright: ignore[reportArgumentType] - a union is a type to msgspec
            agent=self._agent,
            directory=path_there(directory),
            key=key,
            since=since,
        )

    async def find_writers(self, directory: str, key: ResumeKey) -> tuple[SessionWriter, ...]:
        there = self._machines.find(machine_of(directory))
        return await there.call(
            "records.find_writers",
            tuple[SessionWriter, ...],
            agent=self._agent,
            directory=path_there(directory),
            key=key,
        )

    async def resume_command(self, directory: str, key: ResumeKey) -> ResumeCommand | None:
        there = self._machines.find(machine_of(directory))
        return await there.call(
            "records.resume_command",
            ResumeCommand | None,  # pyright: ignore[reportArgumentType]
            agent=self._agent,
            directory=path_there(directory),
            key=key,
        )
