"""Commands about the files of turns: what changed, back to how it was, and forward again."""

import asyncio
from contextlib import suppress
from typing import Final

from fairlead.core import requests as ask
from fairlead.core.decide.undos import job_to_go_back_before, turns_to_take_back, turns_to_undo, undo_to_redo
from fairlead.core.ids import JobId
from fairlead.core.job_names import find_job_id, job_number
from fairlead.core.read_models import undo_reply
from fairlead.core.replies import ChangesShown, TurnsUndone
from fairlead.core.requests import Caller
from fairlead.core.state import Job, Session, UndoRecord
from fairlead.core.tree_ranges import TreeRange, range_of_session, range_of_turn
from fairlead.core.trees import TreeChanges, TreeSnapshot
from fairlead.core.visibility import may_see
from fairlead.errors import Code, error
from fairlead.flow.commands.parts import CommandParts, HandlerTable

LOOK_WITHIN_SEC: Final = 60.0


def change_handlers(parts: CommandParts) -> HandlerTable:
    commands = ChangeCommands(parts)
    return {ask.Changes: commands.show, ask.Undo: commands.undo, ask.Redo: commands.redo}


class ChangeCommands:
    def __init__(self, parts: CommandParts) -> None:
        self._parts = parts

    async def show(self, request: ask.Changes, caller: Caller) -> ChangesShown:
        await self._until_taken(self._session_of("" if request.job_id == ask.SESSION else request.job_id, caller))
        found = self._find_range(request, caller)
        after = found.after or await self._look_now(found)
        changes = TreeChanges()
        if found.before.tree != after.tree:
            changes = await self._parts.trees.show_changes(found.project_path, found.before.commit, after.commit)
        return ChangesShown(
            job_ids=found.job_ids,
            project=found.project,
            since=found.since,
            is_session=request.asks_for_session,
            is_running=found.after is None,
            files=changes.files,
            added=sum(file.added for file in changes.files),
            removed=sum(file.removed for file in changes.files),
            diff=changes.diff,
            is_cut=changes.is_cut,
            shared_with=found.shared_with,
            is_late=found.is_late,
            uncovered=tuple(dict.fromkeys((*after.uncovered, *found.before.uncovered))),
            uncovered_more=max(after.uncovered_more, found.before.uncovered_more),
        )

    async def undo(self, request: ask.Undo, caller: Caller) -> TurnsUndone:
        state = self._parts.state
        session = self._session_of(request.job_id, caller)
        await self._until_taken(session)
        finished = await self._finish(session)
        if finished is not None:
            return finished
        first = find_job_id(state.jobs, request.job_id) if request.job_id else JobId("")
        find = turns_to_take_back if request.what == "talk" else turns_to_undo
        and_later = request.turns == "since"
        turns = find(state, session, first, and_later=and_later)
        back_before = job_to_go_back_before(state, session, first, turns, and_later=and_later)
        if request.what == "files":
            back_before = JobId("")
        with self._parts.scheduler.rest(session.session_key):
            undone = await self._parts.undoing.undo(turns, caller.person, request.what, back_before)
            await self._end_agent(undone)
        return undo_reply(undone)

    async def redo(self, _request: ask.Redo, caller: Caller) -> TurnsUndone:
        session = self._parts.managed_session(caller)
        finished = await self._finish(session)
        if finished is not None:
            return finished
        undone = undo_to_redo(self._parts.state, session)
        with self._parts.scheduler.rest(undone.session_key):
            redone = await self._parts.undoing.redo(undone, caller.person)
            await self._end_agent(redone)
        return undo_reply(redone)

    async def _finish(self, session: Session) -> TurnsUndone | None:
        """An undo that was cut off comes first: until it is over, no other can begin."""
        with self._parts.scheduler.rest(session.session_key):
            finished = await self._parts.undoing.finish_in(session.session_key)
            if finished is None:
                return None
            await self._end_agent(finished)
        return undo_reply(finished)

    async def _until_taken(self, session: Session) -> None:
        """Right after its answer, the files of a turn may still be looked at; a turn that runs is not waited for."""
        ledger, state = self._parts.ledger, self._parts.state

        def is_open(job_id: JobId) -> bool:
            job = state.jobs.get(job_id)
            return job is not None and not job.is_live and job.session_key == session.session_key

        with suppress(TimeoutError):
            async with asyncio.timeout(LOOK_WITHIN_SEC):
                while any(map(is_open, state.open_trees)):
                    await ledger.until_changed(state.seq)

    async def _end_agent(self, undo: UndoRecord) -> None:
        """A process that remembers what was taken back must not go on: the next turn begins one that does not."""
        job = self._parts.state.jobs.get(undo.job_ids[0])
        runtime = self._parts.runtimes.get(job.runtime or "") if job is not None else None
        if undo.is_set_back and runtime is not None:
            await runtime.end_session(undo.session_key, "stop")

    def _session_of(self, job_id: str, caller: Caller) -> Session:
        if not job_id:
            return self._parts.managed_session(caller)
        return self._parts.state.sessions[self._find_job(job_id, caller).session_key]

    def _find_range(self, request: ask.Changes, caller: Caller) -> TreeRange:
        if not request.asks_for_session:
            return range_of_turn(self._find_job(request.job_id, caller))
        if request.job_id in {"", ask.SESSION}:
            return range_of_session(self._parts.state, self._parts.managed_session(caller))
        job = self._find_job(request.job_id, caller)
        return range_of_session(self._parts.state, self._parts.state.sessions[job.session_key])

    def _find_job(self, name: str, caller: Caller) -> Job:
        """By its id or number; without a name, the session's latest that has begun."""
        state = self._parts.state
        job_id = find_job_id(state.jobs, name) if name else self._latest_begun(self._parts.managed_session(caller))
        job = state.jobs.get(job_id)
        if job is None or not may_see(state, job.session_key, caller):
            raise error(Code.E_JOB_NOT_FOUND, f"There is no job {name[:60]!r}, or its snapshots are no longer kept.")
        return job

    def _latest_begun(self, session: Session) -> JobId:
        jobs = (j for j in self._parts.state.jobs.values() if j.session_key == session.session_key)
        begun = [job.job_id for job in jobs if job.started_at is not None]
        if not begun:
            raise error(Code.E_JOB_NOT_FOUND, "This session has no jobs yet.")
        return max(begun, key=job_number)

    async def _look_now(self, found: TreeRange) -> TreeSnapshot:
        now = await self._parts.trees.snapshot(found.project_path, "a look at the changes")
        if now is None:
            raise error(Code.E_SNAPSHOT_GONE)
        return now
