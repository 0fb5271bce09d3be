"""The rules for turns that are taken back and brought back."""

from msgspec.structs import replace

from fairlead.core import events as e
from fairlead.core.ids import JobId
from fairlead.core.state import State, UndoRecord


def undo_began(state: State, _ts: str, event: e.UndoBegan) -> None:
    state.undos_made += 1
    state.undos[event.undo_id] = UndoRecord(
        undo_id=event.undo_id,
        session_key=event.session_key,
        job_ids=event.job_ids,
        project_path=event.project_path,
        person=event.person,
        what=event.what,
        before=event.before,
        after=event.after,
        redo_of=event.redo_of,
        files=event.files,
        left=event.left,
        back_before=event.back_before,
    )


def undo_ended(state: State, _ts: str, event: e.UndoEnded) -> None:
    undo = state.undos.get(event.undo_id)
    if undo is None:
        return
    session = state.sessions.get(undo.session_key)
    state.undos[undo.undo_id] = replace(
        undo,
        is_over=True,
        error_code=event.error_code,
        left=event.left,
        is_set_back=event.is_set_back,
        origin=event.origin,
        last_job_id=None if session is None else session.last_job_id,
    )
    if event.error_code:
        return
    undone = state.undos.get(undo.redo_of)
    if undone is not None:
        state.undos[undone.undo_id] = replace(undone, redone_by=undo.undo_id)
    if session is not None and not event.is_set_back:
        session.untold_undos.append(undo.undo_id)


def job_undone(state: State, _ts: str, event: e.JobUndone) -> None:
    _mark(state, event.job_id, event.undo_id)


def job_redone(state: State, _ts: str, event: e.JobRedone) -> None:
    _mark(state, event.job_id, "")


def _mark(state: State, job_id: JobId, undo_id: str) -> None:
    job = state.jobs.get(job_id)
    if job is not None and job.tree is not None:
        job.tree = replace(job.tree, undone_by=undo_id)
