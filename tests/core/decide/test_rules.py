"""Standing rules: made by the owner's answer, used in the owner's place, taken back; and a refusal in words."""

import pytest

from fairlead.core.decide.job_ends import MarkInterrupted
from fairlead.core.decide.projects import RemoveProject, RenameProject
from fairlead.core.decide.questions import AskPerson
from fairlead.core.decide.rules import RemoveRule, UseRule
from fairlead.core.decide.scheduling import BeginAgentTurn, StartNext
from fairlead.core.decide.sessions import ResetSession
from fairlead.core.events import JobEnqueued, QuestionAnswered, StandingRuleMade, StandingRuleUsed
from fairlead.core.questions import RespondToQuestion
from fairlead.core.rules import MOST_RULES, RuleOffer, RuleSubject
from fairlead.errors import Code
from tests.core.harness import (
    FRIEND,
    OWNER,
    STRANGER,
    CoreHarness,
    conversation_ref,
    encoded,
    folded,
    key_of,
    permission,
    thread,
)

PYTEST = RuleSubject("Bash", "pytest -q", command="pytest -q")
OFFER = RuleOffer("Bash", "prefix", "pytest")


def running(core: CoreHarness, text: str = "hello", **more: object) -> str:
    job_id = core.say(text, **more)
    assert core.start() == job_id
    return job_id


def asked(core: CoreHarness, job_id: str, subject: RuleSubject = PYTEST, **more: object) -> str:
    command = AskPerson(job_id, permission(subject.detail), subject=subject, **more)
    return core.do(command).question_id


def respond(question_id: str, person: str = OWNER, **more: object) -> RespondToQuestion:
    return RespondToQuestion(question_id=question_id, person=person, verdict="allow", **more)


def with_rule(core: CoreHarness) -> CoreHarness:
    job_id = running(core)
    core.do(respond(asked(core, job_id), always=1))
    core.do(StartNext())
    core.complete(job_id)
    core.deliver(job_id)
    assert list(core.state.rules) == [1]
    return core


@pytest.mark.req("B4")
def test_the_owner_makes_a_rule_that_is_used_from_then_on(core: CoreHarness):
    job_id = running(core)
    question_id = asked(core, job_id)
    question = core.state.questions[question_id]
    assert (question.offers, question.project) == ((OFFER,), "api")
    answered, made = core.do(respond(question_id, always=1)).events
    assert isinstance(answered, QuestionAnswered)
    assert made == StandingRuleMade(
        number=1,
        project="api",
        offer=OFFER,
        session_key=key_of().text,
        person=OWNER,
        job_id=job_id,
        question_id=question_id,
    )
    assert core.state.questions[question_id].rule_made == 1
    core.do(StartNext())
    used = core.do(UseRule(job_id, RuleSubject("Bash", "pytest x", command="pytest x"))).events
    assert used == (StandingRuleUsed(number=1, job_id=job_id, offer=OFFER, tool="Bash", detail="pytest x"),)
    assert (core.state.rules[1].uses, core.state.rules[1].used_at) == (1, core.now)
    assert not core.do(UseRule(job_id, RuleSubject("Bash", "pytest; x", command="pytest; x"))).events
    assert encoded(folded(core.journal)) == encoded(core.state)


@pytest.mark.req("B4")
def test_only_the_owner_makes_one(core: CoreHarness):
    question_id = asked(core, running(core))
    assert core.refuses(respond(question_id, FRIEND, always=1)) == Code.E_OWNER_ONLY
    assert core.refuses(respond(question_id, STRANGER, always=1)) == Code.E_OWNER_ONLY
    assert core.state.questions[question_id].status == "open"
    assert core.do(respond(question_id, "a program", always=1, pre_authorised=True)).events


def test_a_rule_that_was_not_offered_is_not_made(core: CoreHarness):
    question_id = asked(core, running(core))
    assert core.refuses(respond(question_id, always=2)) == Code.E_INVALID_ARGS
    assert core.refuses(respond(question_id, always=-1)) == Code.E_INVALID_ARGS
    plain = core.ask(core.state.questions[question_id].job_id)
    assert core.refuses(respond(plain, always=1)) == Code.E_INVALID_ARGS


def test_a_refusal_makes_no_rule_and_the_same_rule_is_made_once(core: CoreHarness):
    job_id = running(core)
    first, second, third = asked(core, job_id), asked(core, job_id), asked(core, job_id)
    core.do(RespondToQuestion(question_id=first, person=OWNER, verdict="deny", always=1))
    assert not core.state.rules
    core.do(respond(second, always=1))
    core.do(respond(third, always=1))
    assert [r.offer for r in core.state.rules.values()] == [OFFER]
    assert core.state.questions[third].status == "answered"


def test_a_rule_holds_in_every_session_of_its_project_and_in_no_other(core: CoreHarness):
    with_rule(core)
    core.create("web")
    other = core.say_in("t", project="web")
    assert core.start() == other
    assert not core.do(UseRule(other, PYTEST)).events
    here = core.say_in("u", project="api", person=FRIEND)
    assert core.start() == here
    assert core.do(UseRule(here, PYTEST)).events


def test_a_rule_outlives_a_reset_and_is_taken_back(core: CoreHarness):
    with_rule(core)
    core.do(ResetSession(key_of().text, OWNER))
    job_id = running(core)
    assert core.do(UseRule(job_id, PYTEST)).events
    assert core.refuses(RemoveRule(2, OWNER)) == Code.E_RULE_NOT_FOUND
    core.do(RemoveRule(1, OWNER))
    assert not core.do(UseRule(job_id, PYTEST)).events
    core.do(respond(asked(core, job_id), always=1))
    assert list(core.state.rules) == [2]  # a number is never given twice


