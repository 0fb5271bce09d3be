"""Commands about the agents' own sessions: go on here with one that was begun in a shell, leave this one to a
shell, and go on with it here again."""

import shlex
from typing import Final

from fairlead.core import requests as ask
from fairlead.core.agent_sessions import HandOff, ResumeCommand, StoredSession
from fairlead.core.decide.agent_sessions import AdoptSession, HandOffSession, TakeBackSession, find_work
from fairlead.core.decide.sessions import StartSession
from fairlead.core.ids import ResumeKey
from fairlead.core.replies import SessionAdoption, SessionHandOff, StoredSessionCatalogue
from fairlead.core.requests import Caller
from fairlead.core.state import Session, resume_slot
from fairlead.errors import Code, FairleadError, error
from fairlead.flow.commands.parts import CommandParts, HandlerTable
from fairlead.flow.queries.stored_sessions import Place
from fairlead.ports import NO_RECORDS, Runtime

_SHORTEST_KEY: Final = 6
_SHOWN_COMMAND: Final = 80


def agent_session_handlers(parts: CommandParts) -> HandlerTable:
    adoption, hand_off = AdoptionCommands(parts), HandOffCommands(parts)
    return {
        ask.StoredSessionList: adoption.list,
        ask.SessionAdopt: adoption.adopt,
        ask.HandSession: hand_off.run,
    }


class AdoptionCommands:
    def __init__(self, parts: CommandParts) -> None:
        self._parts = parts
        self._stored = parts.stored_sessions

    async def list(self, request: ask.StoredSessionList, caller: Caller) -> StoredSessionCatalogue:
        catalogue = await self._stored.list_all(self._stored.place_of(caller), request.tool)
        self._stored.remember(catalogue)
        return catalogue

    async def adopt(self, request: ask.SessionAdopt, caller: Caller) -> SessionAdoption:
        if not request.key.strip():
            return SessionAdoption(offered=await self.list(ask.StoredSessionList(request.tool), caller))
        place = self._stored.place_of(caller)
        name, stored = await self._find(place, request)
        session = place.session or await self._start_session(place, caller)
        with self._parts.scheduler.rest(session.session_key):
            before = session.resume_keys.get(resume_slot(name, place.directory), ResumeKey(""))
            await self._parts.ledger.record_durably(
                AdoptSession(
                    session_key=session.session_key,
                    runtime=name,
                    project_path=place.directory,
                    key=stored.key,
                    person=caller.person,
                )
            )
            await end_agents(self._parts, session)
        row = self._stored.describe(stored, name, self._stored.place_of(caller))
        return SessionAdoption(
            adopted=row, latest=stored.latest, before="" if before == stored.key else before, before_tool=name
        )

    async def _find(self, place: Place, request: ask.SessionAdopt) -> tuple[str, StoredSession]:
        """The agent's session by its key, or by the beginning of it. Raises E_SESSION_NOT_FOUND, E_SESSION_IN_USE."""
        names = self._stored.agents_of(place, request.tool)
        key = await self._complete(place, request)
        for name in names:
            runtime = self._parts.runtimes[name]
            # An agent that is asked to repeat a session opens it, so nobody else may have it open then.
            await check_writers(runtime, place.directory, ResumeKey(key))
            stored = await runtime.records.read_session(place.directory, ResumeKey(key))
            if stored is not None:
                return name, stored
        looked = ", ".join(names) or "no agent"
        raise error(
            Code.E_SESSION_NOT_FOUND,
            f"There is no session {key[:60]!r} of {looked} in {place.directory}.",
            next_step="/session adopt lists those that there are.",
        )

    async def _complete(self, place: Place, request: ask.SessionAdopt) -> str:
        key = request.key.strip()
        if len(key) < _SHORTEST_KEY:
            return key
        listed = await self._stored.list_all(place, request.tool)
        fitting = [row.key for row in listed.sessions if row.key.startswith(key)]
        return fitting[0] if len(fitting) == 1 else key

    async def _start_session(self, place: Place, caller: Caller) -> Session:
        """Nobody has said anything here yet: the session begins with what it adopts."""
        await self._parts.ledger.record_durably(
            StartSession(
                session_key=caller.session_key,
                conversation=caller.conversation,
                person=caller.person,
                project=place.project.name,
            )
        )
        return self._parts.state.sessions[caller.session_key.text]


