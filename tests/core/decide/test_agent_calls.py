"""What an agent sends, asks and names by itself: decided for its own session, once."""

import pytest

from fairlead.core.decide.agent_calls import (
    MOST_OPEN_QUESTIONS,
    AgentCall,
    AskForAgent,
    SendForAgent,
    TitleForAgent,
)
from fairlead.core.decide.sessions import ResetSession, TitleSession
from fairlead.core.engine import AskedItem, Option
from fairlead.core.events import FileRef
from fairlead.core.fold.agent_calls import KEPT_CALLS
from fairlead.core.questions import RespondToQuestion
from fairlead.core.state import as_data
from fairlead.errors import Code
from tests.core.harness import OWNER, CoreHarness, conversation_ref, folded, key_of, thread

COLOURS = AskedItem("Which colour?", (Option("red"), Option("blue")))


def call(call_id: str = "c1", *, generation: int = 0, tool: str = "send_message", key: str = "") -> AgentCall:
    return AgentCall(call_id=call_id, session_key=key or str(key_of()), generation=generation, tool=tool)


@pytest.fixture
def core() -> CoreHarness:
    """A session whose first job runs."""
    core = CoreHarness()
    core.say()
    core.start()
    return core


def ask(core: CoreHarness, call_id: str = "c1", item: AskedItem = COLOURS) -> str:
    return core.do(AskForAgent(call=call(call_id, tool="ask_user"), item=item)).question_id


def respond(question_id: str, **more: object) -> RespondToQuestion:
    return RespondToQuestion(question_id=question_id, person=OWNER, **({"verdict": "allow"} | more))  # type: ignore[arg-type]


@pytest.mark.req("D4")
def test_what_an_agent_sends_goes_where_its_job_came_from(core: CoreHarness):
    entry_id = core.do(SendForAgent(call=call(), text="half done", files=(FileRef("a.png", "b" * 64),))).entry_id
    entry = core.state.outbox[entry_id]
    assert (entry.kind, entry.text, entry.requester) == ("sent", "half done", conversation_ref())
    assert entry.files == (FileRef("a.png", "b" * 64),)
    assert core.types()[-2:] == ["AgentToolCalled", "DeliveryOwed"]


def test_the_same_call_is_done_once_however_often_it_is_sent(core: CoreHarness):
    core.do(SendForAgent(call=call(), text="once"))
    again = core.do(SendForAgent(call=call(), text="once"))
    assert again.duplicate
    assert not again.events
    assert len([e for e in core.state.outbox.values() if e.kind == "sent"]) == 1


def test_only_the_latest_calls_are_remembered(core: CoreHarness):
    for number in range(KEPT_CALLS + 5):
        core.do(SendForAgent(call=call(f"c{number}"), text="x"))
    assert len(core.session().calls) == KEPT_CALLS
    assert core.state.agent_calls_made == KEPT_CALLS + 5


def test_an_agent_of_a_session_that_was_reset_speaks_for_nobody(core: CoreHarness):
    core.do(ResetSession(key_of().text, OWNER))
    assert core.refuses(SendForAgent(call=call(), text="still there")) == Code.E_SESSION_STATE
    assert core.refuses(AskForAgent(call=call(), item=COLOURS)) == Code.E_SESSION_STATE
    assert core.refuses(TitleForAgent(call=call(), title="mine")) == Code.E_SESSION_STATE


def test_an_agent_of_no_session_and_of_one_without_a_job_is_refused(core: CoreHarness):
    core.start_thread("empty")
    assert core.refuses(SendForAgent(call=call(key="agent:fairlead:user:nobody"), text="x")) == Code.E_SESSION_STATE
    assert core.refuses(SendForAgent(call=call(key=str(thread("empty"))), text="x")) == Code.E_SESSION_STATE


@pytest.mark.req("D4")
def test_a_question_holds_neither_its_job_nor_a_slot(core: CoreHarness):
    [job_id] = core.state.running
    question_id = ask(core)
    assert core.job(job_id).state == "running"
    core.complete(job_id)
    assert core.state.questions[question_id].status == "open"
    assert core.state.takes_response(question_id)
    assert not core.state.waiting


@pytest.mark.req("D4")
def test_the_answer_is_an_ordinary_message_into_the_session(core: CoreHarness):
    [job_id] = core.state.running
    question_id = ask(core)
    core.complete(job_id)
    answered = core.do(respond(question_id, chosen={"Which colour?": "blue"}))
    job = core.job(answered.job_id)
    assert (job.cause, job.message_id, job.state) == ("answer", f"answer-{question_id}", "queued")
    assert "Answer: blue" in job.prompt
    assert core.refuses(respond(question_id)) == Code.E_QUESTION_CLOSED


def test_it_may_be_answered_while_its_job_still_runs(core: CoreHarness):
    question_id = ask(core)
    answered = core.do(respond(question_id, message="purple"))
    assert core.job(answered.job_id).state == "queued"
    assert "Answer: purple" in core.job(answered.job_id).prompt


def test_it_may_be_answered_after_its_job_was_forgotten(core: CoreHarness):
    [job_id] = core.state.running
    question_id = ask(core)
    core.complete(job_id)
    del core.state.jobs[job_id]
    answered = core.do(respond(question_id, message="late"))
    assert core.job(answered.job_id).foreign  # nobody knows any more whose words its job had


def test_who_declines_begins_no_turn(core: CoreHarness):
    question_id = ask(core)
    core.do(respond(question_id, verdict="deny"))
    assert core.state.questions[question_id].verdict == "deny"
    assert not core.session().queue


def test_a_reset_closes_the_question(core: CoreHarness):
    question_id = ask(core)
    core.do(ResetSession(key_of().text, OWNER))
    assert core.state.questions[question_id].closed_reason == "withdrawn"
    assert core.refuses(respond(question_id)) == Code.E_QUESTION_CLOSED


def test_an_agent_cannot_bury_its_person_in_questions(core: CoreHarness):
    for number in range(MOST_OPEN_QUESTIONS):
        ask(core, f"c{number}")
    assert core.refuses(AskForAgent(call=call("more"), item=COLOURS)) == Code.E_SESSION_STATE


def test_a_title_by_the_agent_never_replaces_a_persons(core: CoreHarness):
    core.do(TitleForAgent(call=call("c1", tool="set_title"), title="Fix the build"))
    assert (core.session().title, core.session().titled_by) == ("Fix the build", "agent")
    core.do(TitleSession(key_of().text, "My own", "person"))
    core.do(TitleForAgent(call=call("c2", tool="set_title"), title="Again"))
    assert core.session().title == "My own"


def test_all_of_it_folds_into_the_same_state(core: CoreHarness):
    question_id = ask(core)
    core.do(SendForAgent(call=call("c2"), text="hello"))
    core.do(TitleForAgent(call=call("c3"), title="T"))
    core.do(respond(question_id, message="yes"))
    assert as_data(folded(core.journal)) == as_data(core.state)


def test_a_job_that_waits_for_another_question_goes_on_when_that_one_is_answered(core: CoreHarness):
    [job_id] = core.state.running
    ask(core, "c1")
    permission_id = core.ask(job_id)
    core.do(respond(permission_id))
    assert core.start() == job_id
    assert core.job(job_id).state == "running"
