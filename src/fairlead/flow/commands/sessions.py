"""Commands about sessions: the one of this conversation, the list, and the way back to one."""

import asyncio
from contextlib import suppress
from typing import Final

import msgspec

from fairlead.core import requests as ask
from fairlead.core.decide.sessions import ChangeRuntime, ResetSession
from fairlead.core.decide.worktrees import BeginDiscard
from fairlead.core.ids import SessionKeyText
from fairlead.core.pages import build_cursor_error, cut_page
from fairlead.core.replies import SessionCatalogue, SessionFound, SessionWasReset, StatusReport, ToolSet
from fairlead.core.requests import Caller
from fairlead.core.state import Session
from fairlead.core.visibility import may_see
from fairlead.errors import Code, FairleadError, error
from fairlead.flow.awaited_machines import find_away_since
from fairlead.flow.commands.parts import CommandParts, HandlerTable
from fairlead.flow.queries import reports
from fairlead.flow.turns.cancellation import cancel_jobs

_LET_GO_SEC: Final = 5.0


def session_handlers(parts: CommandParts) -> HandlerTable:
    commands = SessionCommands(parts)
    return {
        ask.Status: commands.status,
        ask.Tool: commands.tool,
        ask.SessionList: commands.list,
        ask.SessionOpen: commands.open,
        ask.Reset: commands.reset,
    }


def _cut_page(sessions: list[Session], request: ask.SessionList) -> tuple[tuple[Session, ...], str]:
    """Most recently active first. The cursor is a place in that order and no session: one that has become active since
    stands before it, and takes nothing out of the pages to come."""
    if request.after and "~" not in request.after:
        raise build_cursor_error(request.after)
    ahead = [s for s in sessions if not request.after or _place_of(s) < request.after]
    return cut_page(sorted(ahead, key=_place_of, reverse=True), request.limit, _place_of)


def _place_of(session: Session) -> str:
    return f"{session.last_activity_at}~{session.session_id}"


class SessionCommands:
    def __init__(self, parts: CommandParts) -> None:
        self._parts = parts

    async def status(self, _request: ask.Status, caller: Caller) -> StatusReport:
        session = self._parts.managed_session(caller)
        runtime = self._parts.runtimes.get(session.runtime)
        return reports.status_report(
            self._parts.state,
            session,
            can_ask=runtime is not None and runtime.capabilities.permissions,
            most_running=self._parts.ledger.limits.global_max_running,
            away_since=lambda machine: find_away_since(machine, self._parts.machines),
        )

    async def tool(self, request: ask.Tool, caller: Caller) -> ToolSet:
        await self._parts.agent_runtimes.look_again()
        session = self._parts.managed_session(caller)
        if not request.tool:
            return ToolSet(session.runtime, choices=self._parts.runtimes_of(session))
        await self._parts.ledger.record_durably(ChangeRuntime(session.session_key, request.tool))
        return ToolSet(session.runtime, from_next_job=session.running_job_id is not None)

    async def list(self, request: ask.SessionList, caller: Caller) -> SessionCatalogue:
        state = self._parts.state
        project = self._parts.project(request.project) if request.project else None
        seen = [s for s in state.sessions.values() if may_see(state, s.session_key, caller)]
        chosen = [s for s in seen if project is None or s.project == project.name]
        page, following = _cut_page(chosen, request)
        return SessionCatalogue(reports.arrange_as_tree([reports.session_row(state, s) for s in page]), following)

    async def open(self, request: ask.SessionOpen, caller: Caller) -> SessionFound:
        state = self._parts.state
        session = state.session_named(request.session_id)
        if session is None or not may_see(state, session.session_key, caller):
            raise error(Code.E_SESSION_NOT_FOUND, f"There is no session {request.session_id[:100]!r}.")
        return SessionFound(reports.session_row(state, session))

    async def reset(self, _request: ask.Reset, caller: Caller) -> SessionWasReset:
        parts = self._parts
        session = parts.managed_session(caller)
        live = [*session.queue, *filter(None, (session.running_job_id, session.agent_job_id))]
        with parts.scheduler.rest(session.session_key):
            await parts.ledger.record_durably(ResetSession(session.session_key, caller.person))
            await cancel_jobs(parts.ledger, parts.scheduler, live, caller.person, "reset")
            runtime = parts.runtimes.get(session.runtime)
            if runtime is not None:
                await runtime.end_session(session.session_key, "stop")
        return await self._with_worktree(
            SessionWasReset(session_key=session.session_key, cancelled=tuple(live)), caller
        )

    async def _with_worktree(self, reset: SessionWasReset, caller: Caller) -> SessionWasReset:
        """A worktree with nothing in it is replaced by a new one from the project's HEAD. One with work in it stays,
        and the reply says what stands there."""
        parts, state = self._parts, self._parts.state
        session = state.sessions[SessionKeyText(reset.session_key)]
        worktree = state.worktree_of(session.session_key, session.project)
        if worktree is None or worktree.session_key != session.session_key or worktree.status != "ready":
            return reset
        reset = msgspec.structs.replace(reset, worktree=reports.worktree_row(state, worktree))
        try:
            work = await parts.worktrees.git.look(worktree)
        except FairleadError:
            return reset
        await self._until_idle(session)
        renewal = BeginDiscard(number=worktree.number, person=caller.person, renew=True)
        renewed = work.is_nothing and parts.ledger.apply_now(renewal).refusal is None
        return msgspec.structs.replace(reset, work=work, renewed=renewed)

    async def _until_idle(self, session: Session) -> None:
        """The turn that the reset ends has let go of the worktree, or takes longer than a person wants to wait."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_LET_GO_SEC):
                while session.running_job_id or session.agent_job_id:
                    await self._parts.ledger.until_changed(self._parts.state.seq)
