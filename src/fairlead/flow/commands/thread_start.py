"""The command `start`: the reply says that the thread is there, cannot be, or takes longer. The outbox makes it."""

from fairlead.core.decide.projects import project_to_work_in
from fairlead.core.decide.thread_start import StartThread
from fairlead.core.ids import SessionKeyText
from fairlead.core.replies import SessionStarted
from fairlead.core.requests import Caller, Start
from fairlead.errors import FairleadError
from fairlead.flow.commands.agent_start import AgentStart, session_started
from fairlead.flow.commands.parts import CommandParts, HandlerTable
from fairlead.flow.spawns.thread_openings import ThreadOpenings


def thread_start_handlers(parts: CommandParts) -> HandlerTable:
    return {Start: ThreadStart(parts).start}


class ThreadStart:
    def __init__(self, parts: CommandParts) -> None:
        self._ledger = parts.ledger
        self._openings = ThreadOpenings(parts.ledger, parts.history, parts.channels)
        self._agent_start = AgentStart(parts)
        self._parts = parts

    async def start(self, request: Start, caller: Caller) -> SessionStarted:
        """Returns when the thread is there. Raises the error that forbids it, or one that says it takes longer."""
        if not request.agent_first:
            return await self._start_thread(request, caller, request.tool or None)
        if caller.session_key.kind == "user":
            return await self._agent_start.start_here(request, caller)
        chosen = self._agent_start.choose(request, caller)
        if chosen.project.worktrees if request.worktree is None else request.worktree:
            # Its directory is not there before the session is, so its agent starts with the first message.
            return await self._start_thread(request, caller, chosen.name)
        async with self._agent_start.prepare(chosen, request.asked_by) as prepared:
            started = await self._start_thread(request, caller, chosen.name)
            if prepared is not None:
                prepared.serve(self._ledger.state.sessions[SessionKeyText(started.session_key)])
        return started

    async def _start_thread(self, request: Start, caller: Caller, runtime: str | None) -> SessionStarted:
        branches = await self._find_branches(request, caller)
        decision = self._ledger.apply_now(
            StartThread(
                asked_by=request.asked_by,
                conversation=caller.conversation,
                session_key=caller.session_key,
                person=caller.person,
                project=request.project or None,
                runtime=runtime,
                worktree=request.worktree,
                branches=branches,
            )
        )
        if decision.refusal is not None:
            raise decision.refusal
        session = await self._openings.wait_for(decision.entry_id)
        return session_started(self._ledger.state, session)

    async def _find_branches(self, request: Start, caller: Caller) -> frozenset[str]:
        """Those of the project's repository, where the session shall have a worktree. Raises why it cannot."""
        found = project_to_work_in(
            self._ledger.state, session=None, person=caller.person, asked_for=request.project or None
        )
        if isinstance(found, FairleadError):
            return frozenset()  # the decision says so
        wanted = found.worktrees if request.worktree is None else request.worktree
        return await self._parts.worktrees.git.taken_branches(found.path) if wanted else frozenset()
