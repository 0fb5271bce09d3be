"""The command `agent start`: an agent is started before anything is made for it, so that a failure leaves nothing."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Final

import msgspec

from fairlead.core.decide.agent_sessions import handed_off_problem
from fairlead.core.decide.projects import SwitchProject
from fairlead.core.decide.sessions import project_and_runtime
from fairlead.core.decide.worktrees import WantWorktree
from fairlead.core.ids import ResumeKey
from fairlead.core.replies import SessionStarted
from fairlead.core.requests import Caller, Start
from fairlead.core.state import Project, Session, State, resume_slot
from fairlead.errors import Code, FairleadError, error
from fairlead.flow.commands.parts import CommandParts
from fairlead.kit.tasks import run_to_end
from fairlead.ports import AgentPreparation, Runtime

_TICKET: Final = "start-"
"""Before the command's own id: what stands for the session's key until the session is there."""


class ChosenAgent(msgspec.Struct, frozen=True):
    """`runtime` is None where no agent can be started without a prompt."""

    project: Project
    name: str
    runtime: Runtime | None


class PreparedAgent:
    """An agent that runs and belongs to nobody yet."""

    def __init__(self, runtime: Runtime, ticket: str) -> None:
        self._runtime = runtime
        self._ticket = ticket
        self.is_adopted = False

    def serve(self, session: Session) -> None:
        self._runtime.adopt(self._ticket, session.session_key, session.generation)
        self.is_adopted = True

    async def end(self) -> None:
        await self._runtime.end_session(self._ticket, "stop")


class AgentStart:
    def __init__(self, parts: CommandParts) -> None:
        self._ledger = parts.ledger
        self._runtimes = parts.runtimes
        self._scheduler = parts.scheduler
        self._default = parts.default_agent
        self._worktrees = parts.worktrees

    def choose(self, request: Start, caller: Caller) -> ChosenAgent:
        """The agent that was asked for; else one that can be started without a prompt: the one that a setting names,
        the project's own, Fairlead's default, any other. Raises the error that forbids it."""
        state = self._ledger.state
        chosen = project_and_runtime(state, caller.person, request.project or None, request.tool or None)
        if isinstance(chosen, FairleadError):
            raise chosen
        project, own = chosen
        default = self._default
        wished = (default.name, own) if default.goes_first else (own, default.name)
        there = [name for name in (*wished, *project.enabled_runtimes) if name in project.enabled_runtimes]
        prepared = [own] if request.tool else [name for name in there if self._can_prepare(name)]
        name = prepared[0] if prepared else own
        return ChosenAgent(project, name, self._runtimes[name] if self._can_prepare(name) else None)

    def _can_prepare(self, name: str) -> bool:
        runtime = self._runtimes.get(name)
        return runtime is not None and runtime.capabilities.prepares

    @asynccontextmanager
    async def prepare(
        self, chosen: ChosenAgent, asked_by: str, resume_key: ResumeKey | None = None
    ) -> AsyncGenerator[PreparedAgent | None]:
        """Meanwhile the agent runs; leaving ends it, unless it serves a session by then. None where there is nothing
        to start. Raises the error that its first turn would have failed with."""
        if chosen.runtime is None:
            yield None
            return
        ticket = f"{_TICKET}{asked_by}"
        preparation = AgentPreparation(
            ticket=ticket,
            project_path=chosen.project.path,
            mark=f"{self._ledger.state.state_id}:{ticket}",
            args=chosen.project.default_args.get(chosen.name, ()),
            resume_key=resume_key,
        )
        await chosen.runtime.prepare(preparation)
        prepared = PreparedAgent(chosen.runtime, ticket)
        try:
            yield prepared
        finally:
            if not prepared.is_adopted:
                await run_to_end(prepared.end())

    async def start_here(self, request: Start, caller: Caller) -> SessionStarted:
        """In a conversation that has its one session for good, as a person's own has: the session goes on with this
        project and this agent. A message that comes meanwhile waits: a turn that began before the agent is there would
        lose its own when this one takes over."""
        chosen = self.choose(request, caller)
        with self._scheduler.rest(caller.session_key.text):
            return await self._start_here(chosen, request, caller)

    async def _start_here(self, chosen: ChosenAgent, request: Start, caller: Caller) -> SessionStarted:
        session = self._ledger.state.sessions.get(caller.session_key.text)
        handed_off = handed_off_problem(session)
        if handed_off is not None:
            raise handed_off
        if session is not None and session.running_job_id is not None:
            raise error(
                Code.E_SESSION_STATE, f"{session.running_job_id} is still running.", next_step="Wait, or /cancel it."
            )
        if self._has_worktree(request, chosen, caller):
            return await self._start_in_worktree(chosen, request, caller)
        if session is None or not self._is_served(session, chosen):
            async with self.prepare(chosen, request.asked_by, _resume_key(session, chosen)) as prepared:
                session = await self._take_over(chosen, caller, prepared)
        return session_started(self._ledger.state, session)

    def _has_worktree(self, request: Start, chosen: ChosenAgent, caller: Caller) -> bool:
        """Whether the session works in a worktree, or shall: its agent is then started with the first message."""
        there = self._ledger.state.worktree_of(caller.session_key.text, chosen.project.name)
        wanted = chosen.project.worktrees if request.worktree is None else request.worktree
        return there is not None or wanted

    async def _start_in_worktree(self, chosen: ChosenAgent, request: Start, caller: Caller) -> SessionStarted:
        taken = await self._worktrees.git.taken_branches(chosen.project.path) if request.worktree else frozenset[str]()
        session = await self._take_over(chosen, caller, None)
        if request.worktree:
            await self._worktrees.make(
                WantWorktree(
                    session_key=caller.session_key,
                    conversation=caller.conversation,
                    person=caller.person,
                    project=chosen.project.name,
                    branches=taken,
                )
            )
        return session_started(self._ledger.state, session)

    def _is_served(self, session: Session, chosen: ChosenAgent) -> bool:
        is_same = (session.project, session.runtime) == (chosen.project.name, chosen.name)
        return is_same and chosen.runtime is not None and chosen.runtime.describe(session.session_key).state != "Closed"

    async def _take_over(self, chosen: ChosenAgent, caller: Caller, prepared: PreparedAgent | None) -> Session:
        await self._ledger.record_durably(
            SwitchProject(
                project=chosen.project.name,
                session_key=caller.session_key,
                conversation=caller.conversation,
                person=caller.person,
                runtime=chosen.name,
            )
        )
        session = self._ledger.state.sessions[caller.session_key.text]
        if prepared is not None and chosen.runtime is not None:
            await chosen.runtime.end_session(session.session_key, "stop")  # one that worked in another project
            prepared.serve(session)
        return session


def session_started(state: State, session: Session) -> SessionStarted:
    worktree = state.worktree_of(session.session_key, session.project)
    return SessionStarted(
        session_key=session.session_key,
        session_id=session.session_id,
        project=session.project,
        tool=session.runtime,
        branch="" if worktree is None else worktree.branch,
    )


def _resume_key(session: Session | None, chosen: ChosenAgent) -> ResumeKey | None:
    slot = resume_slot(chosen.name, chosen.project.path)
    return None if session is None else session.proven_key(slot)
