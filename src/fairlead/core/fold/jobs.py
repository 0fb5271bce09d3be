"""The rules for messages and jobs. A rule writes an attribute only where it changes: replay spends its time here."""

from typing import Final

from fairlead.core import events as e
from fairlead.core.fold.budgets import count_spending
from fairlead.core.fold.spawns import restart_count, restarts_count
from fairlead.core.ids import ConversationAddress, ResumeKey
from fairlead.core.job_states import JobState, states_before
from fairlead.core.message_outcomes import Refused, Skipped, encode_outcome
from fairlead.core.state import Job, Session, State, resume_slot
from fairlead.core.turn_reports import NO_REPORT

_AMENDABLE: Final = states_before(e.JobAmended)
_WITHDRAWABLE: Final = states_before(e.JobWithdrawn)
_STARTABLE: Final = states_before(e.JobStarted)
_TRYABLE_AGAIN: Final = states_before(e.JobTriedAgain)
_HANDABLE_OVER: Final = states_before(e.JobHandedOver)
_REQUEUABLE: Final = states_before(e.JobRequeued)
_CONTINUABLE: Final = states_before(e.JobContinued)
_COMPLETABLE: Final = states_before(e.JobCompleted)
_FAILABLE: Final = states_before(e.JobFailed)
_CANCELLABLE: Final = states_before(e.JobCancelled)
_INTERRUPTIBLE: Final = states_before(e.JobMarkedUnknownAfterCrash)


def job_enqueued(state: State, ts: str, event: e.JobEnqueued) -> None:
    job_id = event.job_id
    session = state.sessions[event.session_key]
    key = session.session_key
    at = event.conversation
    job = state.jobs[job_id] = Job(
        job_id=job_id,
        session_key=key,
        session_id=session.session_id,
        conversation=at,
        message_id=event.message_id,
        person=event.person,
        state="queued",
        prompt=event.prompt,
        enqueued_at=ts,
        prompt_blob=event.prompt_blob,
        attachments=event.attachments,
        attempt=event.attempt,
        retry_of=event.retry_of,
        cause=event.cause,
        body_digest=event.body_digest,
    )
    if event.quoted:
        job.quoted = event.quoted
    if event.project:
        job.project = event.project
    if event.foreign:
        job.foreign = True
    if event.ring != "usual":
        job.ring = event.ring
    if event.tell:
        job.tell = event.tell
    if event.steers:
        job.steers = True
        state.to_steer.append(job_id)
    state.jobs_made += 1
    if state.spawns_in_a_row and restarts_count(event):
        restart_count(state, key)
    if event.first:
        _put_first(state, session, job)
    else:
        session.queue.append(job_id)
    session.last_activity_at = ts
    state.ready[key] = 0
    state.account.received += 1
    address = f"{at.channel}/{at.account_id}/{at.conversation_id}"
    here = state.outcomes_today.get(address)  # pyright: ignore[reportArgumentType] - a NewType is a call, for every job
    if here is None:
        here = state.outcomes_today[ConversationAddress(address)] = {}
    here[event.message_id] = job_id  # the same as encode_outcome(Enqueued(job_id)), without the call


def stop_steering(state: State, job: Job) -> None:
    """The job is no longer one that shall go into the turn that runs."""
    job.steers = False
    state.to_steer.remove(job.job_id)


def _put_first(state: State, session: Session, job: Job) -> None:
    """Before everything that waits, but behind others that went first."""
    job.first = True
    others = sum(state.jobs[job_id].first for job_id in session.queue)
    session.queue.insert(others, job.job_id)


def message_refused(state: State, _ts: str, event: e.MessageRefused) -> None:
    state.account.received += 1
    state.account.refused += 1
    _remember(state, event, Refused(event.error_code))


def message_skipped(state: State, _ts: str, event: e.MessageSkipped) -> None:
    state.account.received += 1
    state.account.skipped += 1
    _remember(state, event, Skipped(event.reason))


