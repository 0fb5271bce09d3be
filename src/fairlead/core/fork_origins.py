"""What an agent remembers of a session, as a place that a fork can begin from. Pure: the agent is asked later.

A talk is named by the agent's resume key, and a place in it by the agent's own word for it (`Session.points`)."""

from fairlead.core.engine import ForkOrigin
from fairlead.core.events import ForkPlanned, JournalEvent, ResumeKeyForgotten
from fairlead.core.state import Job, Session, State, resume_slot


def find_origin(session: Session, runtime: str, project_path: str) -> ForkOrigin | None:
    """All that was said in the turns that have ended; None where no agent has answered yet. Its point is empty where
    the agent does not name any: then the talk is copied as it is at the time of the copy."""
    slot = resume_slot(runtime, project_path)
    key = session.proven_key(slot)
    if key is not None:
        return ForkOrigin(key, session.points.get(slot, ""))
    return session.forks.get(slot)


def find_origin_after(session: Session, job: Job) -> ForkOrigin | None:
    """The talk as it was when this job ended; None where that place cannot be named."""
    if job.session_key != session.session_key or job.generation != session.generation or job.is_live:
        return None
    if job.point and job.point_key:
        return ForkOrigin(job.point_key, job.point)
    is_latest = session.last_job_id == job.job_id and session.running_job_id is None
    return find_origin(session, job.runtime or "", job.project_path) if is_latest else None


def make_facts_to_set_back(state: State, job: Job) -> tuple[JournalEvent, ...] | None:
    """The facts after which the session's next turn goes on with the talk as it was before this job. None where that
    place cannot be named: the agent's runtime has no fork points, or the job's turn never began."""
    session = state.sessions.get(job.session_key)
    if session is None or job.runtime is None or job.generation != session.generation:
        return None
    if job.resume_key and job.point_before:
        return (_plan(job, ForkOrigin(job.resume_key, job.point_before)),)
    if job.fork is not None:
        return (_plan(job, job.fork),)  # the job was the first in a talk that had begun as a copy
    if job.resume_key:
        return None
    return (ResumeKeyForgotten(job.session_key, job.generation, job.runtime, job.project_path),)


def _plan(job: Job, fork: ForkOrigin) -> ForkPlanned:
    return ForkPlanned(
        session_key=job.session_key,
        generation=job.generation,
        runtime=job.runtime or "",
        project_path=job.project_path,
        fork=fork,
    )
