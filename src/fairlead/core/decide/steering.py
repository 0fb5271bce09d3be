"""Deciding about texts for a turn that runs: which may go there now, and what became of each.

A message is either in a queue, or on its way into a turn, or taken, never two of these: each move is one fact.
"""

from typing import Final

import msgspec

from fairlead.core.decide.decision import NOTHING, Decision, refuse
from fairlead.core.decide.job_ends import Cancelled, Outcome, answer_delivery
from fairlead.core.decide.messages import has_foreign_text
from fairlead.core.engine import SteerResult
from fairlead.core.events import (
    JobCancelled,
    JobFailed,
    JobSteered,
    JournalEvent,
    SteeringAsked,
    SteeringBegun,
    SteeringDeclined,
    SteeringReason,
)
from fairlead.core.ids import JobId, SessionKeyText
from fairlead.core.limits import Limits
from fairlead.core.state import Job, State
from fairlead.errors import Code

MAX_DETAIL: Final = 500


class AskToSteer(msgspec.Struct, frozen=True):
    """A person wants a message that waits in the turn that runs; without a job, the session's newest that waits."""

    session_key: SessionKeyText
    person: str
    job_id: JobId = JobId("")


class BeginSteering(msgspec.Struct, frozen=True):
    """The text of this job goes to the agent of the turn `into`, as soon as this is durable."""

    job_id: JobId
    into: JobId


class DeclineSteering(msgspec.Struct, frozen=True):
    """The text of this job, which waits, is not for the turn that runs."""

    job_id: JobId
    reason: SteeringReason


class SettleSteering(msgspec.Struct, frozen=True):
    """What became of the text. `stopped` is how somebody ended the turn that it was for."""

    job_id: JobId
    result: SteerResult
    stopped: Outcome | None = None


def ask_to_steer(state: State, command: AskToSteer, _now: str, _limits: Limits) -> Decision:
    session = state.sessions.get(command.session_key)
    waiting = [] if session is None else [job_id for job_id in session.queue if not state.jobs[job_id].first]
    job_id = command.job_id or (waiting[-1] if waiting else JobId(""))
    job = state.jobs.get(job_id)
    if job is None or session is None or job_id not in session.queue:
        return refuse(Code.E_NOT_STEERABLE)
    if job.steers:
        return Decision(job_id=job_id, duplicate=True)
    asked = SteeringAsked(job_id, command.person)
    if session.running_job_id is None:
        return Decision((asked, _decline(job, "no_turn")), job_id=job_id)
    return Decision((asked,), job_id=job_id)


def begin_steering(state: State, command: BeginSteering, _now: str, _limits: Limits) -> Decision:
    job, running = state.jobs.get(command.job_id), state.jobs.get(command.into)
    if job is None or running is None or not job.steers or job.state != "queued":
        return NOTHING
    if not takes_texts(state, running) or job.session_key != running.session_key:
        return NOTHING
    begun = SteeringBegun(
        job_id=job.job_id, session_key=job.session_key, into=running.job_id, foreign=is_foreign_in(job, running)
    )
    return Decision((begun,), job_id=job.job_id)


def takes_texts(state: State, running: Job) -> bool:
    """Whether this job's turn is one that a text can go into: its agent has the prompt, and it has not ended."""
    session = state.sessions.get(running.session_key)
    return session is not None and session.running_job_id == running.job_id and not running.awaits_hand_over


def is_foreign_in(job: Job, running: Job) -> bool:
    return has_foreign_text(job) or job.person != running.person


def decline_steering(state: State, command: DeclineSteering, _now: str, _limits: Limits) -> Decision:
    job = state.jobs.get(command.job_id)
    if job is None or not job.steers:
        return NOTHING
    return Decision((_decline(job, command.reason),), job_id=job.job_id)


def settle_steering(state: State, command: SettleSteering, _now: str, _limits: Limits) -> Decision:
    job = state.jobs.get(command.job_id)
    if job is None or job.state != "steering":
        return NOTHING
    return Decision(_settle(state, job, command.result, command.stopped), job_id=job.job_id)


def _settle(state: State, job: Job, result: SteerResult, stopped: Outcome | None) -> tuple[JournalEvent, ...]:
    """A person who stops a turn stops what is on its way into it. Nobody runs a text by himself that the agent may
    have."""
    if result.outcome == "taken":
        return (JobSteered(job.job_id, job.session_key, job.steered_into),)
    if isinstance(stopped, Cancelled):
        ended: JournalEvent = JobCancelled(job.job_id, job.session_key, stopped.person, stopped.reason)
        return (ended, *answer_delivery(state, job, ended))
    if result.outcome == "unknown":
        ended = JobFailed(
            job_id=job.job_id,
            session_key=job.session_key,
            error_code=Code.E_STEER_UNKNOWN,
            error_message=result.words[:MAX_DETAIL],
        )
        return (ended, *answer_delivery(state, job, ended))
    return (_decline(job, result.outcome, result.words),)


def _decline(job: Job, reason: SteeringReason, detail: str = "") -> SteeringDeclined:
    return SteeringDeclined(job_id=job.job_id, session_key=job.session_key, reason=reason, detail=detail[:MAX_DETAIL])
