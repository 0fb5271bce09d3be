"""Carries out the calls that agents make of Fairlead's own tools: send, ask, name. Knows neither sockets nor tokens.

1. The session, its generation and its project come from the agent's capability. No argument of a call names them, so
   no agent reaches another session's conversation.
2. A call is a fact before its words go out: the outbox delivers them, also after a crash, once.
3. No tool waits for a person. What a person says comes as a message of its own, and until then nothing is held: neither
   the agent's process nor a slot.
"""

import asyncio
import hashlib
from collections import deque
from collections.abc import Callable
from typing import Any, Final, Protocol, TypeAlias

import msgspec

from fairlead.core.agent_tools import (
    ARGUMENTS,
    NEEDED_TOOL,
    TOOL_NAMES,
    AskUser,
    ScheduleTask,
    SendFile,
    SendMessage,
    SetTitle,
    SpawnTask,
    ToolArguments,
    ToolHolder,
)
from fairlead.core.decide import Command, Decision
from fairlead.core.decide.agent_calls import (
    AgentCall,
    AskForAgent,
    NoteAgentCall,
    SendForAgent,
    TitleForAgent,
    find_caller,
)
from fairlead.core.engine import AskedItem, Option
from fairlead.core.events import FileRef
from fairlead.core.ids import JobId, SessionKeyText
from fairlead.core.inbound import clean_text
from fairlead.core.state import Project, Session
from fairlead.errors import FairleadError
from fairlead.flow.ledger import Ledger
from fairlead.flow.spawns.spawning import AgentAsks, Spawning
from fairlead.flow.turns.approvals import Tiers
from fairlead.kit.file_names import clean_name, media_type_of_name
from fairlead.observe import log
from fairlead.ports import Blobs, ProjectFiles, ToolReply
from fairlead.render.errors import error_text

MAX_CALL_ID: Final = 64
_MINUTE: Final = 60.0

ASKED: Final = (
    "The question was asked. END YOUR TURN NOW: do not wait, do not ask again, and do not guess the answer. The answer "
    "comes as your next message."
)
SPAWNED: Final = (
    "The session was started. Do not wait for it: go on with your own work, or end your turn. Its result comes as a "
    "message of its own."
)
SPAWNED_APART: Final = "The session was started in a thread of its own. Its result stays there: do not wait for it."
_DONE: Final[dict[type[ToolArguments], str]] = {
    SendMessage: "Sent.",
    SendFile: "Sent.",
    AskUser: ASKED,
    SetTitle: "Noted.",
    SpawnTask: SPAWNED,
    ScheduleTask: "The schedule was made.",
}


_Recorded: TypeAlias = SendMessage | SendFile | AskUser | SetTitle
"""What one decision carries out."""


class ScheduleMaker(Protocol):
    """What makes schedules for agents. Where there is none, no agent has the tool."""

    async def add_for_agent(
        self, session_key: SessionKeyText, *, when: str, text: str, zone: str = "", call: AgentCall | None = None
    ) -> object:
        """Once for each call. Raises the FairleadError that refuses it."""
        ...


class AgentToolSettings(msgspec.Struct, frozen=True, kw_only=True):
    """`names` are the tools that agents may have at all; with none, agents are offered nothing."""

    names: tuple[str, ...] = TOOL_NAMES
    calls_per_minute: int = 30
    max_file_bytes: int = 10 * 1024 * 1024


