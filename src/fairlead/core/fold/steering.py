"""The rules for texts that go into the turn of another job."""

from typing import Final

from fairlead.core import events as e
from fairlead.core.fold.jobs import end, stop_steering
from fairlead.core.ids import JobId
from fairlead.core.job_names import job_number
from fairlead.core.job_states import states_before
from fairlead.core.state import Job, Session, State

_ASKABLE: Final = states_before(e.SteeringAsked)
_BEGINNABLE: Final = states_before(e.SteeringBegun)
_STEERABLE: Final = states_before(e.JobSteered)


def steering_asked(state: State, _ts: str, event: e.SteeringAsked) -> None:
    job = state.jobs.get(event.job_id)
    if job is not None and job.state in _ASKABLE and not job.steers:
        job.steers = True
        state.to_steer.append(job.job_id)


def steering_begun(state: State, _ts: str, event: e.SteeringBegun) -> None:
    job = state.jobs.get(event.job_id)
    if job is None or job.state not in _BEGINNABLE:
        return
    session = state.sessions[job.session_key]
    session.queue.remove(job.job_id)
    if not session.queue:
        del state.ready[session.session_key]
    if job.steers:
        stop_steering(state, job)
    job.state = "steering"
    job.steered_into = event.into
    state.steering.append(job.job_id)
    running = state.jobs.get(event.into)
    if running is not None and event.foreign:
        running.foreign = True


def job_steered(state: State, ts: str, event: e.JobSteered) -> None:
    job = state.jobs.get(event.job_id)
    if job is not None and job.state in _STEERABLE:
        last = state.sessions[job.session_key].last_job_id
        session = end(state, ts, job, "steered")
        session.last_job_id = last  # the turn that it went into is the session's latest
        state.account.steered += 1


def steering_declined(state: State, _ts: str, event: e.SteeringDeclined) -> None:
    job = state.jobs.get(event.job_id)
    if job is None:
        return
    job.steering_reason = event.reason
    if job.steers:
        stop_steering(state, job)
    if job.state == "steering":
        session = state.sessions[job.session_key]
        state.steering.remove(job.job_id)
        job.state = "queued"
        job.steered_into = JobId("")
        _put_back(state, session, job)
        state.ready[session.session_key] = 0


def _put_back(state: State, session: Session, job: Job) -> None:
    """At its own place in the queue: behind what was said before it."""
    after = next((at for at, other in enumerate(session.queue) if _comes_after(state.jobs[other], job)), None)
    session.queue.insert(len(session.queue) if after is None else after, job.job_id)


def _comes_after(other: Job, job: Job) -> bool:
    return not other.first and job_number(other.job_id) > job_number(job.job_id)
