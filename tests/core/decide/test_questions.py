"""Questions: asked by an agent, answered by a person, or by nobody in time, which means no."""

import pytest

from fairlead.core import timestamps
from fairlead.core.decide.job_ends import MarkInterrupted
from fairlead.core.decide.questions import AskPerson, ExpireQuestion, RemindOfQuestion, WithdrawQuestion
from fairlead.core.engine import PlanProposed, QuestionRequested
from fairlead.core.events import JobContinued, JobEnqueued, QuestionAnswered, QuestionClosed
from fairlead.core.limits import Limits
from fairlead.core.questions import RespondToQuestion
from fairlead.core.state import question_entry_id, reminder_entry_id
from fairlead.errors import Code
from tests.core.harness import (
    FRIEND,
    OWNER,
    STRANGER,
    CoreHarness,
    colour_question,
    conversation_ref,
    key_of,
    permission,
)


def running(core: CoreHarness, text: str = "hello") -> str:
    job_id = core.say(text)
    assert core.start() == job_id
    return job_id


@pytest.mark.req("A16", "B4")
def test_asking_frees_the_slot_and_owes_the_question(core: CoreHarness):
    job_id = running(core)
    asked = core.ask(job_id)
    question = core.state.questions[asked]
    assert (core.job(job_id).state, core.state.running, core.state.waiting) == ("waiting", [], [job_id])
    assert (question.kind, question.detail, question.rule) == ("permission", "rm -rf build", "Bash(rm -rf build)")
    assert question.deadline == timestamps.plus(core.now, 600)
    entry = core.state.outbox[question_entry_id(asked)]
    assert (entry.kind, entry.requester, entry.question_id) == ("question", conversation_ref(), asked)


@pytest.mark.req("B4")
def test_questions_and_plans_keep_their_words(core: CoreHarness):
    job_id = running(core)
    colour = core.state.questions[core.ask(job_id, colour_question())]
    plan = core.state.questions[core.ask(job_id, PlanProposed("r2", "1. dig\n2. fill"))]
    assert (colour.kind, colour.title, [o.label for o in colour.items[0].options]) == (
        "question",
        "Which colour?",
        ["red", "blue"],
    )
    assert (plan.kind, plan.detail) == ("plan", "1. dig\n2. fill")
    assert core.state.questions[core.ask(job_id, QuestionRequested("r3", ()))].title == "The agent has a question."


@pytest.mark.req("A16")
def test_an_answered_job_takes_its_slot_again_ahead_of_the_others():
    core = CoreHarness(limits=Limits(global_max_running=1))
    asking = running(core)
    asked = core.ask(asking)
    other = core.say_in("other")
    assert core.start() == other
    behind = core.say_in("third")
    core.do(RespondToQuestion(question_id=asked, person=OWNER, verdict="allow"))
    assert core.start() == ""
    core.complete(other)
    assert core.start() == asking
    assert core.journal[-1].payload == JobContinued(asking)
    core.complete(asking)
    assert core.start() == behind


def test_a_job_with_two_questions_goes_on_when_both_are_answered(core: CoreHarness):
    job_id = running(core)
    one, two = core.ask(job_id), core.ask(job_id, permission("ls", "r2"))
    core.do(RespondToQuestion(question_id=one, person=OWNER, verdict="allow"))
    assert core.start() == ""
    core.do(RespondToQuestion(question_id=two, person=OWNER, verdict="deny"))
    assert core.start() == job_id


@pytest.mark.req("A18")
def test_only_a_live_job_asks_and_at_most_eight_wait():
    core = CoreHarness(limits=Limits(max_waiting=1))
    queued = core.say()
    assert core.refuses(AskPerson(queued, permission())) == Code.E_SESSION_STATE
    core.start()
    core.ask(queued)
    assert core.ask(queued, permission("ls", "r2"))
    second = core.say_in("other")
    core.start()
    assert core.refuses(AskPerson(second, permission())) == Code.E_SESSION_STATE


@pytest.mark.req("B4")
def test_nobody_in_time_means_no_and_the_job_goes_on_with_it(core: CoreHarness):
    job_id = running(core)
    asked = core.ask(job_id)
    assert core.do(ExpireQuestion(asked)).events == (QuestionClosed(asked, "expired"),)
    assert (core.state.questions[asked].status, core.state.questions[asked].verdict) == ("closed", "")
    assert core.do(ExpireQuestion(asked)).events == ()
    assert core.refuses(RespondToQuestion(question_id=asked, person=OWNER, verdict="allow")) == Code.E_QUESTION_CLOSED
    assert core.start() == job_id


def test_the_agent_takes_its_question_back(core: CoreHarness):
    job_id = running(core)
    asked = core.ask(job_id)
    assert core.do(WithdrawQuestion(job_id, "another")).events == ()
    assert core.do(WithdrawQuestion(job_id, "r1")).events == (QuestionClosed(asked, "withdrawn"),)


def test_the_end_of_a_job_closes_its_questions(core: CoreHarness):
    job_id = running(core)
    asked = core.ask(job_id)
    core.cancel(job_id)
    assert core.state.questions[asked].closed_reason == "job_ended"
    assert core.state.waiting == []


# --- who may answer


