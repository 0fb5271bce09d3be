"""Takes turns back and brings them back: in the files, with a way back, and through any crash.

1. While it lasts, no turn in the same directory gets its prompt, and it begins only when none runs there.
2. The files as they are now become a snapshot first: from it, a redo restores them.
3. What is going to be done is durable before the first file is touched. It says from which snapshot to which; doing it
   once more changes nothing that is done. So a start goes on with what it finds begun.
4. A file that somebody else has changed is never written: then nothing is done at all, and the files are named.
"""

from collections.abc import Sequence
from typing import Final

from fairlead.core.decide.undos import BeginUndo, EndUndo, TellOpenUndo, find_busy
from fairlead.core.events import UndoBegan
from fairlead.core.ids import JobId, SessionKeyText
from fairlead.core.job_names import short_name
from fairlead.core.kept_trees import undo_name
from fairlead.core.state import Job, UndoRecord
from fairlead.core.trees import UndoneParts, UndoPlan, summarise
from fairlead.errors import Code, FairleadError, error
from fairlead.flow.ledger import Ledger
from fairlead.flow.work_trees.turn_snapshots import NAMED_FILES, TurnSnapshots
from fairlead.observe import log, log_failure
from fairlead.tree_ports import WorkTrees

_NAMED_CONFLICTS: Final = 20

NO_JOB: Final = JobId("")

Step = tuple[str, str]


class Undoing:
    def __init__(self, ledger: Ledger, trees: WorkTrees, snapshots: TurnSnapshots) -> None:
        self._ledger = ledger
        self._trees = trees
        self._snapshots = snapshots

    async def undo(
        self, turns: Sequence[Job], person: str, what: UndoneParts, back_before: JobId = NO_JOB
    ) -> UndoRecord:
        """The turns, newest first, all of one session and directory. What the agent remembers goes back to before
        `back_before`, where it can. Raises E_UNDO_BUSY, E_UNDO_CHANGED and what the snapshots raise; then nothing has
        changed."""
        newest = turns[0]
        begin = BeginUndo(
            session_key=newest.session_key,
            job_ids=tuple(job.job_id for job in turns),
            project_path=newest.project_path,
            person=person,
            what=what,
            back_before=back_before,
        )
        steps = [] if what == "talk" else [_step_of(job) for job in turns]
        return await self._carry_out(begin, steps)

    async def redo(self, undone: UndoRecord, person: str) -> UndoRecord:
        begin = BeginUndo(
            session_key=undone.session_key,
            job_ids=undone.job_ids,
            project_path=undone.project_path,
            person=person,
            what="files",
            redo_of=undone.undo_id,
        )
        return await self._carry_out(begin, [(undone.after, undone.before)])

    async def finish_in(self, session_key: SessionKeyText) -> UndoRecord | None:
        """Finish the undo that a fault of the disk has cut off in this session: somebody asks again. None if there is
        nothing. Raises what it raised then, if that holds."""
        begun = (undo for undo in self._ledger.state.undos.values() if not undo.is_over)
        undo = next((undo for undo in begun if undo.session_key == session_key), None)
        if undo is None:
            return None
        async with self._snapshots.hold(undo.project_path):
            busy = find_busy(self._ledger.state, undo.project_path)
            if busy is not None:
                raise busy
            if not self._ledger.state.undos[undo.undo_id].is_over:
                await self._restore(undo)
        return self._ledger.state.undos[undo.undo_id]

    async def finish_begun(self) -> None:
        """At a start: what a crash or a stop has cut off."""
        for undo in [undo for undo in self._ledger.state.undos.values() if not undo.is_over]:
            log.warning("an undo goes on", undo_id=undo.undo_id, project_path=undo.project_path)
            async with self._snapshots.hold(undo.project_path):
                try:
                    await self._restore(undo, is_owed=True)
                except FairleadError as fault:
                    log_failure("an undo could not be finished", fault, undo_id=undo.undo_id)
                    await self._ledger.record_durably(TellOpenUndo(undo_id=undo.undo_id, code=fault.code))

    async def _carry_out(self, begin: BeginUndo, steps: Sequence[Step]) -> UndoRecord:
        async with self._snapshots.hold(begin.project_path):
            busy = find_busy(self._ledger.state, begin.project_path)
            if busy is not None:
                raise busy
            if steps:
                begin = await self._plan(begin, steps)
            decision = await self._ledger.record_durably(begin)
            began = decision.events[0]
            assert isinstance(began, UndoBegan)
            await self._restore(self._ledger.state.undos[began.undo_id])
        return self._ledger.state.undos[began.undo_id]

    async def _plan(self, begin: BeginUndo, steps: Sequence[Step]) -> BeginUndo:
        path = begin.project_path
        undo_id = f"undo_{self._ledger.state.undos_made + 1}"
        planned = await self._trees.plan_undo(path, steps, undo_id)
        if planned.conflicts:
            raise _build_conflict(planned, begin)
        if not planned.after:
            raise error(Code.E_NOTHING_TO_UNDO, _explain_nothing(planned))
        state_id = self._ledger.state.state_id
        names = {undo_name(state_id, undo_id, "before"): planned.before.commit}
        await self._trees.keep(path, {**names, undo_name(state_id, undo_id, "after"): planned.after})
        return BeginUndo(
            session_key=begin.session_key,
            job_ids=begin.job_ids,
            project_path=path,
            person=begin.person,
            what=begin.what,
            before=planned.before.commit,
            after=planned.after,
            redo_of=begin.redo_of,
            files=summarise(planned.files, NAMED_FILES),
            left=planned.left[:_NAMED_CONFLICTS],
            back_before=begin.back_before,
        )

    async def _restore(self, undo: UndoRecord, *, is_owed: bool = False) -> None:
        """A fault of the disk is told, and stands until somebody asks again or the next start tries: half of it may be
        done. With `is_owed` nobody waits for a reply: the conversation is told."""
        left: tuple[str, ...] = ()
        if undo.after:
            try:
                left = await self._trees.restore(undo.project_path, undo.before, undo.after)
            except FairleadError as fault:
                if fault.code is Code.E_SNAPSHOT_GONE:
                    gone = EndUndo(undo_id=undo.undo_id, code=fault.code, reason=fault.message, is_owed=is_owed)
                    await self._ledger.record_durably(gone)
                raise
        await self._ledger.record_durably(EndUndo(undo_id=undo.undo_id, left=left[:_NAMED_CONFLICTS], is_owed=is_owed))


def _step_of(job: Job) -> Step:
    assert job.tree is not None
    assert job.tree.start is not None
    assert job.tree.end is not None
    return job.tree.end.commit, job.tree.start.commit


def _build_conflict(planned: UndoPlan, begin: BeginUndo) -> FairleadError:
    return error(Code.E_UNDO_CHANGED, f"Changed since {short_name(begin.job_ids[0])}: {_name(planned.conflicts)}")


def _explain_nothing(planned: UndoPlan) -> str:
    if not planned.left:
        return "The files are already so."
    return f"No snapshot says how these files were before: {_name(planned.left)}"


def _name(paths: Sequence[str]) -> str:
    more = len(paths) - _NAMED_CONFLICTS
    return f"{', '.join(paths[:_NAMED_CONFLICTS])}{f' and {more} more' if more > 0 else ''}"
