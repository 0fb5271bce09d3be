"""Deciding about messages: seen before? allowed? understood? which session? is its queue full?

Every message of an allowed person leaves exactly one fact with its dedupe key (enqueued, refused or skipped);
a stranger's leaves none, and neither does an event from outside that is refused.
"""

from typing import Final

import msgspec

from fairlead.core import job_names, message_ids
from fairlead.core.decide.decision import NOTHING, Decision
from fairlead.core.decide.enabled_agents import find_agent_problem
from fairlead.core.decide.projects import project_to_work_in, runtime_to_keep
from fairlead.core.decide.sessions import binding_events
from fairlead.core.events import (
    AttachmentsStored,
    JobAmended,
    JobEnqueued,
    JournalEvent,
    MessageRefused,
    MessageSkipped,
    ProjectSwitched,
    QuestionClosed,
    SessionCreated,
    SteeringDeclined,
    ToolChanged,
)
from fairlead.core.ids import BlobName, JobId
from fairlead.core.inbound import Attachment, Cause, Inbound, clean_text
from fairlead.core.job_states import states_before
from fairlead.core.limits import Limits
from fairlead.core.message_outcomes import Enqueued, Refused, Skipped
from fairlead.core.retention import is_rising
from fairlead.core.state import Job, Project, Session, State
from fairlead.core.worktree_plans import plan_by_default
from fairlead.errors import Code, FairleadError, error

_FOLLOW_UPS: Final[frozenset[Cause]] = frozenset({"child"})
"""Automatic follow-ups: for one session, whatever waits there, and without images (requirement E10). Their number is
limited where they are asked for."""

_AMENDABLE: Final = states_before(JobAmended)


class Submit(msgspec.Struct, frozen=True):
    """`prompt_blob` holds the text where it is too long for a line of the journal."""

    inbound: Inbound
    prompt_blob: BlobName = BlobName("")


class SkipMessage(msgspec.Struct, frozen=True):
    inbound: Inbound
    reason: str


class AmendJob(msgspec.Struct, frozen=True):
    """`text` is the person's own words; `prompt_blob`, where there is one, holds the whole prompt."""

    job_id: JobId
    text: str
    prompt_blob: BlobName = BlobName("")


class StoreAttachments(msgspec.Struct, frozen=True):
    job_id: JobId
    attachments: tuple[Attachment, ...]


class RetryJob(msgspec.Struct, frozen=True):
    """`original` may come from the journal: the state forgets old jobs and all their texts. `prompt` is what it began
    with, where that is in a blob the quotation alone."""

    original: Job
    prompt: str
    person: str
    attachments: tuple[Attachment, ...] = ()


def is_allowed(state: State, person: str, limits: Limits, *, pre_authorised: bool) -> bool:
    return pre_authorised or (bool(state.owner_id) and person == state.owner_id) or person in limits.allowed_people


def submit(state: State, command: Submit, now: str, limits: Limits) -> Decision:
    inbound = command.inbound
    if not is_allowed(state, inbound.person, limits, pre_authorised=inbound.pre_authorised):
        return Decision(refusal=error(Code.E_OWNER_ONLY))
    seen = _decide_duplicate(state, inbound)
    if seen is not None:
        return seen
    session = _session_of(state, inbound, now)
    problem = _message_problem(inbound, limits)
    if session is None and inbound.cause in _FOLLOW_UPS:
        problem = error(Code.E_SESSION_NOT_FOUND)
    if problem is not None:
        return _refuse(inbound, problem)
    project = project_to_work_in(state, session=session, person=inbound.person, asked_for=inbound.project)
    if isinstance(project, FairleadError):
        return _refuse(inbound, project)
    problem = _session_problem(state, session, project, inbound, limits)
    if problem is not None:
        return _refuse(inbound, problem)
    before = _preparing_events(state, session, project, inbound, now)
    before += _default_worktree(state, session, project, command, now=now, limits=limits)
    key = session.session_key if session is not None else inbound.session_key.text
    job = JobEnqueued(
        job_id=new_job_id(state, now),
        session_key=key,
        conversation=inbound.conversation,
        message_id=inbound.message_id,
        person=inbound.person,
        prompt=_quotation(inbound) if command.prompt_blob else prompt_of(inbound),
        prompt_blob=command.prompt_blob,
        attachments=() if inbound.cause in _FOLLOW_UPS else inbound.attachments,
        cause=inbound.cause,
        body_digest=inbound.body_digest,
        quoted=0 if command.prompt_blob else len(_quotation(inbound)),
        foreign=inbound.foreign or bool(inbound.quote),
        project=project.name if inbound.project is not None else "",
        ring=inbound.ring,
        tell=inbound.tell,
        steers=bool(inbound.steers),
    )
    has_turn = session is not None and session.running_job_id is not None
    if job.steers and not has_turn:
        declined = SteeringDeclined(job_id=job.job_id, session_key=key, reason="no_turn")
        return Decision((*before, job, declined), job_id=job.job_id)
    return Decision((*before, job), job_id=job.job_id)


