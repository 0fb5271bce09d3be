"""A runtime that writes down everything it was asked, and plays scripts in the language of the echo agent.

The log outlives the runtime, as agents outlive a crash in people's memory: each life of the daemon gets a runtime of
its own on the same log.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from typing import Final, Literal

import msgspec

from fairlead.core.engine import (
    AgentInitiated,
    AgentInstruction,
    EngineEvent,
    HandingOver,
    Invocation,
    PermissionRequested,
    PlanProposed,
    QuestionRequested,
    Ready,
    Response,
    Steer,
    SteerResult,
    TurnEnded,
    TurnFailed,
)
from fairlead.ports import (
    NO_RECORDS,
    AgentInfo,
    AgentPreparation,
    RuntimeCapabilities,
    RuntimeHealth,
    SessionRecords,
)
from fairlead.runtimes.echo import EchoRuntime

Script = Callable[[Invocation, int], str]
"""What to play for this invocation, which is the n-th of its job: a prompt in the language of the echo agent."""


class Invoked(msgspec.Struct, kw_only=True):
    """One invocation, as the agent saw it. `ended` stays empty if the stream was closed or the power went."""

    job_id: str
    session_key: str
    prompt: str
    resume_key: str | None
    life: int
    began: float
    ended: Literal["", "success", "failed", "transient"] = ""


class Steered(msgspec.Struct, kw_only=True):
    """One text that went to the agent of a turn, as the agent saw it. `outcome` stays empty if the power went."""

    job_id: str
    into: str
    text: str
    life: int
    outcome: str = ""


RUNNER_LIVES: Final = 1000
"""The lives of runners are numbered from here, so that no agent of theirs is taken for one of the daemon's."""


def _is_kept(first: Invoked, second: Invoked) -> bool:
    return first.life == second.life or (first.life > RUNNER_LIVES and second.life > RUNNER_LIVES)


class AgentLog:
    """Every invocation of every life, and what was wrong with it the moment it came."""

    def __init__(self, *, slots: int | None = None) -> None:
        self.invoked: list[Invoked] = []
        self.steered: list[Steered] = []
        self.violations: list[str] = []
        self.slots = slots
        self.most_active = 0
        self.on_begin: Callable[[Invoked], None] | None = None
        self.on_work: Callable[[Invocation], None] | None = None
        """An agent that has its prompt changes files."""
        self.on_steer: Callable[[Steered], None] | None = None
        self._open: dict[str, Invoked] = {}
        self._active: set[str] = set()

    def begin(self, invoked: Invoked) -> None:
        self._check_once(invoked)
        other = self._open.get(invoked.session_key)
        if other is not None:
            self.violations.append(f"{invoked.job_id} began while {other.job_id} ran in {invoked.session_key}")
        if self.on_begin is not None:
            self.on_begin(invoked)
        self.invoked.append(invoked)
        self._open[invoked.session_key] = invoked
        self.occupy(invoked.job_id)

    def _check_once(self, invoked: Invoked) -> None:
        """Once, or a second time in the same life after a failure that was worth a second attempt. A runner keeps such
        an attempt across its own lives."""
        before = [i for i in self.invoked if i.job_id == invoked.job_id]
        if not before:
            return
        is_second_attempt = len(before) == 1 and before[0].ended == "transient" and _is_kept(before[0], invoked)
        if not is_second_attempt:
            self.violations.append(f"{invoked.job_id} was invoked {len(before) + 1} times")

    def note_steered(self, given: Steered) -> None:
        if self.on_steer is not None:
            self.on_steer(given)
        self.steered.append(given)

    def occupy(self, job_id: str) -> None:
        self._active.add(job_id)
        self.most_active = max(self.most_active, len(self._active))
        if self.slots is not None and len(self._active) > self.slots:
            self.violations.append(f"{job_id} made {len(self._active)} active turns, where {self.slots} are allowed")

    def vacate(self, job_id: str) -> None:
        self._active.discard(job_id)

    def end(self, invoked: Invoked) -> None:
        if self._open.get(invoked.session_key) is invoked:
            del self._open[invoked.session_key]
        self.vacate(invoked.job_id)

    def under_way(self) -> list[Invoked]:
        return list(self._open.values())

    def end_all(self) -> None:
        """The power is lost, and every agent with it."""
        self._open.clear()
        self._active.clear()

    def end_life(self, life: int) -> None:
        """The power is lost, and every agent of this life with it."""
        for invoked in self.invoked:
            if invoked.life == life:
                self.end(invoked)


