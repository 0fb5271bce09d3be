"""Deciding about questions: asked by an agent, answered by a person, or by nobody in time, which means no."""

from functools import partial
from typing import Final

import msgspec

from fairlead.core import message_ids, timestamps
from fairlead.core.conversation import ConversationRef
from fairlead.core.decide.budgets import decide_budget
from fairlead.core.decide.decision import NOTHING, Decision, refuse
from fairlead.core.decide.messages import has_foreign_text, is_allowed, new_job_id
from fairlead.core.decide.rules import make_rule, may_rely_on_rules, rules_to_offer
from fairlead.core.engine import Ask, PermissionRequested, PlanProposed, QuestionRequested
from fairlead.core.events import (
    AgentRequestRefused,
    ChoiceMade,
    DeliveryOwed,
    JobEnqueued,
    JournalEvent,
    QuestionAnswered,
    QuestionAsked,
    QuestionClosed,
    RuleGranted,
)
from fairlead.core.ids import JobId, QuestionId
from fairlead.core.inbound import clean_text
from fairlead.core.job_states import states_before
from fairlead.core.limits import Limits
from fairlead.core.questions import RespondToQuestion
from fairlead.core.rules import RuleSubject
from fairlead.core.state import Job, OpenQuestion, State, question_entry_id, reminder_entry_id
from fairlead.errors import Code, FairleadError

MOST_REFUSED_REQUESTS: Final = 100
"""An agent that asks in a loop must not fill the journal."""
MOST_QUOTED: Final = 300
"""Characters of a refused command that are repeated to the agent."""
_ASKABLE: Final = states_before(QuestionAsked) - {"queued"}


class AskPerson(msgspec.Struct, frozen=True):
    """`tier` is what the agent may do in its project now, in words; empty where nobody can tell. `subject` is the
    request as standing rules see it. `takes_words`: the agent hears why it is refused."""

    job_id: JobId
    ask: Ask
    tier: str = ""
    subject: RuleSubject | None = None
    takes_words: bool = True


class ExpireQuestion(msgspec.Struct, frozen=True):
    question_id: QuestionId


class RefuseAgentRequest(msgspec.Struct, frozen=True):
    """`job_id` is that of the job for which the process was started. A process may have outlived it."""

    job_id: JobId
    request: str
    program: str


class RemindOfQuestion(msgspec.Struct, frozen=True):
    """`conversation` is where the owner is to hear of the question, and `link` leads from there to it."""

    question_id: QuestionId
    conversation: ConversationRef
    link: str


class WithdrawQuestion(msgspec.Struct, frozen=True):
    job_id: JobId
    request_id: str


def narrow_rule(request: PermissionRequested) -> str:
    """What «allow for this session» covers: this very command or path of this tool, nothing wider."""
    return f"{request.tool}({request.detail})" if request.detail else request.tool


def ask_person(state: State, command: AskPerson, now: str, limits: Limits) -> Decision:
    job = state.jobs.get(command.job_id)
    if job is None or job.state not in _ASKABLE:
        return refuse(Code.E_SESSION_STATE, f"{command.job_id} is no longer running.")
    if job.state == "running" and len(state.waiting) >= limits.max_waiting:
        return refuse(Code.E_SESSION_STATE, f"{limits.max_waiting} jobs already wait for an answer.")
    question_id = QuestionId(f"q_{state.questions_made + 1}")
    asked = _build_asked_event(question_id, job, command.ask, timestamps.plus(now, limits.question_timeout_sec))
    if asked.kind == "permission":
        project = state.projects.get(job.project)
        seen = "" if project is None else project.seen_tier
        asked = msgspec.structs.replace(
            asked,
            tier=command.tier,
            tier_before="" if seen == command.tier else seen,
            offers=rules_to_offer(state, job, command.subject),
            project=job.project,
            words_go_next=not command.takes_words,
        )
    entry = DeliveryOwed(
        entry_id=question_entry_id(question_id),
        kind="question",
        session_key=job.session_key,
        requester=job.conversation,
        job_id=job.job_id,
        question_id=question_id,
    )
    return Decision((asked, entry), question_id=question_id)