def _session_of(state: State, inbound: Inbound, now: str) -> Session | None:
    if inbound.own_session:
        return state.sessions.get(inbound.session_key.text)
    return state.session_for(inbound.conversation, inbound.session_key, now)


def prompt_of(inbound: Inbound) -> str:
    """The person's words, with the text that they quote before them, marked as a quotation."""
    return _quotation(inbound) + clean_text(inbound.text)


def _quotation(inbound: Inbound) -> str:
    if not inbound.quote:
        return ""
    quoted = "\n".join(f"> {line}" for line in clean_text(inbound.quote).splitlines())
    return f"{quoted}\n\n"


def quotation_of(job: Job) -> str:
    """The quotation before the person's own words."""
    return quotation_in(job.prompt, job)


def quotation_in(prompt: str, job: Job) -> str:
    """The same for a job whose state no longer has the prompt. For one whose prompt is in a blob, `prompt` is it."""
    return prompt if job.prompt_blob else prompt[: job.quoted]


def has_foreign_text(job: Job) -> bool:
    """Whether the agent may now follow words that are not those of the person who asks: then what a person allowed
    beforehand does not hold."""
    return job.foreign or job.quoted > 0 or bool(quotation_of(job))


def new_job_id(state: State, now: str) -> JobId:
    return JobId(f"job_{now[:10].replace('-', '')}_{state.jobs_made + 1:04d}")


def _decide_duplicate(state: State, inbound: Inbound) -> Decision | None:
    match state.outcome_of(inbound.conversation, inbound.message_id):
        case None:
            floor = state.dedupe_floors.get(inbound.conversation.address, -1)
            below = is_rising(inbound.message_id) and int(inbound.message_id) <= floor
            if below:
                return Decision(duplicate=True)
            # Only a client's key has a digest: it stands for one request, and another person's is another request.
            is_anothers = inbound.body_digest and state.is_taken_elsewhere(inbound.conversation, inbound.message_id)
            return Decision(refusal=error(Code.E_IDEMPOTENCY_MISMATCH)) if is_anothers else None
        case Refused(code):
            return Decision(refusal=error(Code(code)), duplicate=True)
        case Skipped():
            return Decision(duplicate=True)
        case Enqueued(job_id):
            job = state.jobs.get(job_id)
            is_other_body = job is not None and inbound.body_digest not in {"", job.body_digest}
            mismatch = error(Code.E_IDEMPOTENCY_MISMATCH) if is_other_body else None
            return Decision(refusal=mismatch, job_id=job_id, duplicate=True)


def _message_problem(inbound: Inbound, limits: Limits) -> FairleadError | None:
    if not inbound.text.strip() and not inbound.attachments:
        return error(Code.E_EMPTY_MESSAGE)
    size = len(inbound.text.encode("utf-8", "replace"))
    if size > limits.max_message_bytes:
        return error(
            Code.E_MESSAGE_TOO_LARGE,
            f"The message has {size:,} bytes; the limit is {limits.max_message_bytes:,}.",
        )
    if len(inbound.attachments) > limits.max_attachments:
        return error(Code.E_INVALID_ARGS, f"A message may have at most {limits.max_attachments} attachments.")
    return None


def _session_problem(
    state: State, session: Session | None, project: Project, inbound: Inbound, limits: Limits
) -> FairleadError | None:
    stays = session is not None and session.project == project.name
    runtime = inbound.runtime or (session.runtime if session is not None and stays else project.default_runtime)
    problem = find_agent_problem(state, runtime, project)
    if problem is not None:
        return problem
    has_room = session is None or len(session.queue) < limits.max_queue_per_session
    if session is not None and not has_room and inbound.cause not in _FOLLOW_UPS:
        return error(Code.E_QUEUE_FULL, f"{len(session.queue)} messages are already waiting in this session.")
    return None


def _preparing_events(
    state: State, session: Session | None, project: Project, inbound: Inbound, now: str
) -> tuple[JournalEvent, ...]:
    """The facts that must precede the job: the session, its binding, its project and its tool."""
    key = session.session_key if session is not None else inbound.session_key.text
    events: list[JournalEvent] = []
    runtime = inbound.runtime or runtime_to_keep(session, project)
    if session is None:
        events.append(
            SessionCreated(
                session_key=key,
                session_id=inbound.session_key.session_id,
                project=project.name,
                runtime=runtime,
                conversation=inbound.conversation,
                person=inbound.person,
                parent_session_key=inbound.parent_session_key,
            )
        )
    if not inbound.own_session and state.session_at(inbound.conversation, now) is None:
        events += binding_events(state, key, inbound.conversation, now)
    if inbound.project is not None and (session is None or session.project != project.name):
        events.append(ProjectSwitched(key, inbound.person, project.name, runtime))
    elif session is not None and session.runtime != runtime:
        events.append(ToolChanged(key, runtime))
    return tuple(events)


