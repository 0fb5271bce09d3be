"""The commands `fork` and `session switch`: the reply says where the fork is. The agent copies in the first turn."""

from fairlead.core import requests as ask
from fairlead.core.decide.forks import ForkSession, SwitchSession
from fairlead.core.ids import JobId, SessionKeyText
from fairlead.core.job_names import find_job_id
from fairlead.core.replies import SessionForkMade, SessionSwitched
from fairlead.core.requests import Caller
from fairlead.core.state import Session
from fairlead.core.visibility import may_see
from fairlead.errors import Code, error
from fairlead.flow.commands.parts import CommandParts, HandlerTable
from fairlead.flow.queries.abilities import inabilities
from fairlead.flow.spawns.thread_openings import ThreadOpenings
from fairlead.ports import RuntimeCapabilities


def fork_handlers(parts: CommandParts) -> HandlerTable:
    commands = ForkCommands(parts)
    return {ask.Fork: commands.fork, ask.SessionSwitch: commands.switch}


class ForkCommands:
    def __init__(self, parts: CommandParts) -> None:
        self._parts = parts
        self._openings = ThreadOpenings(parts.ledger, parts.history, parts.channels)

    async def fork(self, request: ask.Fork, caller: Caller) -> SessionForkMade:
        """Returns when the thread is there, or the conversation goes on in the fork. Raises why there can be none."""
        parts, parent = self._parts, self._find_session(request, caller)
        can = await self._learn_abilities(parent)
        there = parts.channels.get(caller.conversation.channel)
        decision = await parts.ledger.record_durably(
            ForkSession(
                asked_by=request.asked_by,
                forked_from=parent.session_key,
                conversation=caller.conversation,
                session_key=caller.session_key,
                person=caller.person,
                after=find_job_id(parts.state.jobs, request.job_id) if request.job_id else JobId(""),
                has_threads=there is not None and there.capabilities.threads,
                has_points=can.fork_points,
                worktree=request.worktree,
                branches=await self._find_branches(request, parent),
            )
        )
        if decision.entry_id:
            return self._reply(await self._openings.wait_for(decision.entry_id), is_here=False)
        return self._reply(parts.managed_session(caller), is_here=True)

    def _find_session(self, request: ask.Fork, caller: Caller) -> Session:
        """That of the job, where one is named, else the one that is talked to here."""
        state = self._parts.state
        job = state.jobs.get(find_job_id(state.jobs, request.job_id)) if request.job_id else None
        if request.job_id and (job is None or not may_see(state, job.session_key, caller)):
            raise error(Code.E_JOB_NOT_FOUND, f"There is no job {request.job_id[:60]!r}.")
        return self._parts.managed_session(caller) if job is None else state.sessions[job.session_key]

    async def _learn_abilities(self, parent: Session) -> RuntimeCapabilities:
        """An agent that has not been started since Fairlead was must say first what it can do."""
        runtimes = self._parts.runtimes
        runtime = runtimes.get(parent.runtime)
        if runtime is not None and not runtime.capabilities.forks and runtime.capabilities.prepares:
            await runtime.check()
        if runtime is None or not runtime.capabilities.forks:
            enabled = self._parts.runtimes_of(parent)
            others = next((i.others for i in inabilities(parent.runtime, runtimes, enabled) if i.ability == "fork"), ())
            can = f" These can: {', '.join(others)}." if others else ""
            raise error(Code.E_FORK_UNAVAILABLE, f"{parent.runtime} cannot fork a session.{can}")
        return runtime.capabilities

    async def _find_branches(self, request: ask.Fork, parent: Session) -> frozenset[str]:
        project = self._parts.state.project_named(parent.project)
        if project is None or request.worktree is False:
            return frozenset()
        has_one = self._parts.state.worktree_of(parent.session_key, project.name) is not None
        wanted = request.worktree or project.worktrees or has_one
        return await self._parts.worktrees.git.taken_branches(project.path) if wanted else frozenset()

    def _reply(self, session: Session, *, is_here: bool) -> SessionForkMade:
        worktree = self._parts.state.worktree_of(session.session_key, session.project)
        return SessionForkMade(
            session_key=session.session_key,
            session_id=session.session_id,
            forked_from=session.forked_from,
            project=session.project,
            tool=session.runtime,
            branch="" if worktree is None else worktree.branch,
            is_here=is_here,
        )

    async def switch(self, request: ask.SessionSwitch, caller: Caller) -> SessionSwitched:
        session = self._parts.state.session_named(request.session_id or caller.session_key.text)
        if session is None or not may_see(self._parts.state, session.session_key, caller):
            raise error(Code.E_SESSION_NOT_FOUND, f"There is no session {request.session_id[:60]!r}.")
        key = SessionKeyText(session.session_key)
        await self._parts.ledger.record_durably(SwitchSession(conversation=caller.conversation, session_key=key))
        return SessionSwitched(session.session_key, session.session_id)
