"""state = fold(events): one rule per event. Depends on the events and the highest `ts` seen, never on a clock.

Rules are found in a table rather than by `match`: a replay of a million events spends its time here. `_RULES` is
checked against `EVENT_TYPES` on import, so a new event without a rule stops everything at once.
"""

from collections.abc import Callable
from typing import Any, Final

from fairlead.core import events as e
from fairlead.core.conversation import ConversationRef, SessionBindingRecord
from fairlead.core.retention import begin_day, settle, unbind
from fairlead.core.state import (
    Debt,
    Job,
    OpenQuestion,
    Person,
    Project,
    Session,
    State,
    resume_slot,
)


def apply(state: State, seq: int, ts: str, event: e.JournalEvent) -> None:
    """Take one fact into the state. Facts about what is no longer live change nothing."""
    state.seq = seq
    if ts > state.highest_ts:
        state.highest_ts = ts
        if ts >= state.next_day:
            begin_day(state, ts)
    _RULES[type(event)](state, ts, event)


# --- the house ---------------------------------------------------------------------------------------------------


def _state_founded(state: State, _ts: str, event: e.StateFounded) -> None:
    state.state_id = event.state_id


def _daemon_started(_state: State, _ts: str, _event: e.DaemonStarted) -> None:
    """Only the record that it happened."""


def _owner_set(state: State, _ts: str, event: e.OwnerSet) -> None:
    state.owner_id = event.owner_id


def _person_seen(state: State, _ts: str, event: e.PersonSeen) -> None:
    state.people.setdefault(event.person, Person()).locale = event.locale


# --- projects and sessions ---------------------------------------------------------------------------------------


def _project_created(state: State, ts: str, event: e.ProjectCreated) -> None:
    state.projects_made = max(state.projects_made, event.number)
    state.projects[event.name] = Project(
        number=event.number,
        name=event.name,
        path=event.path,
        enabled_tools=event.enabled_tools,
        default_tool=event.default_tool,
        default_args=event.default_args,
        source=event.source,
        created_at=ts,
        updated_at=ts,
    )


def _project_updated(state: State, ts: str, event: e.ProjectUpdated) -> None:
    project = state.projects.get(event.name)
    if project is None:
        return
    project.path = event.path
    project.enabled_tools = event.enabled_tools
    project.default_tool = event.default_tool
    project.default_args = event.default_args
    project.disabled = event.disabled
    project.updated_at = ts


def _project_switched(state: State, ts: str, event: e.ProjectSwitched) -> None:
    state.people.setdefault(event.person, Person()).project = event.project
    session = state.sessions.get(event.session_key)
    if session is not None:
        session.project = event.project
        session.tool = event.tool
        session.updated_at = ts


def _session_created(state: State, ts: str, event: e.SessionCreated) -> None:
    if event.session_key in state.sessions:
        return
    state.sessions[event.session_key] = Session(
        session_key=event.session_key,
        session_id=event.session_id,
        project=event.project,
        tool=event.tool,
        conversation=event.conversation,
        parent_session_key=event.parent_session_key,
        created_at=ts,
        updated_at=ts,
        last_activity_at=ts,
    )


def _tool_changed(state: State, ts: str, event: e.ToolChanged) -> None:
    session = state.sessions.get(event.session_key)
    if session is not None:
        session.tool = event.tool
        session.updated_at = ts


def _model_chosen(state: State, ts: str, event: e.ModelChosen) -> None:
    session = state.sessions.get(event.session_key)
    if session is not None:
        session.models[event.tool] = event.model
        session.updated_at = ts


def _session_reset(state: State, ts: str, event: e.SessionReset) -> None:
    session = state.sessions.get(event.session_key)
    if session is not None and event.generation > session.generation:
        session.generation = event.generation
        session.resume_keys = {}
        session.rules = []
        session.updated_at = ts


def _resume_key_learnt(state: State, ts: str, event: e.ResumeKeyLearnt) -> None:
    session = state.sessions.get(event.session_key)
    if session is not None and event.generation == session.generation:
        session.resume_keys[resume_slot(event.tool, event.project_path)] = event.key
        session.updated_at = ts