def test_a_renamed_project_keeps_its_rules_and_a_removed_one_takes_them_along(core: CoreHarness):
    with_rule(core)
    core.do(RenameProject("api", "backend"))
    job_id = running(core)
    assert core.do(UseRule(job_id, PYTEST)).events
    core.complete(job_id)
    core.do(RemoveProject("backend", OWNER))
    assert not core.state.rules
    assert encoded(folded(core.journal)) == encoded(core.state)


@pytest.mark.req("E6")
def test_where_words_of_somebody_else_are_in_the_prompt_a_person_is_asked(core: CoreHarness):
    with_rule(core)
    for more in ({"quote": "run pytest"}, {"foreign": True, "cause": "reaction"}):
        job_id = running(core, **more)
        assert not core.do(UseRule(job_id, PYTEST)).events
        assert core.state.questions[asked(core, job_id)].offers == ()
        core.fail(job_id)
        again = core.retry(job_id).job_id
        assert core.start() == again
        assert core.job(again).foreign
        assert not core.do(UseRule(again, PYTEST)).events
        core.fail(again)


def test_a_turn_that_the_agent_began_by_itself_asks(core: CoreHarness):
    with_rule(core)
    job_id = core.do(BeginAgentTurn(key_of().text, core.session().generation, "echo")).job_id
    assert job_id
    assert not core.do(UseRule(job_id, PYTEST)).events


def test_a_tier_that_nobody_has_seen_is_shown_before_a_rule_is_used(core: CoreHarness):
    job_id = running(core)
    core.do(respond(asked(core, job_id, tier="full"), always=1))
    core.do(StartNext())
    assert not core.do(UseRule(job_id, PYTEST, "readonly")).events
    question = core.state.questions[asked(core, job_id, tier="readonly")]
    assert (question.tier_before, question.tier) == ("full", "readonly")
    assert core.do(UseRule(job_id, PYTEST, "full")).events


def test_a_project_has_room_for_a_number_of_rules(core: CoreHarness):
    job_id = running(core)
    for n in range(MOST_RULES):
        core.take(
            StandingRuleMade(
                number=n + 1,
                project="api",
                offer=RuleOffer("Bash", "exact", f"make {n}"),
                session_key=key_of().text,
                person=OWNER,
                job_id=job_id,
                question_id="q",
            )
        )
    assert core.refuses(respond(asked(core, job_id), always=1)) == Code.E_INVALID_ARGS


# --- refused with words ----------------------------------------------------------------------------------------------


def refuse_because(question_id: str, words: str, person: str = OWNER) -> RespondToQuestion:
    return RespondToQuestion(question_id=question_id, person=person, verdict="deny", message=words)


def test_an_agent_that_takes_words_gets_them_with_the_refusal(core: CoreHarness):
    question_id = asked(core, running(core))
    [answered] = core.do(refuse_because(question_id, "use tox")).events
    assert isinstance(answered, QuestionAnswered)
    assert (answered.verdict, answered.message) == ("deny", "use tox")
    assert core.state.questions[question_id].message == "use tox"


def test_any_other_agent_gets_them_as_its_next_message_before_all_that_wait(core: CoreHarness):
    job_id = running(core)
    waiting = core.say("later")
    first = asked(core, job_id, takes_words=False)
    second = asked(core, job_id, RuleSubject("Bash", "rm x", command="rm x"), takes_words=False)
    third = asked(core, job_id, takes_words=False)
    one, two, three = (
        core.do(refuse_because(first, "use tox", FRIEND)),
        core.do(refuse_because(second, "leave x")),
        core.do(refuse_because(third, "  ")),
    )
    [enqueued] = [event for event in one.events if isinstance(event, JobEnqueued)]
    assert (enqueued.person, enqueued.conversation, enqueued.project) == (FRIEND, conversation_ref(), "api")
    assert enqueued.prompt == "I refused this (Bash: pytest -q), because: use tox"
    assert (one.job_id, two.job_id) == (job_id, job_id)
    [other] = [event for event in two.events if isinstance(event, JobEnqueued)]
    assert len(three.events) == 1
    assert core.session().queue == [enqueued.job_id, other.job_id, waiting]
    core.do(StartNext())
    core.complete(job_id)
    assert core.start() == enqueued.job_id
    assert encoded(folded(core.journal)) == encoded(core.state)


def test_the_words_of_a_refusal_stay_as_foreign_as_the_job_was(core: CoreHarness):
    job_id = running(core, quote="do it")
    core.do(refuse_because(asked(core, job_id, takes_words=False), "no"))
    assert core.job(core.session().queue[0]).foreign


def test_words_for_a_job_that_is_gone_change_nothing(core: CoreHarness):
    question_id = asked(core, running(core), takes_words=False)
    core.do(MarkInterrupted())
    assert core.refuses(refuse_because(question_id, "no")) == Code.E_QUESTION_CLOSED
    assert not core.session().queue


def test_a_thread_has_rules_too(core: CoreHarness):
    job_id = core.say_in("t", project="api")
    assert core.start() == job_id
    core.do(respond(asked(core, job_id), always=1))
    assert core.state.rules[1].session_key == thread("t").text
