"""Budgets: no job starts while one is spent, one question a day, and what an answer does."""

import pytest

from fairlead.core.budgets import AgentSpending, Budget, DaySpending
from fairlead.core.decide.budgets import CHOICES, AskAboutBudget, CloseBudgetQuestion, SetBudget
from fairlead.core.decide.job_ends import Cancelled, Completed, Failure
from fairlead.core.decide.projects import RenameProject
from fairlead.core.decide.scheduling import StartNext
from fairlead.core.events import BudgetDecided, JobCancelled, Spent
from fairlead.core.fold.budgets import KEPT_DAYS
from fairlead.core.questions import RespondToQuestion
from fairlead.errors import Code
from tests.core.harness import FRIEND, OWNER, CoreHarness, encoded, folded

pytestmark = pytest.mark.req("E6")

LABELS = ("Go on today", "Wait until tomorrow", "Cancel what waits")
TWO_DOLLARS = Spent(input_tokens=900, output_tokens=100, cost_usd=2.0)


def spend(core: CoreHarness, spent: Spent = TWO_DOLLARS, **more: object) -> str:
    job_id = core.say("work", **more)
    assert core.start() == job_id
    core.end(job_id, Completed("done", spent=spent))
    return job_id


def with_budget(core: CoreHarness, usd: float | None = 2.0, tokens: int | None = None) -> CoreHarness:
    core.do(SetBudget(project="api", person=OWNER, usd=usd, tokens=tokens))
    return core


def starts(core: CoreHarness) -> bool:
    return bool(core.decide(StartNext()).events)


def asked(core: CoreHarness, job_id: str) -> str:
    return core.do(AskAboutBudget(job_id=job_id, text="Spent. Go on?", labels=LABELS)).question_id


def answer(question_id: str, label: str, person: str = OWNER) -> RespondToQuestion:
    return RespondToQuestion(question_id=question_id, person=person, verdict="allow", chosen={"Spent. Go on?": label})


@pytest.mark.parametrize(
    ("usd", "tokens", "may"),
    [
        (2.0, None, False),
        (2.01, None, True),
        (None, 1000, False),
        (None, 1001, True),
        (9.0, 1000, False),
        (2.0, 9999, False),
    ],
)
def test_a_job_starts_only_while_less_than_the_budget_is_spent(
    core: CoreHarness, usd: float | None, tokens: int | None, *, may: bool
):
    with_budget(core, usd, tokens)
    spend(core)
    core.say("more")
    assert starts(core) is may


def test_failed_and_cancelled_jobs_count_too_and_each_day_begins_with_nothing(core: CoreHarness):
    with_budget(core, 4.0)
    for outcome in (Failure(Code.E_AGENT_ERROR, "", spent=TWO_DOLLARS), Cancelled(OWNER, "", TWO_DOLLARS)):
        job_id = core.say("work")
        core.start()
        core.end(job_id, outcome)
    core.say("more")
    assert not starts(core)
    core.later(days=1)
    assert starts(core)
    assert folded(core.journal).spending == core.state.spending


def test_a_session_of_another_project_goes_on(core: CoreHarness):
    with_budget(core)
    spend(core)
    core.create("other")
    core.say("waits")
    job_id = core.say_in("elsewhere", "runs", project="other")
    assert core.start() == job_id


def test_somebody_is_asked_once_a_day_and_the_job_stays_queued_without_a_slot(core: CoreHarness):
    with_budget(core)
    spend(core)
    job_id = core.say("more")
    question_id = asked(core, job_id)
    assert (core.job(job_id).state, core.state.running, core.state.waiting) == ("queued", [], [])
    assert core.state.takes_response(question_id)
    assert asked(core, job_id) == ""
    core.later(days=1)
    core.do(CloseBudgetQuestion(question_id))
    assert core.refuses(answer(question_id, LABELS[0])) == Code.E_QUESTION_CLOSED
    assert core.start() == job_id


def test_a_question_about_the_budget_that_is_still_open_keeps_no_job_from_going_on(core: CoreHarness):
    with_budget(core)
    spend(core)
    job_id = core.say("more")
    about_budget = asked(core, job_id)
    core.later(days=1)
    core.start()
    of_agent = core.ask(job_id)
    core.do(RespondToQuestion(question_id=of_agent, person=OWNER, verdict="allow"))
    assert (core.state.questions[about_budget].status, core.job(job_id).state) == ("open", "waiting")
    core.do(StartNext())
    assert core.job(job_id).state == "running"


