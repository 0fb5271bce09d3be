"""What leaves the state, and when: by events and the highest time seen, never by a clock."""

import pytest
from core_house import OWNER, House, encoded, key_of, place

from fairlead.core.decide.questions import AnswerQuestion
from fairlead.core.decide.sessions import Bind, SeePerson
from fairlead.core.retention import is_rising
from fairlead.core.state import answer_debt_id

ME = str(key_of())


def a_new_day(house: House) -> None:
    """Something, anything, happens: the day begins with an event."""
    locale = f"x{house.state.seq}"
    house.do(SeePerson("somebody", locale))


@pytest.mark.req("A7")
def test_a_session_keeps_its_last_fifty_ended_jobs_however_old(house: House):
    jobs = [house.turn() for _ in range(60)]
    house.later(days=30)
    a_new_day(house)
    assert house.session().ended == jobs[10:]
    assert set(house.state.jobs) == set(jobs[10:])


@pytest.mark.req("A7")
def test_a_session_keeps_all_jobs_of_seven_days_however_many(house: House):
    jobs = [house.turn() for _ in range(60)]
    house.later(days=7)
    a_new_day(house)
    assert set(house.state.jobs) == set(jobs)
    house.later(days=1)
    a_new_day(house)
    assert set(house.state.jobs) == set(jobs[10:])


def test_a_job_whose_answer_is_owed_stays(house: House):
    job_id = house.say()
    house.start()
    house.complete(job_id)
    later = [house.turn() for _ in range(60)]
    house.later(days=8)
    a_new_day(house)
    assert house.session().ended == [job_id, *later]
    house.deliver(job_id)
    house.later(days=1)
    a_new_day(house)
    assert job_id not in house.state.jobs


def test_an_ended_and_settled_job_leaves_no_text(house: House):
    house.say("the secret prompt")
    job_id = house.start()
    assert b"secret prompt" in encoded(house.state)
    house.complete(job_id, "x" * 400 + "the long tail of the answer")
    assert b"secret prompt" not in encoded(house.state)
    assert b"long tail" in encoded(house.state)
    house.deliver(job_id)
    assert b"long tail" not in encoded(house.state)


# --- dedupe keys and floors


@pytest.mark.req("A8")
def test_a_message_is_recognised_for_fourteen_days_by_its_key_and_then_by_the_floor(house: House):
    inbound = {"message_id": "5000"}
    job_id = house.say(**inbound)
    house.complete(house.start())
    house.later(days=14)
    again = house.submit(**inbound)
    assert (again.duplicate, again.subject) == (True, job_id)
    house.later(days=1)
    a_new_day(house)
    assert house.state.fate_of(place(), "5000") is None
    assert house.state.floors == {place().address: 5000}
    assert house.submit(**inbound).duplicate
    assert house.say(message_id="5001")


def test_the_floor_is_the_highest_id_whatever_the_order(house: House):
    for message_id in ("30", "10", "20"):
        house.say(message_id=message_id)
    house.later(days=15)
    a_new_day(house)
    assert house.state.floors == {place().address: 30}
    house.say(message_id="31")
    house.later(days=15)
    a_new_day(house)
    assert house.state.floors == {place().address: 31}


def test_ids_that_do_not_rise_raise_no_floor_and_cannot_stop_the_fold(house: House):
    for message_id in ("key-7", "1" * 5000, "", "٣" * 21):
        house.say(message_id=message_id)
    house.later(days=15)
    a_new_day(house)
    assert house.state.floors == {}
    assert house.state.fates_of_days == {}


def test_which_ids_rise():
    assert is_rising("0")
    assert is_rising("1359000000000000000")
    assert not is_rising("")
    assert not is_rising("1" * 21)
    assert not is_rising("-5")
    assert not is_rising("5a")


def test_time_that_goes_back_begins_no_day_and_forgets_nothing(house: House):
    house.later(days=20)
    house.say(message_id="1")
    next_day = house.state.next_day
    house.later(days=-15)
    house.say(message_id="2")
    assert (house.state.next_day, house.state.highest_ts) == (next_day, "2026-03-21T08:00:00.000Z")
    house.later(days=15)
    assert house.submit(message_id="2").duplicate
    house.later(days=14)
    a_new_day(house)
    assert house.submit(message_id="2").subject.startswith("job_")


def test_a_key_from_late_in_the_day_also_lives_fourteen_days(house: House):
    house.now = "2026-03-01T23:59:59.999Z"
    job_id = house.say(message_id="7")
    house.now = "2026-03-15T23:59:59.999Z"
    a_new_day(house)
    assert house.submit(message_id="7").subject == job_id


# --- bindings, questions, answers nobody fetched


@pytest.mark.req("D1")
def test_a_binding_leaves_a_week_after_it_expired(house: House):
    house.say()
    house.do(Bind(ME, "session", place("porch"), ttl_ms=1000))
    house.later(days=7)
    a_new_day(house)
    assert place("porch").address in house.state.bound
    house.later(days=1)
    a_new_day(house)
    assert list(house.state.bound) == [place().address]
    assert len(house.state.bindings) == 1


def test_a_question_leaves_a_week_after_its_deadline_unless_its_job_still_waits(house: House):
    waiting = house.say()
    house.start()
    asked = house.ask(waiting)
    done = house.say_in("other")
    house.start()
    other = house.ask(done)
    house.do(AnswerQuestion(other, OWNER, "allow"))
    house.start()
    house.complete(done)
    house.later(days=8)
    a_new_day(house)
    assert list(house.state.questions) == [asked]


def test_an_answer_that_no_client_fetched_leaves_after_a_week(house: House):
    job_id = house.say()
    house.start()
    house.complete(job_id, "never read")
    house.plan(answer_debt_id(job_id), pieces=0)
    house.later(days=7)
    a_new_day(house)
    assert answer_debt_id(job_id) in house.state.debts
    house.later(days=1)
    a_new_day(house)
    assert house.state.debts == {}
    assert house.job(job_id).answer == ""


@pytest.mark.req("A7")
def test_the_state_stays_flat_while_the_journal_grows(house: House):
    sizes = []
    for day in range(60):
        for _ in range(10):
            house.turn(text="please " * 20)
        house.later(days=1)
        if day >= 30:
            sizes.append(len(encoded(house.state)))
    assert max(sizes) < 1.1 * min(sizes)
