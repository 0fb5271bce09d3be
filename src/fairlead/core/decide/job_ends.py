"""How jobs end. Every end puts at least a line for the person into the outbox, in the same batch."""

from typing import Final, TypeAlias

import msgspec
from msgspec.structs import replace

from fairlead.core.decide.decision import NOTHING, Decision, refuse
from fairlead.core.events import (
    DeliveryOwed,
    DeliveryPlanned,
    FileRef,
    JobCancelled,
    JobCompleted,
    JobFailed,
    JobMarkedUnknownAfterCrash,
    JobRequeued,
    JobTriedAgain,
    JobWithdrawn,
    JournalEvent,
    QuestionClosed,
    Spent,
    SteeringDeclined,
)
from fairlead.core.ids import BlobName, JobId
from fairlead.core.inbound import Cause
from fairlead.core.job_states import JobState, states_before
from fairlead.core.limits import Limits
from fairlead.core.machines.places import machine_of
from fairlead.core.spawn_tree import awaits_completion, still_waits
from fairlead.core.spawns import SpawnedSession
from fairlead.core.state import Job, State, answer_entry_id
from fairlead.core.turn_reports import NO_REPORT, TurnReport
from fairlead.errors import Code

MAX_ERROR_CHARS: Final = 2000
"""An agent's last words may be its whole log: the state keeps an ended job's error for days, so only its head."""


class Completed(msgspec.Struct, frozen=True):
    text: str
    text_blob: BlobName = BlobName("")
    files: tuple[FileRef, ...] = ()
    spent: Spent = Spent()
    point: str = ""
    report: TurnReport = NO_REPORT


class Failure(msgspec.Struct, frozen=True):
    code: Code
    message: str
    text: str = ""
    spent: Spent = Spent()
    point: str = ""
    report: TurnReport = NO_REPORT


class Cancelled(msgspec.Struct, frozen=True):
    person: str
    reason: str = ""
    spent: Spent = Spent()
    point: str = ""
    report: TurnReport = NO_REPORT


class Unknown(msgspec.Struct, frozen=True):
    """The runner of another machine ended while the agent worked: what the agent has done, nobody knows."""

    spent: Spent = Spent()
    point: str = ""
    report: TurnReport = NO_REPORT


Outcome: TypeAlias = Completed | Failure | Cancelled | Unknown

_OF_THE_TASK: Final[frozenset[Cause]] = frozenset({"spawn", "retry", "answer", "child"})
"""Jobs of a spawned session that bring its task to an end: the task itself, another attempt, the answer to a question
that outlived its job, and the completion of a task that it gave to a session of its own."""

_WITHDRAWABLE: Final = states_before(JobWithdrawn)
_TRYABLE_AGAIN: Final = states_before(JobTriedAgain)
_HAS_TURN: Final = states_before(JobCompleted)
_CANCELLABLE_IN_QUEUE: Final = frozenset({"queued"}) & states_before(JobCancelled)
_ENDABLE: Final[dict[type[Outcome], frozenset[JobState]]] = {
    Completed: states_before(JobCompleted),
    Failure: states_before(JobFailed) & _HAS_TURN,
    Cancelled: states_before(JobCancelled) & _HAS_TURN,
    Unknown: states_before(JobMarkedUnknownAfterCrash) & _HAS_TURN,
}
"""When a turn may report its end; a job that has no turn yet is cancelled with `CancelQueued`."""


class EndJob(msgspec.Struct, frozen=True):
    job_id: JobId
    outcome: Outcome


class MarkInterrupted(msgspec.Struct, frozen=True):
    """Recovery at start. What an agent that had its prompt has done by then, nobody knows: Fairlead runs no such job
    again by itself. A job whose agent had no prompt goes back to the head of its queue. Turns on other machines went on
    meanwhile: their runners are asked."""


class TryAgain(msgspec.Struct, frozen=True):
    job_id: JobId
    code: Code
    reason: str


class CancelQueued(msgspec.Struct, frozen=True):
    job_id: JobId
    person: str
    reason: str = ""


class WithdrawJob(msgspec.Struct, frozen=True):
    job_id: JobId
    reason: str


def end_job(state: State, command: EndJob, now: str, limits: Limits) -> Decision:
    job = state.jobs.get(command.job_id)
    if job is None or job.state not in _ENDABLE[type(command.outcome)]:
        return NOTHING
    closed = () if _is_asked_across_a_restart(command.outcome) else _close_questions(state, job)
    spent_on = limits.days.day_of(now) if command.outcome.spent != Spent() else ""
    ended = _end_event(job, command.outcome, limits, spent_on)
    late = _decline_late_texts(state, job)
    return Decision((*closed, *late, ended, *answer_delivery(state, job, ended)), job_id=job.job_id)


def _is_asked_across_a_restart(outcome: Outcome) -> bool:
    """A shutdown, or the end of a runner, ends the job and leaves its questions open: their buttons still stand after
    the restart."""
    return isinstance(outcome, Unknown) or (isinstance(outcome, Failure) and outcome.code == Code.E_SHUTDOWN)


def _close_questions(state: State, job: Job) -> tuple[JournalEvent, ...]:
    """Those that the job waited for. The response to any other begins a turn of its own."""
    return tuple(
        QuestionClosed(q.question_id, "job_ended")
        for q in state.questions.values()
        if q.job_id == job.job_id and q.status == "open" and not q.by_message
    )


def _decline_late_texts(state: State, job: Job) -> tuple[JournalEvent, ...]:
    """Texts that were for this job's turn and did not leave their queue: they are ordinary messages now."""
    return tuple(
        SteeringDeclined(job_id=waiting, session_key=job.session_key, reason="too_late")
        for waiting in state.to_steer
        if state.jobs[waiting].session_key == job.session_key
    )