def job_amended(state: State, _ts: str, event: e.JobAmended) -> None:
    job = state.jobs.get(event.job_id)
    if job is not None and job.state in _AMENDABLE:
        job.prompt = event.prompt
        job.prompt_blob = event.prompt_blob
        if event.prompt_blob:
            job.quoted = 0


def attachments_stored(state: State, _ts: str, event: e.AttachmentsStored) -> None:
    job = state.jobs.get(event.job_id)
    if job is not None:
        job.attachments = event.attachments


def job_withdrawn(state: State, ts: str, event: e.JobWithdrawn) -> None:
    job = state.jobs.get(event.job_id)
    if job is not None and job.state in _WITHDRAWABLE:
        end(state, ts, job, "withdrawn")
        state.account.withdrawn += 1


def job_started(state: State, ts: str, event: e.JobStarted) -> None:
    job_id = event.job_id
    job = state.jobs.get(job_id)
    if job is None or job.state not in _STARTABLE:
        return
    session = state.sessions[job.session_key]
    session.queue.remove(job_id)
    if not session.queue:
        del state.ready[session.session_key]
    if job.steers:
        stop_steering(state, job)
    state.jobs_started += 1
    session.last_started = state.jobs_started
    if job.cause == "agent":
        session.agent_job_id = job_id
    else:
        session.running_job_id = job_id
    job.state = "running"
    job.started_at = ts
    job.runtime = event.runtime
    job.project = event.project
    job.project_path = event.project_path
    if event.generation:
        job.generation = event.generation
    if event.resume_key:
        job.resume_key = event.resume_key
    if event.fork is not None:
        job.fork = event.fork
    if session.points:
        job.point_before = session.points.get(resume_slot(event.runtime, event.project_path), "")
    if event.awaits_hand_over:
        job.awaits_hand_over = True
    if session.untold_undos and job.cause != "agent":
        job.told_undos = tuple(session.untold_undos)
        session.untold_undos.clear()
    state.running.append(job_id)


def job_handed_over(state: State, _ts: str, event: e.JobHandedOver) -> None:
    job = state.jobs.get(event.job_id)
    if job is not None and job.state in _HANDABLE_OVER:
        job.awaits_hand_over = False


def job_requeued(state: State, _ts: str, event: e.JobRequeued) -> None:
    job = state.jobs.get(event.job_id)
    if job is None or job.state not in _REQUEUABLE:
        return
    session = state.sessions[job.session_key]
    state.running.remove(job.job_id)
    session.running_job_id = None
    session.queue.insert(0, job.job_id)
    state.ready[session.session_key] = 0
    job.state = "queued"
    job.started_at = None
    job.resume_key = ResumeKey("")
    job.fork = None
    job.point_before = ""
    job.awaits_hand_over = False
    if job.told_undos:
        session.untold_undos[:0] = job.told_undos
        job.told_undos = ()
    if job.tree is not None:
        job.tree = None
        state.open_trees.pop(job.job_id, None)


def job_tried_again(state: State, _ts: str, event: e.JobTriedAgain) -> None:
    job = state.jobs.get(event.job_id)
    if job is not None and job.state in _TRYABLE_AGAIN:
        job.tried_again = True


def job_continued(state: State, _ts: str, event: e.JobContinued) -> None:
    job = state.jobs.get(event.job_id)
    if job is not None and job.state in _CONTINUABLE:
        job.state = "running"
        state.waiting.remove(event.job_id)
        state.running.append(event.job_id)


def job_completed(state: State, ts: str, event: e.JobCompleted) -> None:
    job = state.jobs.get(event.job_id)
    if job is None or job.state not in _COMPLETABLE:
        return
    session = end(state, ts, job, "success")
    job.result_excerpt = event.excerpt
    job.answer = event.text
    if event.text_blob:
        job.answer_blob = event.text_blob
    if event.files:
        job.files = event.files
    state.account.answered += 1
    _spend(session, job, event.spent)
    if event.spent_on:
        count_spending(state, job, event.spent_on, event.spent)
    if session.unproven:
        _prove(session, job)
    if event.point or session.points:
        _move_point(session, job, event.point)
    if event.report != NO_REPORT:
        job.report = event.report