def _build_asked_event(question_id: QuestionId, job: Job, ask: Ask, deadline: str) -> QuestionAsked:
    build = partial(
        QuestionAsked,
        question_id=question_id,
        job_id=job.job_id,
        session_key=job.session_key,
        request_id=ask.request_id,
        deadline=deadline,
    )
    match ask:
        case PermissionRequested():
            return build(
                kind="permission",
                title=ask.title,
                tool=ask.tool,
                detail=ask.detail,
                diff=ask.diff,
                rule=narrow_rule(ask),
                suggestions=ask.suggestions,
            )
        case QuestionRequested():
            title = ask.items[0].text if ask.items else "The agent has a question."
            return build(kind="question", title=title, items=ask.items)
        case PlanProposed():
            return build(kind="plan", title="Go ahead with this plan?", detail=ask.plan)


def respond_to_question(state: State, command: RespondToQuestion, now: str, limits: Limits) -> Decision:
    if not is_allowed(state, command.person, limits, pre_authorised=command.pre_authorised):
        return refuse(Code.E_OWNER_ONLY)
    question = state.questions.get(command.question_id)
    if question is None or question.status != "open":
        return refuse(Code.E_QUESTION_CLOSED, _why_closed(question))
    if (command.for_session or command.always) and not (command.pre_authorised or command.person == state.owner_id):
        return refuse(Code.E_OWNER_ONLY, "Only the owner can allow this for longer than once.")
    if len(command.message.encode("utf-8", "replace")) > limits.max_message_bytes:
        return refuse(Code.E_MESSAGE_TOO_LARGE)
    if question.budget_day:
        return decide_budget(state, question, command, now, limits)
    if question.kind == "question" and command.verdict == "allow":
        made = ChoiceMade(command.question_id, command.person, command.chosen, command.via)
        command = msgspec.structs.replace(command, chosen=question.chosen | command.chosen)
        if command.partial and not _has_all(question, command.chosen):
            return Decision((made,), job_id=question.job_id)
    if question.by_message:
        return _respond_by_message(state, question, command, now, limits)
    job = state.jobs.get(question.job_id)
    if job is None or not state.takes_response(question.question_id):
        return _refuse_for_gone_job(question)
    if not job.is_live:
        return _respond_by_message(state, question, command, now, limits)
    response = QuestionAnswered(
        question_id=command.question_id,
        verdict=command.verdict,
        person=command.person,
        chosen=command.chosen,
        message=command.message,
        for_session=command.for_session,
        via=command.via,
        always=command.always,
    )
    following = _follow_response(state, question, job, command, now)
    if isinstance(following, FairleadError):
        return Decision(refusal=following)
    return Decision((response, *following), job_id=question.job_id)


def _follow_response(
    state: State, question: OpenQuestion, job: Job, command: RespondToQuestion, now: str
) -> tuple[JournalEvent, ...] | FairleadError:
    """What else a response to a job that lives brings: a rule, or words that the agent gets as its next message."""
    if command.verdict == "deny":
        carried = question.words_go_next and bool(command.message.strip())
        return (_refusal_as_message(state, question, job, command, now),) if carried else ()
    if command.always:
        return make_rule(state, question, job, offer_number=command.always, person=command.person)
    if command.for_session and question.rule:
        return (RuleGranted(question.session_key, job.generation, question.rule, command.person),)
    return ()


def _refusal_as_message(
    state: State, question: OpenQuestion, job: Job, command: RespondToQuestion, now: str
) -> JobEnqueued:
    """The words of a refusal for an agent that can only be told no: the first message after the turn. It is taken even
    where the queue is full, because it belongs to a job that runs."""
    refused = f"{question.tool}: {question.detail[:MOST_QUOTED]}" if question.detail else question.tool
    return JobEnqueued(
        job_id=new_job_id(state, now),
        session_key=question.session_key,
        conversation=question.conversation,
        message_id=message_ids.response_id(question.question_id),
        person=command.person,
        prompt=f"I refused this ({refused}), because: {clean_text(command.message.strip())}",
        cause="answer",
        project=job.project,
        foreign=has_foreign_text(job),
        first=True,
    )