def _end_event(job: Job, outcome: Outcome, limits: Limits, spent_on: str) -> JournalEvent:
    match outcome:
        case Completed():
            excerpt = outcome.text[: limits.max_result_excerpt_chars]
            inline = "" if outcome.text_blob else outcome.text
            return JobCompleted(
                job_id=job.job_id,
                session_key=job.session_key,
                text=inline,
                excerpt=excerpt,
                text_blob=outcome.text_blob,
                files=outcome.files,
                spent=outcome.spent,
                spent_on=spent_on,
                point=outcome.point,
                report=outcome.report,
            )
        case Failure():
            message = outcome.message[:MAX_ERROR_CHARS]
            return JobFailed(
                job_id=job.job_id,
                session_key=job.session_key,
                error_code=outcome.code,
                error_message=message,
                text=outcome.text,
                spent=outcome.spent,
                spent_on=spent_on,
                point=outcome.point,
                report=outcome.report,
            )
        case Cancelled():
            return JobCancelled(
                job_id=job.job_id,
                session_key=job.session_key,
                person=outcome.person,
                reason=outcome.reason,
                spent=outcome.spent,
                spent_on=spent_on,
                point=outcome.point,
                report=outcome.report,
            )
        case Unknown():
            return JobMarkedUnknownAfterCrash(job.job_id, job.session_key)


def answer_delivery(state: State, job: Job, ended: JournalEvent) -> tuple[JournalEvent, ...]:
    """The outbox entry of this end. That of a task whose session has a thread goes there, and nowhere else if it is
    `fail_closed`; one that an agent waits for goes into the agent's session, unless a person cancelled the task (then
    nobody wants a new turn to begin), or the session waits itself for one that it spawned (then it is not done)."""
    owed = DeliveryOwed(
        entry_id=answer_entry_id(job.job_id),
        kind="answer",
        session_key=job.session_key,
        requester=job.conversation,
        job_id=job.job_id,
    )
    spawned = state.spawns.get(job.session_key)
    if spawned is None or job.cause not in _OF_THE_TASK:
        return (owed,)
    if spawned.returns == "thread" and job.cause == "spawn":
        return (replace(owed, requester=spawned.conversation, fail_closed=spawned.fail_closed),)
    if spawned.returns == "session" and not isinstance(ended, JobCancelled) and _is_completion(state, spawned):
        return (replace(owed, asker=spawned.parent_session_key), _plan_return(owed))
    return (owed,)


def _is_completion(state: State, spawned: SpawnedSession) -> bool:
    return still_waits(state, spawned) and not awaits_completion(state, spawned.session_key)


def _plan_return(owed: DeliveryOwed) -> DeliveryPlanned:
    reason = "the session whose agent asked gets it as a message"
    return DeliveryPlanned(entry_id=owed.entry_id, destination=owed.requester, route="asker", reason=reason)


def mark_interrupted(state: State, _command: MarkInterrupted, _now: str, _limits: Limits) -> Decision:
    events: list[JournalEvent] = []
    for job_id in (*state.running, *state.waiting, *state.steering):
        job = state.jobs[job_id]
        if job.state != "steering" and machine_of(job.project_path) in state.machines:
            continue
        if job.awaits_hand_over:
            events.append(JobRequeued(job_id, job.session_key))
        else:
            events += _decline_late_texts(state, job) if job.state != "steering" else ()
            unknown = JobMarkedUnknownAfterCrash(job_id, job.session_key)
            events += (unknown, *answer_delivery(state, job, unknown))
    return Decision(tuple(events))


def try_again(state: State, command: TryAgain, _now: str, _limits: Limits) -> Decision:
    """A second attempt is made once, and only where the agent cannot have acted: the caller knows whether a tool had
    started, the state whether a permission was granted."""
    job = state.jobs.get(command.job_id)
    if job is None or job.state not in _TRYABLE_AGAIN:
        return refuse(Code.E_JOB_NOT_RETRYABLE, f"{command.job_id} is not running.")
    if job.tried_again:
        return refuse(Code.E_JOB_NOT_RETRYABLE, f"{command.job_id} was already tried a second time.")
    if any(q.job_id == job.job_id and q.verdict == "allow" for q in state.questions.values()):
        return refuse(Code.E_JOB_NOT_RETRYABLE, f"{command.job_id} was granted a permission and may have used it.")
    return Decision((JobTriedAgain(command.job_id, command.code, command.reason),), job_id=command.job_id)


def cancel_queued_job(state: State, command: CancelQueued, _now: str, _limits: Limits) -> Decision:
    events = cancel_queued(state, command.job_id, command.person, command.reason)
    return Decision(events, job_id=command.job_id) if events else refuse(Code.E_NOTHING_TO_CANCEL)


def cancel_queued(state: State, job_id: JobId, person: str, reason: str) -> tuple[JournalEvent, ...]:
    job = state.jobs.get(job_id)
    if job is None or job.state not in _CANCELLABLE_IN_QUEUE:
        return ()
    cancelled = JobCancelled(job_id, job.session_key, person, reason)
    return (cancelled, *answer_delivery(state, job, cancelled))


def withdraw_job(state: State, command: WithdrawJob, _now: str, _limits: Limits) -> Decision:
    job = state.jobs.get(command.job_id)
    if job is None or job.state not in _WITHDRAWABLE:
        return NOTHING
    return Decision((JobWithdrawn(command.job_id, command.reason),), job_id=command.job_id)
