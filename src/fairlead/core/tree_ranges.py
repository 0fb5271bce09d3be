"""From which snapshot to which the changes of a turn, or of a session, are counted; and whose they may be besides.
Looks at no file."""

from collections.abc import Iterable

import msgspec

from fairlead.core.ids import JobId
from fairlead.core.state import Job, JobTree, Session, State
from fairlead.core.trees import TreeSnapshot, UncoveredPath, do_overlap
from fairlead.errors import Code, error


class TreeRange(msgspec.Struct, frozen=True, kw_only=True):
    """`after` is None while a turn runs: then the files count as they are now. `shared_with` are jobs of other sessions
    that worked in the same directory meanwhile."""

    job_ids: tuple[JobId, ...]
    project: str
    project_path: str
    since: str
    before: TreeSnapshot
    after: TreeSnapshot | None
    shared_with: tuple[JobId, ...] = ()
    is_late: bool = False
    uncovered: tuple[UncoveredPath, ...] = ()
    uncovered_more: int = 0


def range_of_turn(job: Job) -> TreeRange:
    """Raises E_SNAPSHOT_GONE, or the code of why there is no snapshot."""
    tree = job.tree or JobTree()
    if tree.start is None or (tree.end is None and not job.is_live):
        raise error(Code(tree.missed) if tree.missed else Code.E_SNAPSHOT_GONE, f"{job.job_id} has no snapshot.")
    return _make_range([job], tree.shared_with)


def range_of_session(state: State, session: Session) -> TreeRange:
    """Since the session began or was reset, as far as snapshots are kept, in the directory of its latest turn."""
    running = (session.running_job_id, session.agent_job_id)
    known = (state.jobs.get(job_id) for job_id in (*session.ended, *filter(None, running)))
    jobs = [j for j in known if j is not None and j.generation == session.generation and _has_snapshots(j)]
    here = [job for job in jobs if job.project_path == jobs[-1].project_path]
    if not here:
        raise error(Code.E_SNAPSHOT_GONE, "This session has no snapshots yet.")
    return _make_range(here, _others_meanwhile(state, here))


def _has_snapshots(job: Job) -> bool:
    return job.tree is not None and job.tree.start is not None and (job.tree.end is not None or job.is_live)


def _make_range(jobs: list[Job], shared_with: Iterable[JobId]) -> TreeRange:
    first, last = jobs[0], jobs[-1]
    assert first.tree is not None
    assert last.tree is not None
    assert first.tree.start is not None
    newest = last.tree.end or first.tree.start
    return TreeRange(
        job_ids=tuple(job.job_id for job in jobs),
        project=last.project,
        project_path=last.project_path,
        since=first.started_at or "",
        before=first.tree.start,
        after=last.tree.end,
        shared_with=tuple(dict.fromkeys(shared_with)),
        is_late=any(job.tree is not None and job.tree.is_late for job in jobs),
        uncovered=newest.uncovered,
        uncovered_more=newest.uncovered_more,
    )


def _others_meanwhile(state: State, jobs: list[Job]) -> list[JobId]:
    """Jobs of other sessions that ran in this directory between the first of these and the last one's end."""
    session_key, path = jobs[0].session_key, jobs[0].project_path
    began, ended = jobs[0].started_at or "", jobs[-1].finished_at
    return [
        job.job_id
        for job in state.jobs.values()
        if job.session_key != session_key
        and do_overlap(job.project_path, path)
        and job.started_at is not None
        and (ended is None or job.started_at <= ended)
        and (job.finished_at is None or job.finished_at >= began)
    ]