def _has_all(question: OpenQuestion, chosen: dict[str, str]) -> bool:
    return all(item.text in chosen for item in question.items if item.options)


def _why_closed(question: OpenQuestion | None) -> str:
    if question is None:
        return ""
    if question.status == "answered":
        return f"{question.answered_by} has already answered: {question.verdict}."
    return f"The question is closed: {question.closed_reason.replace('_', ' ')}."


def _refuse_for_gone_job(question: OpenQuestion) -> Decision:
    return refuse(
        Code.E_QUESTION_CLOSED,
        f"The job that asked, {question.job_id}, was interrupted.",
        next_step=f"Use /retry {question.job_id} to run it again.",
    )


def _respond_by_message(
    state: State, question: OpenQuestion, command: RespondToQuestion, now: str, limits: Limits
) -> Decision:
    """The agent does not wait: it ended its turn, or a crash ended its process. A response to a question is consent to
    go on, as a retry is, unless it declines to answer; a permission died with the process that asked."""
    response = QuestionAnswered(
        question_id=command.question_id,
        verdict=command.verdict,
        person=command.person,
        chosen=command.chosen,
        message=command.message,
        via=command.via,
    )
    if command.verdict == "deny":
        return Decision((response,), job_id=question.job_id)
    if len(state.sessions[question.session_key].queue) >= limits.max_queue_per_session:
        return refuse(Code.E_QUEUE_FULL)
    asked_by = state.jobs.get(question.job_id)
    enqueued = JobEnqueued(
        job_id=new_job_id(state, now),
        session_key=question.session_key,
        conversation=question.conversation,
        message_id=message_ids.response_id(question.question_id),
        person=command.person,
        prompt=question_and_response(question, command.chosen, command.message),
        cause="answer",
        project=question.project,
        foreign=asked_by is None or not may_rely_on_rules(asked_by),
    )
    return Decision((response, enqueued), job_id=enqueued.job_id)


def question_and_response(question: OpenQuestion, chosen: dict[str, str], message: str) -> str:
    when = "" if question.by_message else " before a restart"
    lines = [f"You asked this{when}. Here is the answer:"]
    for item in question.items:
        lines += (f"Question: {item.text}", f"Answer: {chosen.get(item.text, message or 'no answer')}")
    return "\n".join(lines)


def remind_of_question(state: State, command: RemindOfQuestion, _now: str, _limits: Limits) -> Decision:
    """Once, and only while somebody can still answer."""
    question = state.questions.get(command.question_id)
    if question is None or question.reminded or not state.takes_response(command.question_id):
        return NOTHING
    owed = DeliveryOwed(
        entry_id=reminder_entry_id(command.question_id),
        kind="reminder",
        session_key=question.session_key,
        requester=command.conversation,
        job_id=question.job_id,
        question_id=question.question_id,
        link=command.link,
    )
    return Decision((owed,), question_id=question.question_id)


def expire_question(state: State, command: ExpireQuestion, _now: str, _limits: Limits) -> Decision:
    question = state.questions.get(command.question_id)
    if question is None or question.status != "open":
        return NOTHING
    return Decision((QuestionClosed(command.question_id, "expired"),), job_id=question.job_id)


def withdraw_question(state: State, command: WithdrawQuestion, _now: str, _limits: Limits) -> Decision:
    closed = tuple(
        QuestionClosed(q.question_id, "withdrawn")
        for q in state.questions.values()
        if q.job_id == command.job_id and q.request_id == command.request_id and q.status == "open"
    )
    return Decision(closed)


def refuse_agent_request(state: State, command: RefuseAgentRequest, _now: str, _limits: Limits) -> Decision:
    """The fact stands with the job that the process works for now."""
    job = state.jobs.get(command.job_id)
    session = None if job is None else state.sessions.get(job.session_key)
    if job is None or session is None:
        return NOTHING
    job_id = job.job_id if job.is_live else session.running_job_id or session.agent_job_id or job.job_id
    if state.jobs[job_id].refused_requests >= MOST_REFUSED_REQUESTS:
        return NOTHING
    return Decision((AgentRequestRefused(job_id, command.request, command.program),), job_id=job_id)