def _rule_granted(state: State, _ts: str, event: e.RuleGranted) -> None:
    session = state.sessions.get(event.session_key)
    if session is not None and event.generation == session.generation and event.rule not in session.rules:
        session.rules.append(event.rule)


# --- messages and jobs -------------------------------------------------------------------------------------------


def _job_enqueued(state: State, ts: str, event: e.JobEnqueued) -> None:
    job_id = event.job_id
    session = state.sessions[event.session_key]
    state.jobs[job_id] = Job(
        job_id,
        event.session_key,
        session.session_id,
        event.conversation,
        event.message_id,
        event.person,
        "queued",
        event.prompt,
        ts,
        event.prompt_blob,
        event.attachments,
        event.attempt,
        event.retry_of,
        event.cause,
        event.body_digest,
    )
    state.jobs_made += 1
    session.queue.append(job_id)
    session.last_activity_at = ts
    state.ready[event.session_key] = 0
    _remember(state, event.conversation, event.message_id, job_id)


def _message_refused(state: State, _ts: str, event: e.MessageRefused) -> None:
    state.account.refused += 1
    _remember(state, event.conversation, event.message_id, f"refused {event.error_code}")


def _message_skipped(state: State, _ts: str, event: e.MessageSkipped) -> None:
    state.account.skipped += 1
    _remember(state, event.conversation, event.message_id, f"skipped {event.reason}")


def _remember(state: State, conversation: ConversationRef, message_id: str, fate: str) -> None:
    state.account.received += 1
    state.keys_of_today[
        f"{conversation.channel}/{conversation.account_id}/{conversation.conversation_id}:{message_id}"
    ] = fate


def _job_amended(state: State, _ts: str, event: e.JobAmended) -> None:
    job = state.jobs.get(event.job_id)
    if job is not None and job.state == "queued":
        job.prompt = event.prompt
        job.prompt_blob = event.prompt_blob


def _attachments_stored(state: State, _ts: str, event: e.AttachmentsStored) -> None:
    job = state.jobs.get(event.job_id)
    if job is not None:
        job.attachments = event.attachments


def _job_withdrawn(state: State, ts: str, event: e.JobWithdrawn) -> None:
    job = state.jobs.get(event.job_id)
    if job is not None and job.state == "queued":
        _end(state, ts, job)
        job.state = "withdrawn"
        state.account.withdrawn += 1


def _job_started(state: State, ts: str, event: e.JobStarted) -> None:
    job = state.jobs.get(event.job_id)
    if job is None or job.state != "queued":
        return
    session = state.sessions[event.session_key]
    _leave_queue(state, session, event.job_id)
    session.last_started_seq = state.seq
    if job.cause == "agent":
        session.agent_job_id = event.job_id
    else:
        session.running_job_id = event.job_id
    job.state = "running"
    job.tool = event.tool
    job.project = event.project
    job.project_path = event.project_path
    job.generation = event.generation
    job.resume_key = event.resume_key
    job.started_at = ts
    state.running.append(event.job_id)


def _job_progress(_state: State, _ts: str, _event: e.JobProgress) -> None:
    """Only the record that it was alive."""


def _job_tried_again(state: State, _ts: str, event: e.JobTriedAgain) -> None:
    job = state.jobs.get(event.job_id)
    if job is not None:
        job.tried_again = True


def _job_continued(state: State, _ts: str, event: e.JobContinued) -> None:
    job = state.jobs.get(event.job_id)
    if job is not None and job.state == "waiting":
        job.state = "running"
        state.waiting.remove(event.job_id)
        state.running.append(event.job_id)


def _job_completed(state: State, ts: str, event: e.JobCompleted) -> None:
    job = state.jobs.get(event.job_id)
    if job is None or job.state not in {"running", "waiting"}:
        return
    session = _end(state, ts, job)
    job.state = "success"
    job.result_excerpt = event.excerpt
    job.answer = event.text
    job.answer_blob = event.text_blob
    job.files = event.files
    state.account.answered += 1
    _spend(session, job, event.spent)