def job_failed(state: State, ts: str, event: e.JobFailed) -> None:
    job = state.jobs.get(event.job_id)
    if job is None or job.state not in _FAILABLE:
        return
    session = end(state, ts, job, "failed")
    job.error_code = event.error_code
    job.error_message = event.error_message
    job.answer = event.text
    state.account.failed += 1
    _spend(session, job, event.spent)
    if event.spent_on:
        count_spending(state, job, event.spent_on, event.spent)
    if event.point or session.points:
        _move_point(session, job, event.point)
    if event.report != NO_REPORT:
        job.report = event.report


def job_cancelled(state: State, ts: str, event: e.JobCancelled) -> None:
    job = state.jobs.get(event.job_id)
    if job is not None and job.state in _CANCELLABLE:
        session = end(state, ts, job, "cancelled")
        state.account.cancelled += 1
        if event.spent_on:
            _spend(session, job, event.spent)
            count_spending(state, job, event.spent_on, event.spent)
        if event.point or session.points:
            _move_point(session, job, event.point)
        if event.report != NO_REPORT:
            job.report = event.report


def job_marked_unknown(state: State, ts: str, event: e.JobMarkedUnknownAfterCrash) -> None:
    job = state.jobs.get(event.job_id)
    if job is not None and job.state in _INTERRUPTIBLE:
        session = end(state, ts, job, "unknown_after_crash")
        if session.points:
            _move_point(session, job, "")
        job.error_code = "E_UNKNOWN_AFTER_CRASH"
        state.account.unknown += 1


def end(state: State, ts: str, job: Job, how: JobState) -> Session:
    """Every end does this: the job leaves its queue or slot, and its prompt stays in the journal alone."""
    session = state.sessions[job.session_key]
    job_id = job.job_id
    before = job.state
    if before == "running":
        state.running.remove(job_id)
    elif before == "queued":
        session.queue.remove(job_id)
        if not session.queue:
            del state.ready[session.session_key]
        if job.steers:
            stop_steering(state, job)
    elif before == "steering":
        state.steering.remove(job_id)
    else:
        state.waiting.remove(job_id)
    if session.running_job_id == job_id:
        session.running_job_id = None
    elif session.agent_job_id == job_id:
        session.agent_job_id = None
    job.state = how
    job.finished_at = ts
    job.ended_on = state.lived_day
    state.jobs_ended += 1
    job.ended_number = state.jobs_ended
    job.prompt = ""
    session.last_job_id = job_id
    session.last_activity_at = ts
    session.ended.append(job_id)
    return session


def _remember(state: State, event: e.MessageRefused | e.MessageSkipped, outcome: Refused | Skipped) -> None:
    state.outcomes_today.setdefault(event.conversation.address, {})[event.message_id] = encode_outcome(outcome)


def _prove(session: Session, job: Job) -> None:
    slot = resume_slot(job.runtime or "", job.project_path)
    if job.generation == session.generation and slot in session.unproven:
        session.unproven.remove(slot)
        session.forks.pop(slot, None)


def _move_point(session: Session, job: Job, point: str) -> None:
    """A turn that does not say where it ended leaves the talk at a place that nobody can name. One that never began
    leaves it where it was."""
    if job.runtime is None or job.generation != session.generation or job.awaits_hand_over:
        return
    slot = resume_slot(job.runtime, job.project_path)
    if point:
        session.points[slot] = job.point = point
        job.point_key = session.resume_keys.get(slot, ResumeKey(""))
    else:
        session.points.pop(slot, None)


def _spend(session: Session, job: Job, spent: e.Spent) -> None:
    if spent.cost_usd:
        job.cost_usd = spent.cost_usd
        session.cost_usd += spent.cost_usd
    if spent.input_tokens or spent.output_tokens:
        job.input_tokens = spent.input_tokens
        job.output_tokens = spent.output_tokens
    session.input_tokens += spent.input_tokens
    session.output_tokens += spent.output_tokens


def agent_request_refused(state: State, _ts: str, event: e.AgentRequestRefused) -> None:
    job = state.jobs.get(event.job_id)
    if job is not None:
        job.refused_requests += 1
