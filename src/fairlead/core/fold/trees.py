"""The rules for snapshots of the files that jobs work on."""

from msgspec.structs import replace

from fairlead.core import events as e
from fairlead.core.ids import JobId
from fairlead.core.state import Job, JobTree, State
from fairlead.core.trees import do_overlap

_NOTHING = JobTree()


def tree_snapshot_taken(state: State, _ts: str, event: e.TreeSnapshotTaken) -> None:
    job = state.jobs.get(event.job_id)
    if job is None:
        state.open_trees.pop(event.job_id, None)
        return
    tree = job.tree or _NOTHING
    if event.moment == "start":
        job.tree = replace(tree, start=event.snapshot)
        state.open_trees[job.job_id] = 0
        _note_sharing(state, job)
    else:
        job.tree = replace(tree, end=event.snapshot, changed=event.changed, is_late=event.is_late)
        state.open_trees.pop(job.job_id, None)


def tree_snapshot_missed(state: State, _ts: str, event: e.TreeSnapshotMissed) -> None:
    job = state.jobs.get(event.job_id)
    state.open_trees.pop(event.job_id, None)
    if job is not None:
        job.tree = replace(job.tree or _NOTHING, missed=event.error_code)


def _note_sharing(state: State, job: Job) -> None:
    """Turns that run in one directory at the same time: a change in it is of one of them, and nobody knows which."""
    for other_id in (*state.running, *state.waiting):
        other = state.jobs[other_id]
        if other is not job and do_overlap(other.project_path, job.project_path):
            _share(job, other_id)
            _share(other, job.job_id)


def _share(job: Job, other_id: JobId) -> None:
    tree = job.tree or _NOTHING
    if other_id not in tree.shared_with:
        job.tree = replace(tree, shared_with=(*tree.shared_with, other_id))
