"""What leaves the state, and when: by events and the highest time seen, never by a clock."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.core.decide.sessions import Bind, SeePerson
from fairlead.core.questions import RespondToQuestion
from fairlead.core.retention import is_rising
from fairlead.core.state import answer_entry_id
from tests.core.harness import OWNER, CoreHarness, conversation_ref, encoded, key_of

ME = str(key_of())


@pytest.mark.req("A7")
def test_a_session_keeps_its_last_fifty_ended_jobs_however_old(core: CoreHarness):
    jobs = [core.turn() for _ in range(60)]
    core.live(days=30)
    assert core.session().ended == jobs[10:]
    assert set(core.state.jobs) == set(jobs[10:])


@pytest.mark.req("A7")
def test_a_session_keeps_all_jobs_of_seven_days_however_many(core: CoreHarness):
    jobs = [core.turn() for _ in range(60)]
    core.live(days=8)
    assert set(core.state.jobs) == set(jobs)
    core.live(days=1)
    assert set(core.state.jobs) == set(jobs[10:])


def test_a_job_whose_answer_is_owed_stays(core: CoreHarness):
    job_id = core.say()
    core.start()
    core.complete(job_id)
    later = [core.turn() for _ in range(60)]
    core.live(days=9)
    assert core.session().ended == [job_id, *later]
    core.deliver(job_id)
    core.live(days=1)
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
    core.live(days=15)
    again = core.submit(**inbound)
    assert (again.duplicate, again.job_id) == (True, job_id)
    core.live(days=1)
    assert core.state.outcome_of(conversation_ref(), "5000") is None
    assert core.state.dedupe_floors == {conversation_ref().address: 5000}
    assert core.submit(**inbound).duplicate
    assert core.say(message_id="5001")


def test_the_floor_is_the_highest_id_whatever_the_order(core: CoreHarness):
    for message_id in ("30", "10", "20"):
        core.say(message_id=message_id)
    core.live(days=16)
    assert core.state.dedupe_floors == {conversation_ref().address: 30}
    core.say(message_id="31")
    core.live(days=16)
    assert core.state.dedupe_floors == {conversation_ref().address: 31}


def test_ids_that_do_not_rise_raise_no_floor_and_cannot_stop_the_fold(core: CoreHarness):
    for message_id in ("key-7", "1" * 5000, "", "٣" * 21):
        core.say(message_id=message_id)
    core.live(days=16)
    assert core.state.dedupe_floors == {}
    assert core.state.outcomes_by_day == {}


def test_which_ids_rise():
    assert is_rising("0")
    assert is_rising("1359000000000000000")
    assert not is_rising("")
    assert not is_rising("1" * 21)
    assert not is_rising("-5")
    assert not is_rising("5a")


JUMPS = {"+8 days": 8, "+16 days": 16, "2099": 26_700, "-2 hours": -0.1, "back to 1970": -20_500}


@pytest.mark.req("A8", "A16")
@pytest.mark.parametrize("days", JUMPS.values(), ids=JUMPS)
def test_a_clock_that_jumps_and_comes_back_forgets_nothing_and_stops_nothing(core: CoreHarness, days: float):
    job_id = core.say(message_id="key-1")
    core.start()
    core.complete(job_id, "not fetched yet")
    core.plan(answer_entry_id(job_id), pieces=0)
    for _ in range(20):
        core.later(days=days)
        core.live(days=1)  # the clock is wrong for a day ...
        core.later(days=-days - 1)
        core.do(SeePerson("somebody", f"y{core.state.seq}"))  # ... and then right again
    assert core.submit(message_id="key-1").job_id == job_id, "the key is known"
    assert core.job(job_id).answer == "not fetched yet"
    core.live(days=30)
    assert core.state.outbox == {}, "and what is old still leaves"
    assert core.state.outcomes_by_day == {}


@given(days=st.lists(st.integers(-40_000, 26_000), max_size=30))
def test_no_clock_whatever_it_says_forgets_a_key_before_its_days_were_lived_through(days: list[int]):
    """One event on each wrong date: at most one day is counted for it, and coming back takes that away."""
    core = CoreHarness()
    job_id = core.say(message_id="key-1")
    right = core.now
    for jump in days:
        core.later(days=jump)
        core.do(SeePerson("somebody", f"x{core.state.seq}"))
        assert core.submit(message_id="key-1").job_id == job_id
        core.now = right
        core.do(SeePerson("somebody", f"x{core.state.seq}"))
    assert core.state.lived_day == 0


def test_a_year_in_which_nothing_happened_is_one_day(core: CoreHarness):
    job_id = core.say(message_id="key-1")
    core.later(days=365)
    assert core.submit(message_id="key-1").job_id == job_id


def test_a_key_from_late_in_the_day_also_lives_fourteen_days(core: CoreHarness):
    core.now = "2026-03-01T23:59:59.999Z"
    job_id = core.say(message_id="7")
    core.now = "2026-03-15T23:59:59.999Z"
    core.live(days=14)
    assert core.submit(message_id="7").job_id == job_id


# --- bindings, questions, answers nobody fetched


@pytest.mark.req("D1")
def test_a_binding_leaves_a_week_after_it_expired(core: CoreHarness):
    core.say()
    core.do(Bind(target_session_key=ME, target_kind="session", conversation=conversation_ref("porch"), ttl_ms=1000))
    core.live(days=8)
    assert conversation_ref("porch").address in core.state.bound
    core.live(days=1)
    assert list(core.state.bound) == [conversation_ref().address]
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
    core.live(days=9)
    assert list(core.state.questions) == [asked]


def test_an_answer_that_no_client_fetched_leaves_after_a_week(core: CoreHarness):
    job_id = core.say()
    core.start()
    core.complete(job_id, "never read")
    core.plan(answer_entry_id(job_id), pieces=0)
    core.live(days=8)
    assert answer_entry_id(job_id) in core.state.outbox
    core.live(days=1)
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
