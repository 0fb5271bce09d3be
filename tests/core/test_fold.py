"""state = fold(events): every rule, and that facts about what is gone change nothing."""

import msgspec
import pytest
from core_house import OWNER, House, encoded, folded, key_of, place

from fairlead.core import events as e
from fairlead.core import fold
from fairlead.core.decide.questions import AnswerQuestion
from fairlead.core.state import State, answer_debt_id, as_data, resume_slot

ME = str(key_of())
GONE = "job_19990101_0001"
NOWHERE = "agent:fairlead:user:nobody"

ABOUT_THE_GONE: list[e.JournalEvent] = [
    e.ProjectUpdated("gone", "/x", ("echo",), "echo"),
    e.ToolChanged(NOWHERE, "echo"),
    e.ModelChosen(NOWHERE, "echo", "m"),
    e.SessionReset(NOWHERE, 5, OWNER),
    e.ResumeKeyLearnt(NOWHERE, 0, "echo", "/x", "k"),
    e.RuleGranted(NOWHERE, 0, "Bash(ls)", OWNER),
    e.JobAmended(GONE, "new"),
    e.JobWithdrawn(GONE, "deleted"),
    e.JobStarted(GONE, ME, "echo", "api", "/srv/api"),
    e.JobProgress(GONE, 1),
    e.JobTriedAgain(GONE, "E_AGENT_ERROR", "why"),
    e.JobContinued(GONE),
    e.JobCompleted(GONE, ME, "text"),
    e.JobFailed(GONE, ME, "E_INTERNAL", "text"),
    e.JobCancelled(GONE, ME, OWNER),
    e.JobMarkedUnknownAfterCrash(GONE, ME),
    e.QuestionAsked("q_9", GONE, ME, "permission", "r", "t", "2026-03-01T09:00:00.000Z"),
    e.QuestionAnswered("q_9", "allow", OWNER),
    e.ChoiceMade("q_9", OWNER, {"Which?": "red"}),
    e.QuestionClosed("q_9", "expired"),
    e.BindingTouched("bind_9", None),
    e.BindingEnded("bind_9", "done"),
    e.DeliveryPlanned("debt_9", place(), "bound", "why"),
    e.AttachmentsStored("job_9", ()),
    e.ResumeKeyForgotten("agent:fairlead:user:nobody", 0, "echo", "/srv/api"),
    e.PieceDelivered("debt_9", 0, "m"),
    e.DeliveryDeferred("debt_9", 1, "2026-03-01T09:00:00.000Z"),
    e.DeliveryAcknowledged("debt_9"),
    e.DeliveryAbandoned("debt_9", "E_UNDELIVERABLE", "why"),
]


def without_position(state: State) -> dict:
    return as_data(state) | {"seq": 0, "highest_ts": ""}


@pytest.mark.req("A16")
@pytest.mark.parametrize("event", ABOUT_THE_GONE, ids=lambda event: type(event).__name__)
def test_a_fact_about_what_is_not_there_changes_nothing(house: House, event: e.JournalEvent):
    house.turn()
    house.say()
    before = without_position(house.state)
    house.take(event)
    assert without_position(house.state) == before


ABOUT_THE_ENDED = [event for event in ABOUT_THE_GONE if getattr(event, "job_id", "") == GONE]


@pytest.mark.req("A16")
@pytest.mark.parametrize("event", ABOUT_THE_ENDED, ids=lambda event: type(event).__name__)
def test_of_an_ended_job_nothing_changes_any_more(house: House, event: e.JournalEvent):
    job_id = house.turn()
    before = without_position(house.state)
    house.take(msgspec.structs.replace(event, job_id=job_id))
    assert without_position(house.state) == before


@pytest.mark.req("C4")
def test_facts_of_another_generation_change_nothing(house: House):
    house.turn()
    house.take(e.SessionReset(ME, 2, OWNER))
    before = without_position(house.state)
    house.take(e.SessionReset(ME, 1, OWNER))
    house.take(e.ResumeKeyLearnt(ME, 1, "echo", "/srv/api", "late"))
    house.take(e.RuleGranted(ME, 1, "Bash(ls)", OWNER))
    now = without_position(house.state)
    assert now == before