def _default_worktree(
    state: State, session: Session | None, project: Project, command: Submit, *, now: str, limits: Limits
) -> tuple[JournalEvent, ...]:
    """The sessions of schedules and hooks have none by default: they report on the project as it is now."""
    inbound = command.inbound
    is_there = session is not None and session.project == project.name
    if is_there or inbound.own_session:
        return ()
    key = inbound.session_key.text if session is None else session.session_key
    title = session.title if session is not None else next(iter(clean_text(inbound.text).strip().splitlines()), "")
    return plan_by_default(
        state, session_key=key, project=project, person=inbound.person, title=title, now=now, limits=limits
    )


def _refuse(inbound: Inbound, problem: FairleadError) -> Decision:
    if inbound.cause == "hook":
        # No person waits for it: its sender is told, and may send it again until there is room.
        return Decision(refusal=problem)
    event = MessageRefused(
        conversation=inbound.conversation,
        message_id=inbound.message_id,
        person=inbound.person,
        error_code=problem.code,
        body_digest=inbound.body_digest,
    )
    return Decision((event,), refusal=problem)


def skip_message(state: State, command: SkipMessage, _now: str, limits: Limits) -> Decision:
    inbound = command.inbound
    if not is_allowed(state, inbound.person, limits, pre_authorised=inbound.pre_authorised):
        return Decision(refusal=error(Code.E_OWNER_ONLY))
    seen = _decide_duplicate(state, inbound)
    if seen is not None:
        return seen
    return Decision((MessageSkipped(inbound.conversation, inbound.message_id, inbound.person, command.reason),))


def amend_job(state: State, command: AmendJob, _now: str, limits: Limits) -> Decision:
    """Only the person's own words change: what they quoted stays before them."""
    job = state.jobs.get(command.job_id)
    if job is None or job.state not in _AMENDABLE or not command.text.strip():
        return NOTHING
    if len(command.text.encode("utf-8", "replace")) > limits.max_message_bytes:
        return Decision(refusal=error(Code.E_MESSAGE_TOO_LARGE))
    quotation = quotation_of(job)
    prompt = quotation if command.prompt_blob else quotation + clean_text(command.text)
    if (prompt, command.prompt_blob) == (job.prompt, job.prompt_blob):
        return NOTHING
    return Decision((JobAmended(job.job_id, prompt, command.prompt_blob),), job_id=job.job_id)


def store_attachments(state: State, command: StoreAttachments, _now: str, _limits: Limits) -> Decision:
    job = state.jobs.get(command.job_id)
    if job is None or not job.is_live or job.attachments == command.attachments:
        return NOTHING
    return Decision((AttachmentsStored(command.job_id, command.attachments),))


def retry_job(state: State, command: RetryJob, now: str, limits: Limits) -> Decision:
    original = command.original
    problem = _retry_problem(state, original, limits)
    if problem is not None:
        return Decision(refusal=problem)
    job = JobEnqueued(
        job_id=new_job_id(state, now),
        session_key=original.session_key,
        conversation=original.conversation,
        message_id=message_ids.retry_id(original.job_id),
        person=command.person,
        prompt=command.prompt,
        prompt_blob=original.prompt_blob,
        attachments=command.attachments or original.attachments,
        attempt=original.attempt + 1,
        retry_of=original.job_id,
        cause="retry",
        quoted=original.quoted,
        project=original.project if state.project_named(original.project) is not None else "",
        foreign=has_foreign_text(original),
    )
    return Decision((job, *_close_stale_questions(state, original.job_id)), job_id=job.job_id)


def _retry_problem(state: State, original: Job, limits: Limits) -> FairleadError | None:
    job_id = original.job_id
    if original.cause == "agent":
        message = f"The agent started {job_names.short_name(job_id)} by itself, so there is no prompt to send again."
        return error(Code.E_JOB_NOT_RETRYABLE, message)
    if not original.is_retryable:
        return error(Code.E_JOB_NOT_RETRYABLE, f"{job_names.short_name(job_id)} is {original.state}, not failed.")
    retried = state.outcome_of(original.conversation, message_ids.retry_id(job_id))
    if isinstance(retried, Enqueued):
        return error(
            Code.E_JOB_NOT_RETRYABLE,
            f"{job_names.short_name(job_id)} has already been tried again, as {job_names.short_name(retried.job_id)}.",
            # The id, because the number of a job that the state has forgotten names nothing.
            next_step=f"If that failed too, use /retry {retried.job_id}.",
        )
    session = state.sessions.get(original.session_key)
    if session is None:
        return error(Code.E_SESSION_NOT_FOUND)
    return error(Code.E_QUEUE_FULL) if len(session.queue) >= limits.max_queue_per_session else None


def _close_stale_questions(state: State, job_id: JobId) -> tuple[JournalEvent, ...]:
    """The new attempt asks for itself: a late click on the old question must not begin a third."""
    return tuple(
        QuestionClosed(q.question_id, "withdrawn")
        for q in state.questions.values()
        if q.job_id == job_id and q.status == "open"
    )