class ScriptedRuntime:
    """ports.Runtime. Without a `script` it plays what the prompt says. With `starts_in`, an agent takes so many seconds
    to start, and only then gets its prompt; if it `stays`, it waits for the next prompt of its session."""

    def __init__(
        self,
        log: AgentLog,
        *,
        name: str = "echo",
        script: Script | None = None,
        life: int = 0,
        starts_in: Callable[[], float] | None = None,
        stays: bool = False,
        records: SessionRecords = NO_RECORDS,
    ) -> None:
        self._log = log
        self._script = script
        self._life = life
        self._starts_in = starts_in
        self._stays = stays
        self._waiting: set[str] = set()
        self._player = EchoRuntime()
        self._job_of: dict[str, str] = {}
        self._is_unplugged = False
        self._name = name
        self.records: SessionRecords = records

    @property
    def name(self) -> str:
        return self._name

    @property
    def capabilities(self) -> RuntimeCapabilities:
        if self._starts_in is None:
            return self._player.capabilities
        return msgspec.structs.replace(self._player.capabilities, gets_ready=True, hand_over="told")

    def unplug(self) -> None:
        """From now on nothing that happens here is written down."""
        self._is_unplugged = True
        self._log.end_life(self._life)

    async def invoke(self, invocation: Invocation) -> AsyncIterator[EngineEvent]:
        invoked = Invoked(
            job_id=invocation.job_id,
            session_key=invocation.session_key,
            prompt=invocation.prompt,
            resume_key=invocation.resume_key,
            life=self._life,
            began=asyncio.get_running_loop().time(),
        )
        if self._starts_in is not None:
            yield Ready()
            if invocation.session_key not in self._waiting:
                await asyncio.sleep(self._starts_in())
            self._waiting.discard(invocation.session_key)
            yield HandingOver()
        if self._is_unplugged:
            return
        self._log.begin(invoked)
        self._job_of[invocation.session_key] = invocation.job_id
        if self._log.on_work is not None:
            self._log.on_work(invocation)
        try:
            async with aclosing(self._player.invoke(self._apply_script(invocation))) as events:
                async for event in events:
                    self._note(invoked, event)
                    yield event
        finally:
            if not self._is_unplugged:
                self._log.end(invoked)
                if self._stays:
                    self._waiting.add(invocation.session_key)

    def _apply_script(self, invocation: Invocation) -> Invocation:
        if self._script is None:
            return invocation
        number = sum(1 for i in self._log.invoked if i.job_id == invocation.job_id)
        return msgspec.structs.replace(invocation, prompt=self._script(invocation, number))

    def _note(self, invoked: Invoked, event: EngineEvent) -> None:
        if self._is_unplugged:
            return
        match event:
            case PermissionRequested() | QuestionRequested() | PlanProposed():
                self._log.vacate(invoked.job_id)
            case TurnEnded():
                invoked.ended = "success"
                self._log.end(invoked)
            case TurnFailed():
                invoked.ended = "transient" if event.transient else "failed"
                self._log.end(invoked)
            case _:
                pass

    async def prepare(self, preparation: AgentPreparation) -> None:
        """Nothing: the agent starts with its first turn."""

    def adopt(self, ticket: str, session_key: str, generation: int) -> None:
        """Nothing was prepared."""

    async def instruct(self, session_key: str, instruction: AgentInstruction) -> None:
        if isinstance(instruction, Response) and not self._is_unplugged and session_key in self._job_of:
            self._log.occupy(self._job_of[session_key])
        await self._player.instruct(session_key, instruction)

    async def steer(self, session_key: str, steer: Steer) -> SteerResult:
        given = Steered(job_id=steer.job_id, into=self._job_of.get(session_key, ""), text=steer.text, life=self._life)
        if not self._is_unplugged:
            self._log.note_steered(given)
        result = await self._player.steer(session_key, steer)
        if not self._is_unplugged:
            given.outcome = result.outcome
        return result

    def watch_agent_turns(self) -> AsyncIterator[AgentInitiated]:
        return self._player.watch_agent_turns()

    def describe(self, session_key: str) -> AgentInfo:
        info = self._player.describe(session_key)
        if session_key not in self._waiting:
            return info
        return msgspec.structs.replace(info, state="Active", takes_prompt_at_once=True)

    async def end_session(self, session_key: str, how: Literal["stop", "kill"]) -> None:
        self._waiting.discard(session_key)
        await self._player.end_session(session_key, how)

    async def check(self) -> RuntimeHealth:
        return await self._player.check()

    async def aclose(self) -> None:
        await self._player.aclose()
