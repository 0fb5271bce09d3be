"""state = fold(events): every rule, and that facts about what is gone change nothing."""

import msgspec
import pytest

from fairlead.core import events as e
from fairlead.core import fold
from fairlead.core.questions import RespondToQuestion
from fairlead.core.state import State, answer_entry_id, as_data, resume_slot
from tests.core.harness import OWNER, CoreHarness, conversation_ref, encoded, folded, key_of

ME = str(key_of())
GONE = "job_19990101_0001"
NOWHERE = "agent:fairlead:user:nobody"

ABOUT_THE_GONE: list[e.JournalEvent] = [
    e.ProjectUpdated(name="gone", path="/x", enabled_runtimes=("echo",), default_runtime="echo"),
    e.AgentRemoved("gone"),
    e.ToolChanged(NOWHERE, "echo"),
    e.ModelChosen(NOWHERE, "echo", "m"),
    e.SessionReset(NOWHERE, 5, OWNER),
    e.ResumeKeyLearnt(session_key=NOWHERE, generation=0, runtime="echo", project_path="/x", key="k"),
    e.RuleGranted(NOWHERE, 0, "Bash(ls)", OWNER),
    e.JobAmended(GONE, "new"),
    e.JobWithdrawn(GONE, "deleted"),
    e.JobStarted(job_id=GONE, session_key=ME, runtime="echo", project="api", project_path="/srv/api"),
    e.JobProgress(GONE, 1),
    e.JobTriedAgain(GONE, "E_AGENT_ERROR", "why"),
    e.JobContinued(GONE),
    e.JobCompleted(job_id=GONE, session_key=ME, text="text"),
    e.JobFailed(job_id=GONE, session_key=ME, error_code="E_INTERNAL", error_message="text"),
    e.JobCancelled(GONE, ME, OWNER),
    e.JobMarkedUnknownAfterCrash(GONE, ME),
    e.QuestionAsked(
        question_id="q_9",
        job_id=GONE,
        session_key=ME,
        kind="permission",
        request_id="r",
        title="t",
        deadline="2026-03-01T09:00:00.000Z",
    ),
    e.QuestionAnswered(question_id="q_9", verdict="allow", person=OWNER),
    e.ChoiceMade("q_9", OWNER, {"Which?": "red"}),
    e.QuestionClosed("q_9", "expired"),
    e.BindingTouched("bind_9", None),
    e.BindingEnded("bind_9", "done"),
    e.SessionDiscarded("agent:fairlead:user:nobody", "its thread could not be created"),
    e.DeliveryPlanned(entry_id="debt_9", destination=conversation_ref(), route="bound", reason="why"),
    e.AttachmentsStored("job_9", ()),
    e.ResumeKeyForgotten("agent:fairlead:user:nobody", 0, "echo", "/srv/api"),
    e.PieceDelivered("debt_9", 0, "m"),
    e.DeliveryDeferred(entry_id="debt_9", attempts=1, due="2026-03-01T09:00:00.000Z"),
    e.DeliveryAcknowledged("debt_9"),
    e.DeliveryAbandoned("debt_9", "E_UNDELIVERABLE", "why"),
]


def without_position(state: State) -> dict:
    return as_data(state) | {"seq": 0, "highest_ts": ""}


@pytest.mark.req("A16")
@pytest.mark.parametrize("event", ABOUT_THE_GONE, ids=lambda event: type(event).__name__)
def test_a_fact_about_what_is_not_there_changes_nothing(core: CoreHarness, event: e.JournalEvent):
    core.turn()
    core.say()
    before = without_position(core.state)
    core.take(event)
    assert without_position(core.state) == before


ABOUT_THE_ENDED = [event for event in ABOUT_THE_GONE if getattr(event, "job_id", "") == GONE]


@pytest.mark.req("A16")
@pytest.mark.parametrize("event", ABOUT_THE_ENDED, ids=lambda event: type(event).__name__)
def test_of_an_ended_job_nothing_changes_any_more(core: CoreHarness, event: e.JournalEvent):
    job_id = core.turn()
    before = without_position(core.state)
    core.take(msgspec.structs.replace(event, job_id=job_id))
    assert without_position(core.state) == before


@pytest.mark.req("C4")
def test_facts_of_another_generation_change_nothing(core: CoreHarness):
    core.turn()
    core.take(e.SessionReset(ME, 2, OWNER))
    before = without_position(core.state)
    core.take(e.SessionReset(ME, 1, OWNER))
    core.take(e.ResumeKeyLearnt(session_key=ME, generation=1, runtime="echo", project_path="/srv/api", key="late"))
    core.take(e.RuleGranted(ME, 1, "Bash(ls)", OWNER))
    now = without_position(core.state)
    assert now == before


