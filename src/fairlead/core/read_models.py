"""The read models of `core/views.py`, made from the state. Pure: a view is what the state said when it was made."""

from typing import Final

from fairlead.core.agents import ConfiguredAgent
from fairlead.core.conversation import ConversationRef
from fairlead.core.ids import ConversationAddress
from fairlead.core.job_places import machine_of_job
from fairlead.core.machines.offers import AgentOffer
from fairlead.core.machines.places import machine_of_name, own_name
from fairlead.core.message_ids import written_message
from fairlead.core.message_outcomes import Refused, decode_outcome
from fairlead.core.questions import QuestionFields
from fairlead.core.replies import TurnsUndone
from fairlead.core.retention import highest_rising, is_rising
from fairlead.core.state import Job, OpenQuestion, OutboxEntry, Project, Session, State, UndoRecord, answer_entry_id
from fairlead.core.views import Counts, JobView, ProjectView, QuestionView, RefusedMessage, SentView, SessionView

_OUTCOMES: Final = ("answered", "failed", "cancelled", "unknown", "withdrawn", "steered", "refused", "skipped")


def job_view(state: State, job: Job, *, prompt: str = "", answer: str = "") -> JobView:
    return JobView(
        job_id=job.job_id,
        session_key=job.session_key,
        state=job.state,
        attempt=job.attempt,
        enqueued_at=job.enqueued_at,
        runtime=job.runtime or "",
        prompt=prompt,
        started_at=job.started_at,
        finished_at=job.finished_at,
        answer=answer,
        cost_usd=job.cost_usd,
        project=job.project,
        machine=machine_of_job(state, job),
        changed=job.tree.changed if job.tree is not None else None,
        report=job.report,
        input_tokens=job.input_tokens,
        output_tokens=job.output_tokens,
        steered_into=job.steered_into,
        conversation=job.conversation,
        message_id=job.message_id,
        person=job.person,
        attachments=job.attachments,
        error_code=job.error_code,
        error_message=job.error_message,
        files=job.files,
        body_digest=job.body_digest,
        answer_owed=answer_entry_id(job.job_id) in state.outbox,
        answer_given_up=job.given_up,
        cause=job.cause,
        retry_of=job.retry_of,
        has_snapshot=job.tree is not None and job.tree.start is not None,
        is_undone=job.tree is not None and bool(job.tree.undone_by),
    )


def question_view(state: State, question: OpenQuestion) -> QuestionView:
    job = state.jobs.get(question.job_id)
    return QuestionView(
        **{name: getattr(question, name) for name in QuestionFields.__struct_fields__},
        status=question.status,
        outcome=question.verdict or question.closed_reason,
        answered_by=question.answered_by,
        chosen=question.chosen,
        message=question.message,
        rule_made=question.rule_made,
        job_is_live=job is not None and job.is_live,
        takes_responses=state.takes_response(question.question_id),
        asked_at=question.asked_at,
        reminded=question.reminded,
        machine=_machine_of_question(state, question, job),
    )


def _machine_of_question(state: State, question: OpenQuestion, job: Job | None) -> str:
    """Also for one whose job is gone from the state: then its session says it."""
    if job is not None:
        return machine_of_job(state, job)
    session = state.sessions.get(question.session_key)
    return "" if session is None else machine_of_name(session.project)


def find_added_agent(state: State, runtime: str) -> ConfiguredAgent | AgentOffer | None:
    """What is known of an agent that a person added, here or on the machine in its name; None if there is none."""
    machine = state.machines.get(machine_of_name(runtime))
    if machine is None:
        return state.agents.get(runtime)
    return next((offer for offer in machine.agents if offer.name == own_name(runtime)), None)


def undo_reply(undo: UndoRecord) -> TurnsUndone:
    return TurnsUndone(
        undo_id=undo.undo_id,
        job_ids=undo.job_ids,
        what=undo.what,
        files=undo.files.files,
        total=undo.files.total,
        left=undo.left,
        is_redo=bool(undo.redo_of),
        is_set_back=undo.is_set_back,
    )


def sent_view(entry: OutboxEntry) -> SentView:
    return SentView(
        sent_id=entry.entry_id,
        job_id=entry.job_id,
        session_key=entry.session_key,
        sent_at=entry.owed_at,
        text=entry.text,
        files=entry.files,
    )


def session_view(session: Session, awaited_machine: str = "", awaited_since: str = "") -> SessionView:
    return SessionView(
        session_key=session.session_key,
        session_id=session.session_id,
        project=session.project,
        runtime=session.runtime,
        queue=tuple(session.queue),
        running_job_id=session.running_job_id,
        title=session.title,
        titled_by=session.titled_by,
        title_before=session.title_before,
        handed_off=session.hand_off is not None,
        awaited_machine=awaited_machine,
        awaited_since=awaited_since,
    )


def project_view(project: Project) -> ProjectView:
    return ProjectView(number=project.number, name=project.name, disabled=project.disabled)


def last_message_seen(state: State, conversation: ConversationRef) -> int | None:
    """The newest message that left a fact, or the id at and below which nothing is taken any more; None if no message
    of this conversation has a number."""
    address = conversation.address
    days = (state.outcomes_today, *state.outcomes_by_day.values())
    seen = max(state.dedupe_floors.get(address, -1), *(highest_rising(day.get(address, ())) for day in days))
    return None if seen < 0 else seen


def refused_lately(state: State, channel: str, most: int) -> list[RefusedMessage]:
    """The refused messages with the highest numbers, oldest first: of those a channel may have told nobody, because the
    process ended between the fact and the words. Where messages have no rising numbers, none."""
    found = [
        RefusedMessage(conversation=_conversation_at(address), message_id=message_id, code=outcome.code)
        for outcomes in (state.outcomes_today, *state.outcomes_by_day.values())
        for address, here in outcomes.items()
        if address.startswith(f"{channel}/")
        for message_id, stored in here.items()
        if is_rising(written_message(message_id) or "") and isinstance(outcome := decode_outcome(stored), Refused)
    ]
    return sorted(found, key=lambda m: int(written_message(m.message_id) or 0))[-most:]


def _conversation_at(address: ConversationAddress) -> ConversationRef:
    channel, account_id, conversation_id = address.split("/", 2)
    return ConversationRef(channel, account_id, conversation_id)


def queued_jobs(state: State) -> list[Job]:
    return [state.jobs[job_id] for key in state.ready for job_id in state.sessions[key].queue]


def counts(state: State) -> Counts:
    return Counts(
        seq=state.seq,
        received=state.account.received,
        settled={name: getattr(state.account, name) for name in _OUTCOMES},
        live_jobs=state.live_counts(),
        queued={s.session_key: len(s.queue) for s in state.sessions.values() if s.queue},
        sessions=len(state.sessions),
        open_questions=len(state.open_questions()),
        outbox_entries=len(state.outbox),
        cost_usd=sum(s.cost_usd for s in state.sessions.values()),
    )