class HandOffCommands:
    def __init__(self, parts: CommandParts) -> None:
        self._parts = parts

    async def run(self, request: ask.HandSession, caller: Caller) -> SessionHandOff:
        session = self._parts.managed_session(caller)
        if request.action == "back":
            return await self._take_back(session, caller)
        if session.hand_off is not None:
            return await self._describe(session, session.hand_off)
        return await self._hand_off(session, caller)

    async def _hand_off(self, session: Session, caller: Caller) -> SessionHandOff:
        """Meanwhile no turn starts; from the fact on none does until the session is taken back. Its agent is ended
        before the fact, so that the agent's record has all that was said here. A crash in between changes nothing."""
        parts = self._parts
        place = parts.stored_sessions.place_of(caller)
        key = session.resume_keys.get(resume_slot(session.runtime, place.directory))
        running = session.running_job_id or session.agent_job_id
        if running is not None:
            raise find_work(session) or error(Code.E_SESSION_STATE)
        if key is None:
            raise error(
                Code.E_SESSION_STATE,
                f"{session.runtime} has not answered in this session yet.",
                next_step=f"Start {session.runtime} in a shell, and take its session up with /session adopt.",
            )
        await self._command(session.runtime, place.directory, key)  # before anything is changed: it may be unknown
        with parts.scheduler.rest(session.session_key):
            await end_agents(parts, session)
            stored = await self._runtime(session.runtime).records.read_session(place.directory, key)
            await parts.ledger.record_durably(
                HandOffSession(
                    session_key=session.session_key,
                    runtime=session.runtime,
                    project_path=place.directory,
                    key=key,
                    person=caller.person,
                    position=stored.position if stored is not None else "",
                )
            )
            assert session.hand_off is not None
            return await self._describe(session, session.hand_off)

    async def _describe(self, session: Session, hand_off: HandOff) -> SessionHandOff:
        command = await self._command(hand_off.runtime, hand_off.project_path, hand_off.key)
        return SessionHandOff(
            session_id=session.session_id,
            tool=hand_off.runtime,
            resume_key=hand_off.key,
            handed_off=True,
            command=shell_line(command),
            directory=command.directory,
            argv=command.argv,
            variables=command.variables,
            pending=len(session.queue),
        )

    async def _take_back(self, session: Session, caller: Caller) -> SessionHandOff:
        hand_off = session.hand_off
        if hand_off is None:
            raise error(Code.E_SESSION_STATE, "This session is not handed off.")
        runtime = self._runtime(hand_off.runtime)
        await check_writers(runtime, hand_off.project_path, hand_off.key)
        added = await self._read_since(runtime, hand_off)
        pending = len(session.queue)
        await self._parts.ledger.record_durably(
            TakeBackSession(
                session_key=session.session_key,
                person=caller.person,
                exchanges=added.exchanges if added is not None else 0,
                unread=added is None,
            )
        )
        return SessionHandOff(
            session_id=session.session_id,
            tool=hand_off.runtime,
            resume_key=hand_off.key,
            handed_off=False,
            pending=pending,
            exchanges=added.exchanges if added is not None else 0,
            has_more=added is not None and added.has_more,
            latest=added.latest if added is not None else (),
            unread=added is None,
        )

    async def _read_since(self, runtime: Runtime, hand_off: HandOff) -> StoredSession | None:
        """None where nobody can tell: the record is gone, or was not readable when the session was handed off."""
        if not hand_off.position:
            return None
        try:
            return await runtime.records.read_session(hand_off.project_path, hand_off.key, hand_off.position)
        except FairleadError:
            return None

    async def _command(self, tool: str, directory: str, key: ResumeKey) -> ResumeCommand:
        command = await self._runtime(tool).records.resume_command(directory, key)
        if command is None:
            raise error(
                Code.E_SESSION_STATE,
                f"Fairlead does not know how {tool} resumes a session in a shell.",
                next_step=f"Use {tool}'s own way with the session id {key}; end its agent here with /agent stop first.",
            )
        return command

    def _runtime(self, name: str) -> Runtime:
        runtime = self._parts.runtimes.get(name)
        if runtime is None or runtime.records is NO_RECORDS:
            raise error(
                Code.E_SESSION_STATE,
                f"{name} keeps no sessions that a shell could go on with.",
                next_step="/tool chooses another agent.",
            )
        return runtime


async def end_agents(parts: CommandParts, session: Session) -> None:
    """Whichever agents the session has had: each may have a session of its own open, and know an older state of it."""
    for runtime in tuple(parts.runtimes.values()):
        if runtime.describe(session.session_key).state != "Closed":
            await runtime.end_session(session.session_key, "stop")


async def check_writers(runtime: Runtime, directory: str, key: ResumeKey) -> None:
    """Raises E_SESSION_IN_USE while a process outside of Fairlead has the agent's session open, or may have."""
    writers = await runtime.records.find_writers(directory, key)
    if not writers:
        return
    first = next((writer for writer in writers if writer.certain), writers[0])
    command = first.command[:_SHOWN_COMMAND]
    stays = f"Leave it there first. If the process stays, `{first.ended_by}` ends it." if first.ended_by else ""
    if not first.pid:
        raise error(Code.E_SESSION_IN_USE, f"A process that Fairlead cannot see ({command}) has it open.")
    if first.certain:
        raise error(Code.E_SESSION_IN_USE, f"Process {first.pid} ({command}) has it open.", next_step=stays)
    raise error(
        Code.E_SESSION_IN_USE,
        f"Process {first.pid} ({command}) works in the same directory and does not show which session it has open.",
        next_step="Leave it there first, or wait until it has ended.",
    )


def shell_line(command: ResumeCommand) -> str:
    """As a person pastes it into a shell. `env` brings the variables also where sudo, which passes none on, comes
    before the program."""
    variables = [f"{name}={value}" for name, value in command.variables.items()]
    behind = command.argv.index("--") + 1 if command.argv[0] == "sudo" else 0
    named = ["env", *variables] if variables else []
    words = [*command.argv[:behind], *named, *command.argv[behind:]]
    return f"cd {shlex.quote(command.directory)} && {shlex.join(words)}"
