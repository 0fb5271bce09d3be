"""Deciding about calls of Fairlead's own tools: what an agent sends, asks and names by itself.

Every call belongs to one session and generation, which the capability names and the agent cannot choose. A call that
is repeated with the same id is done once.
"""

from typing import Final

import msgspec

from fairlead.core import timestamps
from fairlead.core.decide.decision import Decision, refuse
from fairlead.core.decide.sessions import TitleSession, title_session
from fairlead.core.engine import AskedItem
from fairlead.core.events import AgentToolCalled, DeliveryOwed, FileRef, JournalEvent, QuestionAsked
from fairlead.core.ids import JobId, QuestionId, SessionKeyText
from fairlead.core.limits import Limits
from fairlead.core.state import Job, Session, State, question_entry_id, sent_entry_id
from fairlead.errors import Code

MOST_OPEN_QUESTIONS: Final = 5
"""Of one session that wait for a response by message: an agent in a loop must not bury its person in questions."""
QUESTION_DAYS: Final = 7
"""How long such a question can be answered: as long as `retention` keeps it."""
MAX_DETAIL: Final = 120


class AgentCall(msgspec.Struct, frozen=True, kw_only=True):
    """Who calls, and which call it is."""

    call_id: str
    session_key: SessionKeyText
    generation: int
    tool: str


class SendForAgent(msgspec.Struct, frozen=True, kw_only=True):
    call: AgentCall
    text: str = ""
    files: tuple[FileRef, ...] = ()


class AskForAgent(msgspec.Struct, frozen=True, kw_only=True):
    call: AgentCall
    item: AskedItem


class TitleForAgent(msgspec.Struct, frozen=True, kw_only=True):
    call: AgentCall
    title: str


class NoteAgentCall(msgspec.Struct, frozen=True, kw_only=True):
    """A call that was carried out by another decision, which knows it by its id."""

    call: AgentCall
    about: str


def note_agent_call(state: State, command: NoteAgentCall, _now: str, _limits: Limits) -> Decision:
    caller = find_caller(state, command.call)
    if isinstance(caller, Decision):
        return caller
    return Decision((make_call_fact(command.call, caller, command.about),), job_id=caller.job_id)


def send_for_agent(state: State, command: SendForAgent, _now: str, _limits: Limits) -> Decision:
    caller = find_caller(state, command.call)
    if isinstance(caller, Decision):
        return caller
    entry = DeliveryOwed(
        entry_id=sent_entry_id(state.agent_calls_made + 1),
        kind="sent",
        session_key=caller.session_key,
        requester=caller.conversation,
        job_id=caller.job_id,
        text=command.text,
        files=command.files,
    )
    about = ", ".join(file.name for file in command.files) or command.text
    return Decision((make_call_fact(command.call, caller, about), entry), entry_id=entry.entry_id, job_id=caller.job_id)


def ask_for_agent(state: State, command: AskForAgent, now: str, _limits: Limits) -> Decision:
    caller = find_caller(state, command.call)
    if isinstance(caller, Decision):
        return caller
    waiting = [q for q in state.open_questions() if q.by_message and q.session_key == caller.session_key]
    if len(waiting) >= MOST_OPEN_QUESTIONS:
        return refuse(Code.E_SESSION_STATE, f"{len(waiting)} questions of this session already wait for an answer.")
    question_id = QuestionId(f"q_{state.questions_made + 1}")
    asked = QuestionAsked(
        question_id=question_id,
        job_id=caller.job_id,
        session_key=caller.session_key,
        request_id=command.call.call_id,
        kind="question",
        title=command.item.text,
        items=(command.item,),
        deadline=timestamps.plus(now, QUESTION_DAYS * 86400),
        project=caller.project,
        by_message=True,
    )
    entry = DeliveryOwed(
        entry_id=question_entry_id(question_id),
        kind="question",
        session_key=caller.session_key,
        requester=caller.conversation,
        job_id=caller.job_id,
        question_id=question_id,
    )
    events = (make_call_fact(command.call, caller, command.item.text), asked, entry)
    return Decision(events, question_id=question_id, job_id=caller.job_id)


def title_for_agent(state: State, command: TitleForAgent, now: str, limits: Limits) -> Decision:
    """A title that changes nothing, because a person gave another, is a call all the same."""
    caller = find_caller(state, command.call)
    if isinstance(caller, Decision):
        return caller
    titled = title_session(state, TitleSession(caller.session_key, command.title, "agent"), now, limits)
    return Decision((make_call_fact(command.call, caller, command.title), *titled.events), job_id=caller.job_id)


def find_caller(state: State, call: AgentCall) -> Job | Decision:
    """The job for which the agent calls: the one that runs, or the last one; the decision to refuse or to repeat
    nothing where there is none. Where the words go follows from the job, never from the call."""
    session = state.sessions.get(call.session_key)
    if session is None or session.generation != call.generation:
        return refuse(Code.E_SESSION_STATE, "This session was reset, or is gone: its agent may not speak for it.")
    if call.call_id in session.calls:
        return Decision(duplicate=True)
    job = _job_of(state, session)
    return job if job is not None else refuse(Code.E_SESSION_STATE, "No job of this session has run yet.")


def _job_of(state: State, session: Session) -> Job | None:
    for job_id in (session.running_job_id, session.agent_job_id, session.last_job_id):
        job = state.jobs.get(job_id or JobId(""))
        if job is not None:
            return job
    return None


def find_person(state: State, job: Job) -> str:
    """The person for whom the agent works: in a turn that it began by itself, the one who was last worked for. Empty
    where the state has forgotten who that was."""
    session = state.sessions[job.session_key]
    jobs = (job, *(state.jobs[job_id] for job_id in reversed(session.ended) if job_id in state.jobs))
    return next((job.person for job in jobs if job.person), "")


def make_call_fact(call: AgentCall, job: Job, about: str) -> JournalEvent:
    return AgentToolCalled(
        call_id=call.call_id,
        session_key=call.session_key,
        generation=call.generation,
        job_id=job.job_id,
        tool=call.tool,
        detail=about[:MAX_DETAIL],
    )
