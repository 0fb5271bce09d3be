"""Deciding which turns are undone, and what is written about it. Looks at no file: the caller has planned them."""

from collections.abc import Sequence

import msgspec

from fairlead.core.decide.agent_sessions import handed_off_problem
from fairlead.core.decide.decision import NOTHING, Decision, refuse
from fairlead.core.engine import ForkOrigin
from fairlead.core.events import DeliveryOwed, ForkPlanned, JobRedone, JobUndone, JournalEvent, UndoBegan, UndoEnded
from fairlead.core.fork_origins import find_origin, make_facts_to_set_back
from fairlead.core.ids import JobId, SessionKeyText
from fairlead.core.job_names import short_name
from fairlead.core.limits import Limits
from fairlead.core.state import Job, Session, State, UndoRecord, open_undo_entry_id, undo_entry_id
from fairlead.core.trees import ChangeSummary, UndoneParts, UndoNotice, do_overlap
from fairlead.errors import Code, FairleadError, error


class BeginUndo(msgspec.Struct, frozen=True, kw_only=True):
    session_key: SessionKeyText
    job_ids: tuple[JobId, ...]
    project_path: str
    person: str
    what: UndoneParts
    before: str = ""
    after: str = ""
    redo_of: str = ""
    files: ChangeSummary = ChangeSummary()
    left: tuple[str, ...] = ()
    back_before: JobId = JobId("")


class EndUndo(msgspec.Struct, frozen=True, kw_only=True):
    """With `is_owed`, the person who asked has had no reply: the conversation is told."""

    undo_id: str
    left: tuple[str, ...] = ()
    code: str = ""
    reason: str = ""
    is_owed: bool = False


class TellOpenUndo(msgspec.Struct, frozen=True, kw_only=True):
    """A start could not finish it, and somebody has to see to that: `code` says why."""

    undo_id: str
    code: str


def begin_undo(state: State, command: BeginUndo, _now: str, _limits: Limits) -> Decision:
    """The last look at the state before files are touched: no turn may work on them."""
    busy = find_busy(state, command.project_path) or handed_off_problem(state.sessions.get(command.session_key))
    if busy is not None:
        return Decision(refusal=busy)
    if any(not undo.is_over and do_overlap(undo.project_path, command.project_path) for undo in state.undos.values()):
        return refuse(Code.E_UNDO_BUSY, "Another undo is not over yet.")
    began = UndoBegan(
        undo_id=f"undo_{state.undos_made + 1}",
        session_key=command.session_key,
        job_ids=command.job_ids,
        project_path=command.project_path,
        person=command.person,
        what=command.what,
        before=command.before,
        after=command.after,
        redo_of=command.redo_of,
        files=command.files,
        left=command.left,
        back_before=command.back_before,
    )
    return Decision((began,))


def end_undo(state: State, command: EndUndo, _now: str, _limits: Limits) -> Decision:
    undo = state.undos.get(command.undo_id)
    if undo is None or undo.is_over:
        return NOTHING
    if command.code:
        failed = UndoEnded(undo_id=undo.undo_id, error_code=command.code, reason=command.reason[:300])
        return Decision((failed, *(_notice(state, undo, failed) if command.is_owed else ())))
    facts = _set_forward(state, undo) if undo.redo_of else _set_back(state, undo)
    ended = UndoEnded(
        undo_id=undo.undo_id,
        left=(*undo.left, *command.left),
        is_set_back=bool(facts),
        origin=_find_origin(state, undo.back_before),
    )
    kind = JobRedone if undo.redo_of else JobUndone
    marks = () if undo.what == "talk" else (kind(job_id, undo.undo_id, undo.person) for job_id in undo.job_ids)
    return Decision((ended, *facts, *marks, *(_notice(state, undo, ended) if command.is_owed else ())))


def tell_open_undo(state: State, command: TellOpenUndo, _now: str, _limits: Limits) -> Decision:
    """Once, however many starts cannot finish it."""
    undo = state.undos.get(command.undo_id)
    if undo is None or undo.is_over or undo.is_told_open:
        return NOTHING
    told = UndoEnded(undo_id=undo.undo_id, error_code=command.code)
    return Decision(_notice(state, undo, told, is_open=True))


def _notice(state: State, undo: UndoRecord, ended: UndoEnded, *, is_open: bool = False) -> tuple[JournalEvent, ...]:
    session = state.sessions.get(undo.session_key)
    if session is None:
        return ()
    notice = UndoNotice(
        undo_id=undo.undo_id,
        person=undo.person,
        job_ids=undo.job_ids,
        what=undo.what,
        is_redo=bool(undo.redo_of),
        total=undo.files.total,
        is_set_back=ended.is_set_back,
        left=ended.left,
        code=ended.error_code,
        is_open=is_open,
    )
    owed = DeliveryOwed(
        entry_id=open_undo_entry_id(undo.undo_id) if is_open else undo_entry_id(undo.undo_id),
        kind="notice",
        session_key=session.session_key,
        requester=session.conversation,
        undo=notice,
    )
    return (owed,)


