"""Which snapshots of work trees are still needed, by their names: a list of the refs says what they are of."""

from collections.abc import Iterator
from typing import Literal

from fairlead.core.ids import JobId
from fairlead.core.state import State
from fairlead.core.trees import Moment


def snapshot_name(state_id: str, job_id: JobId, moment: Moment) -> str:
    return f"{state_id}/{job_id}/{moment}"


def undo_name(state_id: str, undo_id: str, moment: Literal["before", "after"]) -> str:
    return f"{state_id}/{undo_id}/{moment}"


def needed_snapshots(state: State) -> dict[str, dict[str, str]]:
    """The commits by their names, by the directory of the project. A snapshot goes when its job leaves the state."""
    commits: dict[str, dict[str, str]] = {}
    for path, name, commit in _snapshots(state):
        commits.setdefault(path, {})[name] = commit
    return commits


def _snapshots(state: State) -> Iterator[tuple[str, str, str]]:
    for job in state.jobs.values():
        if job.tree is None:
            continue
        if job.tree.start is not None:
            yield job.project_path, snapshot_name(state.state_id, job.job_id, "start"), job.tree.start.commit
        if job.tree.end is not None:
            yield job.project_path, snapshot_name(state.state_id, job.job_id, "end"), job.tree.end.commit
    for undo in state.undos.values():
        if not undo.after:
            continue  # this undo changed no files: it took back what the agent remembers
        yield undo.project_path, undo_name(state.state_id, undo.undo_id, "before"), undo.before
        yield undo.project_path, undo_name(state.state_id, undo.undo_id, "after"), undo.after