def test_a_session_is_created_once(house: House):
    house.turn()
    before = without_position(house.state)
    house.take(e.SessionCreated(ME, ME, "other", "codex", place("elsewhere"), "9"))
    assert without_position(house.state) == before


def test_a_closed_question_stays_closed_and_an_answered_one_answered(house: House):
    job_id = house.say()
    house.start()
    asked = house.ask(job_id)
    house.do(AnswerQuestion(asked, OWNER, "allow"))
    house.take(e.QuestionClosed(asked, "expired"))
    assert house.state.questions[asked].status == "answered"
    late = house.ask(job_id)
    house.take(e.QuestionClosed(late, "expired"))
    house.take(e.QuestionAnswered(late, "allow", OWNER))
    assert (house.state.questions[late].status, house.state.questions[late].verdict) == ("closed", "")


def test_a_rule_is_granted_once(house: House):
    house.turn()
    for _ in range(2):
        house.take(e.RuleGranted(ME, 0, "Bash(ls)", OWNER))
    assert house.session().rules == ["Bash(ls)"]


def test_resume_keys_are_kept_by_tool_and_path(house: House):
    house.turn()
    house.take(e.ResumeKeyLearnt(ME, 0, "claude", "/srv/api", "k1"))
    house.take(e.ResumeKeyLearnt(ME, 0, "claude", "/srv/web", "k2"))
    house.take(e.ResumeKeyLearnt(ME, 0, "claude", "/srv/api", "k3"))
    assert house.session().resume_keys == {
        resume_slot("claude", "/srv/api"): "k3",
        resume_slot("claude", "/srv/web"): "k2",
    }


def test_project_numbers_are_never_reused(house: House):
    house.take(e.ProjectCreated(9, "nine", "/srv/nine", ("echo",), "echo"))
    house.create("ten")
    assert house.state.projects["ten"].number == 10


def test_every_event_has_a_rule():
    assert set(fold._RULES) == set(e.EVENT_TYPES)


@pytest.fixture
def long_story(house: House) -> House:
    for day in range(20):
        house.turn(f"day {day}")
        asking = house.say_in("asks")
        house.start()
        house.ask(asking)
        house.failed_job()
        house.submit(" ")
        house.later(days=1.1)
    house.later(days=-3)
    house.say("a late clock")
    return house


@pytest.mark.req("A7")
def test_replaying_in_blocks_is_the_same_as_applying_one_by_one(long_story: House):
    replayed = State()
    for start in range(0, len(long_story.journal), 7):
        fold.replay(replayed, long_story.journal[start : start + 7])
    assert encoded(replayed) == encoded(long_story.state)


@pytest.mark.req("A7")
def test_the_journal_alone_gives_the_same_state(long_story: House):
    assert encoded(folded(long_story.journal)) == encoded(long_story.state)


@pytest.mark.req("A7", "A15")
def test_a_snapshot_anywhere_and_the_tail_give_the_same_state(long_story: House):
    journal = long_story.journal
    for cut in range(0, len(journal), 5):
        snapshot = msgspec.json.decode(encoded(folded(journal[:cut])), type=State)
        fold.replay(snapshot, journal[cut:])
        assert encoded(snapshot) == encoded(long_story.state)


def test_live_jobs_are_counted(house: House):
    for name in ("one", "two", "two", "three"):
        house.say_in(name)
    house.ask(house.start())
    house.start()
    assert house.state.live_counts() == {"queued": 2, "running": 1, "waiting": 1}


def test_a_plan_is_never_replaced(house: House):
    job_id = house.say()
    house.start()
    house.complete(job_id)
    debt_id = answer_debt_id(job_id)
    house.plan(debt_id, pieces=1)
    planned = house.state.debts[debt_id].plan
    house.take(e.DeliveryPlanned(debt_id, None, "nowhere", "another"))
    assert house.state.debts[debt_id].plan is planned


def test_a_disabled_project_is_remembered_as_such(house: House):
    house.take(e.ProjectUpdated("api", "/srv/api", ("echo",), "echo", disabled="gone"))
    assert house.state.projects["api"].disabled == "gone"