def _set_back(state: State, undo: UndoRecord) -> tuple[JournalEvent, ...]:
    """Nothing where the agent cannot be set back: then it is told."""
    job = state.jobs.get(undo.back_before)
    return () if job is None else make_facts_to_set_back(state, job) or ()


def _set_forward(state: State, redo: UndoRecord) -> tuple[JournalEvent, ...]:
    """Only if nothing was said since the undo: a later turn remembers another past."""
    undone, session = state.undos.get(redo.redo_of), state.sessions.get(redo.session_key)
    if undone is None or session is None or undone.origin is None or not undone.is_set_back:
        return ()
    job = state.jobs.get(undone.back_before)
    if job is None or job.generation != session.generation or session.last_job_id != undone.last_job_id:
        return ()
    planned = ForkPlanned(
        session_key=session.session_key,
        generation=session.generation,
        runtime=job.runtime or "",
        project_path=job.project_path,
        fork=undone.origin,
    )
    return (planned,)


def _find_origin(state: State, job_id: JobId) -> ForkOrigin | None:
    """What the agent remembers now."""
    job = state.jobs.get(job_id)
    session = None if job is None else state.sessions.get(job.session_key)
    return None if job is None or session is None else find_origin(session, job.runtime or "", job.project_path)


def job_to_go_back_before(
    state: State, session: Session, first: JobId, turns: Sequence[Job], *, and_later: bool
) -> JobId:
    """What was said later is forgotten too, so only the last turn goes back alone. Empty if it would be another, and if
    the agent's own session went on outside of Fairlead since."""
    earliest = state.jobs.get(first, turns[-1])
    is_last = bool(session.ended) and session.ended[-1] == turns[0].job_id and len(turns) == 1
    is_its = earliest.generation == session.generation and earliest.ended_number > session.outside_until
    return earliest.job_id if is_its and (and_later or is_last) else JobId("")


def find_busy(state: State, project_path: str) -> FairleadError | None:
    """Why nothing can be undone in this directory now."""
    running = (state.jobs[job_id] for job_id in (*state.running, *state.waiting))
    busy = next((job for job in running if do_overlap(job.project_path, project_path)), None)
    return None if busy is None else error(Code.E_UNDO_BUSY, f"{short_name(busy.job_id)} is running in this directory.")


def turns_to_undo(state: State, session: Session, first: JobId, *, and_later: bool) -> list[Job]:
    """Newest first. Without a job, the latest turn that changed files and is not undone. Raises E_NOTHING_TO_UNDO."""
    ended = [job for job_id in reversed(session.ended) if (job := state.jobs.get(job_id)) is not None]
    if not first:
        turn = next((job for job in ended if can_be_undone(job)), None)
        if turn is None:
            raise error(Code.E_NOTHING_TO_UNDO, "No turn of this session has changed files that are still changed.")
        return [turn]
    wanted = [job for job in ended if job.job_id == first]
    if not wanted:
        raise error(Code.E_NOTHING_TO_UNDO, f"{short_name(first)} is no turn of this session that has ended.")
    if and_later:
        wanted = [job for job in ended if job.ended_number >= wanted[0].ended_number]
    turns = [job for job in wanted if can_be_undone(job)]
    if not turns:
        raise error(Code.E_NOTHING_TO_UNDO, f"{short_name(first)} has changed no files that are still changed.")
    if len({job.project_path for job in turns}) > 1:
        raise error(Code.E_NOTHING_TO_UNDO, "These turns worked in different directories; undo them one by one.")
    return turns


def turns_to_take_back(state: State, session: Session, first: JobId, *, and_later: bool) -> list[Job]:
    """Of what was said alone: any turn that has ended, whether it changed files or not."""
    ended = [job for job_id in reversed(session.ended) if (job := state.jobs.get(job_id)) is not None]
    at = next((i for i, job in enumerate(ended) if not first or job.job_id == first), None)
    if at is None:
        raise error(Code.E_NOTHING_TO_UNDO, "This session has no such turn.")
    return ended[: at + 1] if and_later else [ended[at]]


def can_be_undone(job: Job) -> bool:
    """It has ended, it changed files, and nobody has undone that."""
    tree = job.tree
    return tree is not None and tree.start is not None and tree.end is not None and _has_changes(job)


def _has_changes(job: Job) -> bool:
    assert job.tree is not None
    return job.tree.changed is not None and not job.tree.undone_by


def undo_to_redo(state: State, session: Session) -> UndoRecord:
    """The latest undo of this session that nobody has taken back. Raises E_NOTHING_TO_UNDO."""
    undone = undos_that_hold(state, session.session_key)
    if not undone:
        raise error(Code.E_NOTHING_TO_UNDO, "No undo of this session can be redone.")
    return undone[-1]


def undos_that_hold(state: State, session_key: SessionKeyText) -> list[UndoRecord]:
    """Of files; oldest first. Only the last one can be taken back."""
    mine = [undo for undo in state.undos.values() if undo.session_key == session_key]
    open_ones = [undo for undo in mine if undo.is_over and not undo.error_code and not undo.redone_by]
    return [undo for undo in open_ones if not undo.redo_of and undo.what != "talk"]