def test_a_session_is_created_once(core: CoreHarness):
    core.turn()
    before = without_position(core.state)
    core.take(
        e.SessionCreated(
            session_key=ME,
            session_id=ME,
            project="other",
            runtime="codex",
            conversation=conversation_ref("elsewhere"),
            person="9",
        )
    )
    assert without_position(core.state) == before


def test_a_closed_question_stays_closed_and_an_answered_one_answered(core: CoreHarness):
    job_id = core.say()
    core.start()
    asked = core.ask(job_id)
    core.do(RespondToQuestion(question_id=asked, person=OWNER, verdict="allow"))
    core.take(e.QuestionClosed(asked, "expired"))
    assert core.state.questions[asked].status == "answered"
    late = core.ask(job_id)
    core.take(e.QuestionClosed(late, "expired"))
    core.take(e.QuestionAnswered(question_id=late, verdict="allow", person=OWNER))
    assert (core.state.questions[late].status, core.state.questions[late].verdict) == ("closed", "")


def test_a_rule_is_granted_once(core: CoreHarness):
    core.turn()
    for _ in range(2):
        core.take(e.RuleGranted(ME, 0, "Bash(ls)", OWNER))
    assert core.session().rules == ["Bash(ls)"]


def test_resume_keys_are_kept_by_tool_and_path(core: CoreHarness):
    core.turn()
    core.take(e.ResumeKeyLearnt(session_key=ME, generation=0, runtime="claude", project_path="/srv/api", key="k1"))
    core.take(e.ResumeKeyLearnt(session_key=ME, generation=0, runtime="claude", project_path="/srv/web", key="k2"))
    core.take(e.ResumeKeyLearnt(session_key=ME, generation=0, runtime="claude", project_path="/srv/api", key="k3"))
    assert core.session().resume_keys == {
        resume_slot("claude", "/srv/api"): "k3",
        resume_slot("claude", "/srv/web"): "k2",
    }


def test_project_numbers_are_never_reused(core: CoreHarness):
    core.take(
        e.ProjectCreated(number=9, name="nine", path="/srv/nine", enabled_runtimes=("echo",), default_runtime="echo")
    )
    core.create("ten")
    assert core.state.projects["ten"].number == 10


def test_every_event_has_a_rule():
    assert set(fold._RULES) == set(e.EVENT_TYPES)


@pytest.fixture
def long_story(core: CoreHarness) -> CoreHarness:
    for day in range(20):
        core.turn(f"day {day}")
        asking = core.say_in("asks")
        core.start()
        core.ask(asking)
        core.failed_job()
        core.submit(" ")
        core.later(days=1.1)
    core.later(days=-3)
    core.say("a late clock")
    return core


@pytest.mark.req("A7")
def test_replaying_in_blocks_is_the_same_as_applying_one_by_one(long_story: CoreHarness):
    replayed = State()
    for start in range(0, len(long_story.journal), 7):
        fold.replay(replayed, long_story.journal[start : start + 7])
    assert encoded(replayed) == encoded(long_story.state)


@pytest.mark.req("A7")
def test_the_journal_alone_gives_the_same_state(long_story: CoreHarness):
    assert encoded(folded(long_story.journal)) == encoded(long_story.state)


@pytest.mark.req("A7", "A15")
def test_a_snapshot_anywhere_and_the_tail_give_the_same_state(long_story: CoreHarness):
    journal = long_story.journal
    for cut in range(0, len(journal), 5):
        snapshot = msgspec.json.decode(encoded(folded(journal[:cut])), type=State)
        fold.replay(snapshot, journal[cut:])
        assert encoded(snapshot) == encoded(long_story.state)


def test_live_jobs_are_counted(core: CoreHarness):
    for name in ("one", "two", "two", "three"):
        core.say_in(name)
    core.ask(core.start())
    core.start()
    assert core.state.live_counts() == {"queued": 2, "running": 1, "waiting": 1, "steering": 0}


def test_a_plan_is_never_replaced(core: CoreHarness):
    job_id = core.say()
    core.start()
    core.complete(job_id)
    entry_id = answer_entry_id(job_id)
    core.plan(entry_id, pieces=1)
    planned = core.state.outbox[entry_id].plan
    core.take(e.DeliveryPlanned(entry_id=entry_id, destination=None, route="nowhere", reason="another"))
    assert core.state.outbox[entry_id].plan is planned


def test_a_disabled_project_is_remembered_as_such(core: CoreHarness):
    core.take(
        e.ProjectUpdated(
            name="api", path="/srv/api", enabled_runtimes=("echo",), default_runtime="echo", disabled="gone"
        )
    )
    assert core.state.projects["api"].disabled == "gone"
