"""What leaves the state, and when: by events and the highest time seen, never by a clock."""

import pytest

from fairlead.core.decide.sessions import Bind, SeePerson
from fairlead.core.questions import RespondToQuestion
from fairlead.core.retention import is_rising
from fairlead.core.state import answer_entry_id
from tests.core.harness import OWNER, CoreHarness, encoded, key_of, place

ME = str(key_of())


def a_new_day(core: CoreHarness) -> None:
    """Something, anything, happens: the day begins with an event."""
    locale = f"x{core.state.seq}"
    core.do(SeePerson("somebody", locale))


@pytest.mark.req("A7")
def test_a_session_keeps_its_last_fifty_ended_jobs_however_old(core: CoreHarness):
    jobs = [core.turn() for _ in range(60)]
    core.later(days=30)
    a_new_day(core)
    assert core.session().ended == jobs[10:]
    assert set(core.state.jobs) == set(jobs[10:])


@pytest.mark.req("A7")
def test_a_session_keeps_all_jobs_of_seven_days_however_many(core: CoreHarness):
    jobs = [core.turn() for _ in range(60)]
    core.later(days=7)
    a_new_day(core)
    assert set(core.state.jobs) == set(jobs)
    core.later(days=1)
    a_new_day(core)
    assert set(core.state.jobs) == set(jobs[10:])


def test_a_job_whose_answer_is_owed_stays(core: CoreHarness):
    job_id = core.say()
    core.start()
    core.complete(job_id)
    later = [core.turn() for _ in range(60)]
    core.later(days=8)
    a_new_day(core)
    assert core.session().ended == [job_id, *later]
    core.deliver(job_id)
    core.later(days=1)
    a_new_day(core)
    assert job_id not in core.state.jobs


def test_an_ended_and_settled_job_leaves_no_text(core: CoreHarness):
    core.say("the secret prompt")
    job_id = core.start()
    assert b"secret prompt" in encoded(core.state)
    core.complete(job_id, "x" * 400 + "the long tail of the answer")
    assert b"secret prompt" not in encoded(core.state)
    assert b"long tail" in encoded(core.state)
    core.deliver(job_id)
    assert b"long tail" not in encoded(core.state)


# --- dedupe keys and floors


@pytest.mark.req("A8")
def test_a_message_is_recognised_for_fourteen_days_by_its_key_and_then_by_the_floor(core: CoreHarness):
    inbound = {"message_id": "5000"}
    job_id = core.say(**inbound)
    core.complete(core.start())
    core.later(days=14)
    again = core.submit(**inbound)
    assert (again.duplicate, again.job_id) == (True, job_id)
    core.later(days=1)
    a_new_day(core)
    assert core.state.outcome_of(place(), "5000") is None
    assert core.state.dedupe_floors == {place().address: 5000}
    assert core.submit(**inbound).duplicate
    assert core.say(message_id="5001")


def test_the_floor_is_the_highest_id_whatever_the_order(core: CoreHarness):
    for message_id in ("30", "10", "20"):
        core.say(message_id=message_id)
    core.later(days=15)
    a_new_day(core)
    assert core.state.dedupe_floors == {place().address: 30}
    core.say(message_id="31")
    core.later(days=15)
    a_new_day(core)
    assert core.state.dedupe_floors == {place().address: 31}


def test_ids_that_do_not_rise_raise_no_floor_and_cannot_stop_the_fold(core: CoreHarness):
    for message_id in ("key-7", "1" * 5000, "", "٣" * 21):
        core.say(message_id=message_id)
    core.later(days=15)
    a_new_day(core)
    assert core.state.dedupe_floors == {}
    assert core.state.outcomes_by_day == {}


def test_which_ids_rise():
    assert is_rising("0")
    assert is_rising("1359000000000000000")
    assert not is_rising("")
    assert not is_rising("1" * 21)
    assert not is_rising("-5")
    assert not is_rising("5a")


def test_time_that_goes_back_begins_no_day_and_forgets_nothing(core: CoreHarness):
    core.later(days=20)
    core.say(message_id="1")
    next_day = core.state.next_day
    core.later(days=-15)
    core.say(message_id="2")
    assert (core.state.next_day, core.state.highest_ts) == (next_day, "2026-03-21T08:00:00.000Z")
    core.later(days=15)
    assert core.submit(message_id="2").duplicate
    core.later(days=14)
    a_new_day(core)
    assert core.submit(message_id="2").job_id.startswith("job_")


def test_a_key_from_late_in_the_day_also_lives_fourteen_days(core: CoreHarness):
    core.now = "2026-03-01T23:59:59.999Z"
    job_id = core.say(message_id="7")
    core.now = "2026-03-15T23:59:59.999Z"
    a_new_day(core)
    assert core.submit(message_id="7").job_id == job_id


# --- bindings, questions, answers nobody fetched


@pytest.mark.req("D1")
def test_a_binding_leaves_a_week_after_it_expired(core: CoreHarness):
    core.say()
    core.do(Bind(target_session_key=ME, target_kind="session", conversation=place("porch"), ttl_ms=1000))
    core.later(days=7)
    a_new_day(core)
    assert place("porch").address in core.state.bound
    core.later(days=1)
    a_new_day(core)
    assert list(core.state.bound) == [place().address]
    assert len(core.state.bindings) == 1


def test_a_question_leaves_a_week_after_its_deadline_unless_its_job_still_waits(core: CoreHarness):
    waiting = core.say()
    core.start()
    asked = core.ask(waiting)
    done = core.say_in("other")
    core.start()
    other = core.ask(done)
    core.do(RespondToQuestion(question_id=other, person=OWNER, verdict="allow"))
    core.start()
    core.complete(done)
    core.later(days=8)
    a_new_day(core)
    assert list(core.state.questions) == [asked]


def test_an_answer_that_no_client_fetched_leaves_after_a_week(core: CoreHarness):
    job_id = core.say()
    core.start()
    core.complete(job_id, "never read")
    core.plan(answer_entry_id(job_id), pieces=0)
    core.later(days=7)
    a_new_day(core)
    assert answer_entry_id(job_id) in core.state.outbox
    core.later(days=1)
    a_new_day(core)
    assert core.state.outbox == {}
    assert core.job(job_id).answer == ""


@pytest.mark.req("A7")
def test_the_state_stays_flat_while_the_journal_grows(core: CoreHarness):
    sizes = []
    for day in range(60):
        for _ in range(10):
            core.turn(text="please " * 20)
        core.later(days=1)
        if day >= 30:
            sizes.append(len(encoded(core.state)))
    assert max(sizes) < 1.1 * min(sizes)