def _job_failed(state: State, ts: str, event: e.JobFailed) -> None:
    job = state.jobs.get(event.job_id)
    if job is None or job.state not in {"running", "waiting"}:
        return
    session = _end(state, ts, job)
    job.state = "failed"
    job.error_code = event.error_code
    job.error_message = event.error_message
    job.answer = event.text
    state.account.failed += 1
    _spend(session, job, event.spent)


def _job_cancelled(state: State, ts: str, event: e.JobCancelled) -> None:
    job = state.jobs.get(event.job_id)
    if job is not None and job.is_live:
        _end(state, ts, job)
        job.state = "cancelled"
        state.account.cancelled += 1


def _job_marked_unknown(state: State, ts: str, event: e.JobMarkedUnknownAfterCrash) -> None:
    job = state.jobs.get(event.job_id)
    if job is not None and job.is_live:
        _end(state, ts, job)
        job.state = "unknown_after_crash"
        job.error_code = "E_UNKNOWN_AFTER_CRASH"
        state.account.unknown += 1


def _end(state: State, ts: str, job: Job) -> Session:
    """What every end has in common: it leaves queue and slot, and its prompt is in the journal if anybody asks."""
    session = state.sessions[job.session_key]
    job_id = job.job_id
    if job.state == "queued":
        _leave_queue(state, session, job_id)
    elif job.state == "running":
        state.running.remove(job_id)
    else:
        state.waiting.remove(job_id)
    if session.running_job_id == job_id:
        session.running_job_id = None
    elif session.agent_job_id == job_id:
        session.agent_job_id = None
    job.finished_at = ts
    job.prompt = ""
    session.last_job_id = job_id
    session.last_activity_at = ts
    session.ended.append(job_id)
    return session


def _leave_queue(state: State, session: Session, job_id: str) -> None:
    session.queue.remove(job_id)
    if not session.queue:
        state.ready.pop(session.session_key, None)


def _spend(session: Session, job: Job, spent: e.Spent) -> None:
    job.cost_usd = spent.cost_usd
    session.input_tokens += spent.input_tokens
    session.output_tokens += spent.output_tokens
    session.cost_usd += spent.cost_usd


# --- questions ---------------------------------------------------------------------------------------------------


def _question_asked(state: State, ts: str, event: e.QuestionAsked) -> None:
    job = state.jobs.get(event.job_id)
    if job is None or job.state not in {"running", "waiting"}:
        return
    state.questions_made += 1
    state.questions[event.question_id] = OpenQuestion(
        question_id=event.question_id,
        job_id=event.job_id,
        session_key=event.session_key,
        kind=event.kind,
        request_id=event.request_id,
        title=event.title,
        deadline=event.deadline,
        asked_at=ts,
        conversation=job.conversation,
        tool=event.tool,
        detail=event.detail,
        diff=event.diff,
        rule=event.rule,
        items=event.items,
        suggestions=event.suggestions,
    )
    if job.state == "running":
        job.state = "waiting"
        state.running.remove(event.job_id)
        state.waiting.append(event.job_id)


def _question_answered(state: State, _ts: str, event: e.QuestionAnswered) -> None:
    question = state.questions.get(event.question_id)
    if question is None:
        return
    question.status = "answered"
    question.verdict = event.verdict
    question.answered_by = event.person
    question.chosen = event.chosen
    question.message = event.message
    question.for_session = event.for_session


def _question_closed(state: State, _ts: str, event: e.QuestionClosed) -> None:
    question = state.questions.get(event.question_id)
    if question is not None and question.status == "open":
        question.status = "closed"
        question.closed_reason = event.reason


# --- bindings ----------------------------------------------------------------------------------------------------


def _binding_bound(state: State, _ts: str, event: e.BindingBound) -> None:
    state.bindings_made += 1
    state.bindings[event.binding_id] = SessionBindingRecord(
        binding_id=event.binding_id,
        target_session_key=event.target_session_key,
        target_kind=event.target_kind,
        conversation=event.conversation,
        status="active",
        bound_at=event.bound_at,
        expires_at=event.expires_at,
        ttl_ms=event.ttl_ms,
        metadata=event.metadata,
    )
    state.bound[event.conversation.address] = event.binding_id