class AgentCalls:
    """`ports.ToolHandler`."""

    def __init__(
        self,
        ledger: Ledger,
        *,
        blobs: Blobs,
        files: ProjectFiles,
        tiers: Tiers,
        settings: AgentToolSettings,
        spawning: Spawning,
        schedules: ScheduleMaker | None = None,
    ) -> None:
        self._schedules = schedules
        self._ledger = ledger
        self._spawning = spawning
        self._blobs = blobs
        self._files = files
        self._tiers = tiers
        self._settings = settings
        self._rate = CallRate(settings.calls_per_minute, lambda: asyncio.get_running_loop().time())

    def tools_of(self, holder: ToolHolder) -> tuple[str, ...]:
        return tuple(name for name in self._settings.names if not self._why_withheld(holder, name))

    async def call(self, holder: ToolHolder, *, call_id: str, tool: str, arguments: dict[str, Any]) -> ToolReply:
        withheld = self._why_withheld(holder, tool)
        if withheld:
            return ToolReply(withheld, ok=False)
        try:
            given = msgspec.convert(arguments, ARGUMENTS[tool], strict=False)
        except msgspec.ValidationError as fault:
            return ToolReply(f"The arguments of {tool} are wrong: {fault}", ok=False)
        wait = self._rate.seconds_until_free(holder.session_key, call_id)
        if wait:
            log.warning("an agent calls too often", session_key=holder.session_key, tool=tool)
            most = self._settings.calls_per_minute
            return ToolReply(
                f"Too many calls: {most} a minute are allowed. Go on with your work, and try again in {wait:.0f} s.",
                ok=False,
            )
        try:
            return await self._carry_out(holder, call_id, tool, given)
        except FairleadError as refusal:
            said = error_text(refusal)
            return ToolReply(f"{refusal.code}: {said.what}", ok=False)

    async def _carry_out(self, holder: ToolHolder, call_id: str, tool: str, given: ToolArguments) -> ToolReply:
        self._ledger.check_disk_space()
        call = AgentCall(
            call_id=call_id[:MAX_CALL_ID], session_key=holder.session_key, generation=holder.generation, tool=tool
        )
        if isinstance(given, SpawnTask):
            return await self._spawn(call, given)
        if isinstance(given, ScheduleTask):
            return await self._schedule(call, given)
        await self._ledger.record_durably(await self._command(holder, call, given))
        return ToolReply(_DONE[type(given)])

    async def _spawn(self, call: AgentCall, given: SpawnTask) -> ToolReply:
        """In the caller's own project: in another one the child might have a wider tier. The request's id comes from
        the call, so a call that is repeated, also after a crash between the two facts, starts one session."""
        caller = find_caller(self._ledger.state, call)
        if isinstance(caller, Decision):
            if caller.refusal is not None:
                raise caller.refusal
            return ToolReply(SPAWNED)
        asked_by = hashlib.blake2b(f"{call.session_key} {call.call_id}".encode(), digest_size=12).hexdigest()
        spawned = await self._spawning.spawn_session(
            AgentAsks(call.session_key, caller.job_id),
            task=clean_text(given.task),
            asked_by=f"call-{asked_by}",
            project=caller.project,
            agent=given.agent,
        )
        await self._ledger.record_durably(NoteAgentCall(call=call, about=given.task))
        return ToolReply(SPAWNED if spawned.returns == "session" else SPAWNED_APART)

    async def _schedule(self, call: AgentCall, given: ScheduleTask) -> ToolReply:
        """The call and the schedule are one fact: a call that is repeated makes no second schedule, and one that failed
        fails again."""
        assert self._schedules is not None, "without it the tool is withheld"
        await self._schedules.add_for_agent(
            call.session_key, when=given.when, text=clean_text(given.text), zone=given.zone, call=call
        )
        return ToolReply(_DONE[ScheduleTask])

    async def _command(self, holder: ToolHolder, call: AgentCall, given: _Recorded) -> Command:
        match given:
            case SendMessage():
                return SendForAgent(call=call, text=clean_text(given.text))
            case SendFile():
                file = await self._store_file(holder, given.path)
                return SendForAgent(call=call, text=clean_text(given.caption), files=(file,))
            case AskUser():
                options = tuple(Option(clean_text(choice)) for choice in dict.fromkeys(given.choices))
                item = AskedItem(clean_text(given.question), options, several=given.several and len(options) > 1)
                return AskForAgent(call=call, item=item)
            case SetTitle():
                return TitleForAgent(call=call, title=" ".join(clean_text(given.title).split()))

    async def _store_file(self, holder: ToolHolder, path: str) -> FileRef:
        file = await self._files.read(holder.project_path, path, self._settings.max_file_bytes)
        name = clean_name(file.name)
        return FileRef(name, await self._blobs.put(file.data), media_type_of_name(name))

    def _why_withheld(self, holder: ToolHolder, tool: str) -> str:
        """Empty where the agent has the tool. The project's tier is read now: it may have changed since the start."""
        is_there = tool in ARGUMENTS and (tool != "schedule" or self._schedules is not None)
        if tool not in self._settings.names or not is_there:
            return f"There is no tool {tool[:60]!r}."
        needed = NEEDED_TOOL.get(tool)
        project = self._project_of(holder)
        if needed is None:
            return ""
        if project is None or self._tiers.forbid(project.workspace_name, needed):
            return f"The permissions of this project do not allow {tool}."
        return ""

    def _project_of(self, holder: ToolHolder) -> Project | None:
        """That of the job that runs; before the first job, the one whose directory the agent was started in."""
        state = self._ledger.state
        session = state.sessions.get(holder.session_key)
        job = state.jobs.get(_latest_job(session)) if session is not None else None
        if job is not None:
            return state.projects.get(job.project)
        here = {w.project for w in state.worktrees.values() if w.directory == holder.project_path}
        found = (p for p in state.projects.values() if p.path == holder.project_path or p.name in here)
        return next((p for p in found if not p.removed), None)


def _latest_job(session: Session) -> JobId:
    return session.running_job_id or session.agent_job_id or session.last_job_id or JobId("")


class CallRate:
    """At most so many calls of a session within any minute. A call that is repeated with its id counts once."""

    def __init__(self, most: int, now: Callable[[], float]) -> None:
        self._most = most
        self._now = now
        self._calls: dict[str, deque[tuple[float, str]]] = {}

    def seconds_until_free(self, session_key: str, call_id: str) -> float:
        """0 if the call may be made, which then counts."""
        now = self._now()
        for key in [key for key, made in self._calls.items() if made[-1][0] <= now - _MINUTE]:
            del self._calls[key]
        made = self._calls.setdefault(session_key, deque())
        while made and made[0][0] <= now - _MINUTE:
            made.popleft()
        if any(known == call_id for _, known in made):
            return 0.0
        if len(made) >= self._most:
            return max(made[0][0] + _MINUTE - now, 1.0)
        made.append((now, call_id))
        return 0.0