@pytest.mark.req("A13", "A18")
def test_who_may_talk_may_allow_once_and_only_the_owner_for_the_session(core: CoreHarness):
    job_id = running(core)
    asked = core.ask(job_id)
    assert core.refuses(RespondToQuestion(question_id=asked, person=STRANGER, verdict="allow")) == Code.E_OWNER_ONLY
    assert (
        core.refuses(RespondToQuestion(question_id=asked, person=FRIEND, verdict="allow", for_session=True))
        == Code.E_OWNER_ONLY
    )
    assert core.state.questions[asked].status == "open"
    assert core.do(RespondToQuestion(question_id=asked, person=FRIEND, verdict="allow")).job_id == job_id
    assert core.session().rules == []


def test_for_this_session_grants_exactly_what_was_asked(core: CoreHarness):
    job_id = running(core)
    for request, verdict in (("r1", "allow"), ("r2", "allow"), ("r3", "deny")):
        detail = "make test" if request != "r3" else "rm -rf /"
        asked = core.ask(job_id, permission(detail, request))
        core.do(RespondToQuestion(question_id=asked, person=OWNER, verdict=verdict, for_session=True))
    assert core.session().rules == ["Bash(make test)"]


@pytest.mark.req("A18")
def test_the_second_click_hears_who_was_first(core: CoreHarness):
    asked = core.ask(running(core))
    core.do(RespondToQuestion(question_id=asked, person=FRIEND, verdict="deny"))
    late = core.do(RespondToQuestion(question_id=asked, person=OWNER, verdict="allow")).refusal
    assert late is not None
    assert late.code == Code.E_QUESTION_CLOSED
    assert "7 has already answered: deny" in late.message
    assert (
        core.refuses(RespondToQuestion(question_id="q_none", person=OWNER, verdict="allow")) == Code.E_QUESTION_CLOSED
    )


# --- after a crash


def interrupted(core: CoreHarness, ask=None) -> tuple[str, str]:
    job_id = running(core)
    asked = core.ask(job_id, ask)
    core.do(MarkInterrupted())
    return job_id, asked


def test_a_click_on_a_question_after_a_crash_begins_a_job_that_carries_question_and_answer(core: CoreHarness):
    _, asked = interrupted(core, colour_question())
    clicked = core.do(
        RespondToQuestion(question_id=asked, person=OWNER, verdict="allow", chosen={"Which colour?": "blue"})
    )
    answered, enqueued = clicked.events
    assert isinstance(answered, QuestionAnswered)
    assert isinstance(enqueued, JobEnqueued)
    assert (enqueued.cause, enqueued.job_id) == ("answer", clicked.job_id)
    assert "Question: Which colour?\nAnswer: blue" in enqueued.prompt
    assert core.refuses(RespondToQuestion(question_id=asked, person=OWNER, verdict="allow")) == Code.E_QUESTION_CLOSED


def test_words_instead_of_a_choice_are_the_answer_too(core: CoreHarness):
    _, asked = interrupted(core, colour_question())
    job_id = core.do(RespondToQuestion(question_id=asked, person=OWNER, verdict="allow", message="green")).job_id
    assert core.job(job_id).prompt.endswith("Answer: green")


def test_declining_a_question_after_a_crash_begins_nothing(core: CoreHarness):
    job_id, asked = interrupted(core, colour_question())
    declined = core.do(RespondToQuestion(question_id=asked, person=OWNER, verdict="deny"))
    assert [type(e) for e in declined.events] == [QuestionAnswered]
    assert (declined.job_id, core.session().queue) == (job_id, [])


@pytest.mark.req("A17")
def test_an_answer_after_a_crash_needs_room_and_may_be_given_again_later():
    core = CoreHarness(limits=Limits(max_queue_per_session=1))
    _, asked = interrupted(core, colour_question())
    queued = core.say()
    assert core.refuses(RespondToQuestion(question_id=asked, person=OWNER, verdict="allow")) == Code.E_QUEUE_FULL
    core.complete(core.start())
    assert queued not in core.session().queue
    assert core.do(RespondToQuestion(question_id=asked, person=OWNER, verdict="allow")).refusal is None


@pytest.mark.parametrize("ask", [permission(), PlanProposed("r1", "dig")])
def test_a_click_on_a_permission_after_a_crash_offers_the_retry(core: CoreHarness, ask):
    job_id, asked = interrupted(core, ask)
    refusal = core.do(RespondToQuestion(question_id=asked, person=OWNER, verdict="allow")).refusal
    assert refusal is not None
    assert refusal.code == Code.E_QUESTION_CLOSED
    assert f"/retry {job_id} " in refusal.next_step, "as a person types it"


def test_a_retry_takes_back_the_old_question_so_that_no_click_runs_it_twice(core: CoreHarness):
    job_id, asked = interrupted(core, colour_question())
    core.retry(job_id)
    assert core.refuses(RespondToQuestion(question_id=asked, person=OWNER, verdict="allow")) == Code.E_QUESTION_CLOSED
    assert len(core.session(key_of()).queue) == 1


# --- reminders


def test_a_question_is_reminded_of_once_and_only_while_it_is_open(core: CoreHarness):
    job_id = running(core)
    asked = core.ask(job_id)
    there = conversation_ref(FRIEND)
    core.do(RemindOfQuestion(asked, there, "a link"))
    entry = core.state.outbox[reminder_entry_id(asked)]
    assert (entry.kind, entry.requester, entry.question_id, entry.link) == ("reminder", there, asked, "a link")
    before = core.state.seq
    core.do(RemindOfQuestion(asked, there, "a link"))
    assert core.state.seq == before, "it was reminded of already"
    other = core.ask(job_id, colour_question())
    core.do(ExpireQuestion(other))
    before = core.state.seq
    core.do(RemindOfQuestion(other, there, "a link"))
    assert core.state.seq == before, "nobody can answer it any more"