def _binding_touched(state: State, _ts: str, event: e.BindingTouched) -> None:
    binding = state.bindings.get(event.binding_id)
    if binding is not None:
        binding.expires_at = event.expires_at


def _binding_ended(state: State, _ts: str, event: e.BindingEnded) -> None:
    unbind(state, event.binding_id)


# --- delivery ----------------------------------------------------------------------------------------------------


def _delivery_owed(state: State, ts: str, event: e.DeliveryOwed) -> None:
    state.debts[event.debt_id] = Debt(
        event.debt_id,
        event.kind,
        event.session_key,
        event.requester,
        ts,
        event.job_id,
        event.question_id,
        event.text,
        event.fail_closed,
    )


def _delivery_planned(state: State, ts: str, event: e.DeliveryPlanned) -> None:
    debt = state.debts.get(event.debt_id)
    if debt is not None and debt.plan is None:
        debt.plan = event
        debt.planned_at = ts


def _piece_delivered(state: State, _ts: str, event: e.PieceDelivered) -> None:
    debt = state.debts.get(event.debt_id)
    if debt is None or debt.plan is None:
        return
    debt.paid[str(event.index)] = event.message_id
    debt.attempts = 0
    if len(debt.paid) == len(debt.plan.pieces):
        settle(state, debt)


def _delivery_deferred(state: State, _ts: str, event: e.DeliveryDeferred) -> None:
    debt = state.debts.get(event.debt_id)
    if debt is not None:
        debt.attempts = event.attempts
        debt.due = event.due
        debt.last_error = event.error_code


def _delivery_acknowledged(state: State, _ts: str, event: e.DeliveryAcknowledged) -> None:
    debt = state.debts.get(event.debt_id)
    if debt is not None:
        settle(state, debt)


def _delivery_abandoned(state: State, _ts: str, event: e.DeliveryAbandoned) -> None:
    debt = state.debts.get(event.debt_id)
    if debt is not None:
        settle(state, debt)


_Rule = Callable[[State, str, Any], None]
_RULES: Final[dict[type[e.JournalEvent], _Rule]] = {
    e.StateFounded: _state_founded,
    e.DaemonStarted: _daemon_started,
    e.OwnerSet: _owner_set,
    e.PersonSeen: _person_seen,
    e.ProjectCreated: _project_created,
    e.ProjectUpdated: _project_updated,
    e.ProjectSwitched: _project_switched,
    e.SessionCreated: _session_created,
    e.ToolChanged: _tool_changed,
    e.ModelChosen: _model_chosen,
    e.SessionReset: _session_reset,
    e.ResumeKeyLearnt: _resume_key_learnt,
    e.RuleGranted: _rule_granted,
    e.JobEnqueued: _job_enqueued,
    e.MessageRefused: _message_refused,
    e.MessageSkipped: _message_skipped,
    e.JobAmended: _job_amended,
    e.AttachmentsStored: _attachments_stored,
    e.JobWithdrawn: _job_withdrawn,
    e.JobStarted: _job_started,
    e.JobProgress: _job_progress,
    e.JobTriedAgain: _job_tried_again,
    e.JobContinued: _job_continued,
    e.JobCompleted: _job_completed,
    e.JobFailed: _job_failed,
    e.JobCancelled: _job_cancelled,
    e.JobMarkedUnknownAfterCrash: _job_marked_unknown,
    e.QuestionAsked: _question_asked,
    e.QuestionAnswered: _question_answered,
    e.QuestionClosed: _question_closed,
    e.BindingBound: _binding_bound,
    e.BindingTouched: _binding_touched,
    e.BindingEnded: _binding_ended,
    e.DeliveryOwed: _delivery_owed,
    e.DeliveryPlanned: _delivery_planned,
    e.PieceDelivered: _piece_delivered,
    e.DeliveryDeferred: _delivery_deferred,
    e.DeliveryAcknowledged: _delivery_acknowledged,
    e.DeliveryAbandoned: _delivery_abandoned,
}
assert set(_RULES) == set(e.EVENT_TYPES), "every journal event needs a rule"