def test_the_owner_lets_it_go_on_for_today_only(core: CoreHarness):
    with_budget(core)
    spend(core)
    job_id = core.say("more")
    question_id = asked(core, job_id)
    assert core.refuses(answer(question_id, LABELS[0], FRIEND)) == Code.E_OWNER_ONLY
    assert core.refuses(answer(question_id, "whatever")) == Code.E_INVALID_ARGS
    core.do(answer(question_id, LABELS[0]))
    assert core.start() == job_id
    core.end(job_id, Completed("done", spent=TWO_DOLLARS))
    spend(core)
    core.later(days=1)
    spend(core)
    core.say("more")
    assert not starts(core)


@pytest.mark.parametrize("label", [LABELS[1], ""])
def test_waiting_until_tomorrow_asks_nobody_again_today(core: CoreHarness, label: str):
    with_budget(core)
    spend(core)
    job_id = core.say("more")
    verdict = "allow" if label else "deny"
    response = RespondToQuestion(
        question_id=asked(core, job_id), person=FRIEND, verdict=verdict, chosen={"Spent. Go on?": label}
    )
    core.do(response)
    assert (starts(core), asked(core, job_id)) == (False, "")
    core.later(days=1)
    assert core.start() == job_id


def test_cancelling_cancels_what_waits_in_that_project_and_the_next_job_asks_again(core: CoreHarness):
    with_budget(core)
    spend(core)
    core.create("other")
    job_id = core.say("more")
    behind = core.say("behind it")
    elsewhere = core.say_in("elsewhere", "runs", project="other")
    decision = core.do(answer(asked(core, job_id), LABELS[2]))
    ended = [e.job_id for e in decision.events if isinstance(e, JobCancelled)]
    assert ended == [job_id, behind]
    assert core.job(elsewhere).state == "queued"
    assert asked(core, core.say("new")) != ""


def test_the_choices_have_names_that_programs_may_use(core: CoreHarness):
    with_budget(core)
    spend(core)
    decision = core.do(answer(asked(core, core.say("more")), CHOICES[1]))
    assert any(isinstance(e, BudgetDecided) and e.choice == "wait" for e in decision.events)


def test_another_budget_settles_the_question_and_none_lets_everything_run(core: CoreHarness):
    with_budget(core)
    spend(core)
    job_id = core.say("more")
    question_id = asked(core, job_id)
    core.do(SetBudget(project="api", person=OWNER, usd=5.0))
    assert core.state.questions[question_id].status == "closed"
    assert starts(core)
    core.do(SetBudget(project="api", person=OWNER, usd=1.0))
    assert not starts(core)
    core.do(SetBudget(project="api", person=OWNER))
    assert (core.state.budgets, starts(core)) == ({}, True)
    assert core.refuses(SetBudget(project="none", person=OWNER, usd=1.0)) == Code.E_PROJECT_NOT_FOUND
    assert core.refuses(SetBudget(project="api", person=OWNER, usd=float("nan"))) == Code.E_INVALID_ARGS


def test_a_project_takes_its_budget_and_its_spending_along_under_a_new_name(core: CoreHarness):
    with_budget(core)
    spend(core)
    core.do(RenameProject("api", "shop"))
    assert core.state.budgets == {"shop": Budget(2.0)}
    core.say("more")
    assert not starts(core)


def test_the_state_keeps_some_days_and_no_more(core: CoreHarness):
    for _ in range(KEPT_DAYS + 5):
        spend(core, Spent(input_tokens=1))
        core.later(days=1)
    assert len(core.state.spending) == KEPT_DAYS
    assert set(core.state.spending.popitem()[1].values()) == {DaySpending(0.0, 1, (AgentSpending("echo", 0.0, 1),))}


def test_a_replay_comes_to_the_same_budgets(core: CoreHarness):
    with_budget(core)
    spend(core)
    core.do(answer(asked(core, core.say("more")), LABELS[1]))
    assert encoded(folded(core.journal)) == encoded(core.state)
