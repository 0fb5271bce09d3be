"""Each text is in a queue, on its way, or taken: every move of it is one fact, and the totals match."""

import pytest

from fairlead.core import events as e
from fairlead.core.decide.job_ends import Cancelled, Completed, EndJob, Failure, MarkInterrupted
from fairlead.core.decide.steering import AskToSteer, BeginSteering, DeclineSteering, SettleSteering
from fairlead.core.engine import SteerResult
from fairlead.core.state import answer_entry_id
from fairlead.errors import Code
from tests.core.harness import FRIEND, OWNER, CoreHarness, encoded, folded

pytestmark = pytest.mark.req("F6")


def running(core: CoreHarness) -> str:
    job_id = core.say("first")
    core.start()
    return job_id


def on_its_way(core: CoreHarness, **more: object) -> tuple[str, str]:
    into = running(core)
    text = core.say("and this", steers=True, **more)
    core.do(BeginSteering(text, into))
    assert core.job(text).state == "steering"
    return into, text


def check_totals(core: CoreHarness) -> None:
    account = core.state.account
    assert account.received == account.settled_total + sum(core.state.live_counts().values())
    assert encoded(folded(core.journal)) == encoded(core.state)


def test_a_text_that_was_taken_counts_as_steered_and_owes_no_answer(core: CoreHarness):
    into, text = on_its_way(core)
    core.do(SettleSteering(text, SteerResult("taken")))
    job = core.job(text)
    assert (job.state, job.steered_into, core.state.account.steered) == ("steered", into, 1)
    assert answer_entry_id(text) not in core.state.outbox
    core.complete(into)
    assert core.session().last_job_id == into
    check_totals(core)


@pytest.mark.parametrize("outcome", ["too_late", "refused"])
def test_a_text_that_was_not_taken_is_at_its_own_place_again(core: CoreHarness, outcome: str):
    into = running(core)
    before, text, after = core.say("before"), core.say("this", steers=True), core.say("after")
    core.do(BeginSteering(text, into))
    assert core.session().queue == [before, after]
    core.do(SettleSteering(text, SteerResult(outcome, "I am busy.")))
    assert core.session().queue == [before, text, after]
    assert (core.job(text).steers, core.job(text).steering_reason) == (False, outcome)
    check_totals(core)


def test_what_nobody_knows_is_a_failure_that_can_be_tried_again(core: CoreHarness):
    _, text = on_its_way(core)
    core.do(SettleSteering(text, SteerResult("unknown", "gone")))
    job = core.job(text)
    assert (job.state, job.error_code) == ("failed", Code.E_STEER_UNKNOWN)
    assert answer_entry_id(text) in core.state.outbox
    assert core.retry(text).refusal is None
    check_totals(core)


@pytest.mark.parametrize("outcome", ["too_late", "refused", "unknown"])
def test_who_stops_the_turn_stops_the_text(core: CoreHarness, outcome: str):
    _, text = on_its_way(core)
    core.do(SettleSteering(text, SteerResult(outcome), Cancelled(OWNER)))
    assert core.job(text).state == "cancelled"
    check_totals(core)


def test_a_shutdown_leaves_a_text_that_was_not_taken_in_its_queue(core: CoreHarness):
    _, text = on_its_way(core)
    core.do(SettleSteering(text, SteerResult("too_late"), Failure(Code.E_SHUTDOWN, "")))
    assert core.job(text).state == "queued"


def test_what_did_not_leave_its_queue_before_the_end_is_called_too_late(core: CoreHarness):
    into = running(core)
    text = core.say("and this", steers=True)
    events = core.do(EndJob(into, Completed("done"))).events
    assert [type(event) for event in events][:2] == [e.SteeringDeclined, e.JobCompleted]
    assert core.start() == text
    assert core.state.to_steer == []
    check_totals(core)


def test_after_a_crash_a_text_on_its_way_is_unknown_and_one_in_its_queue_is_not_lost(core: CoreHarness):
    into, text = on_its_way(core)
    waiting = core.say("also this", steers=True)
    core.do(MarkInterrupted())
    assert [core.job(job_id).state for job_id in (into, text)] == ["unknown_after_crash"] * 2
    assert answer_entry_id(text) in core.state.outbox
    assert core.start() == waiting
    assert (core.state.steering, core.state.to_steer) == ([], [])
    check_totals(core)


def test_a_turn_whose_agent_has_no_prompt_yet_takes_nothing(core: CoreHarness):
    into = running(core)
    core.job(into).awaits_hand_over = True
    text = core.say("and this", steers=True)
    assert core.do(BeginSteering(text, into)).events == ()


def test_only_a_text_that_waits_for_this_turn_may_go(core: CoreHarness):
    into = running(core)
    plain = core.say("a message")
    assert core.do(BeginSteering(plain, into)).events == ()
    assert core.do(DeclineSteering(plain, "unsupported")).events == ()
    text = core.say("a text", steers=True)
    core.complete(into)
    assert core.do(BeginSteering(text, into)).events == ()


def test_a_waiting_message_is_asked_for_once_and_any_other_is_refused(core: CoreHarness):
    into = running(core)
    key = core.job(into).session_key
    assert core.refuses(AskToSteer(key, OWNER)) is Code.E_NOT_STEERABLE
    assert core.refuses(AskToSteer(key, OWNER, into)) is Code.E_NOT_STEERABLE
    waiting = core.say("waits")
    assert core.do(AskToSteer(key, OWNER)).job_id == waiting
    assert core.do(AskToSteer(key, OWNER, waiting)).duplicate


def test_words_of_somebody_else_make_the_turn_one_with_foreign_words(core: CoreHarness):
    into, _ = on_its_way(core, person=FRIEND)
    assert core.job(into).foreign


def test_a_message_that_is_cancelled_or_started_is_no_text_any_more(core: CoreHarness):
    into = running(core)
    text = core.say("and this", steers=True)
    core.do(EndJob(into, Cancelled(OWNER)))
    core.start()
    assert (core.job(text).state, core.job(text).steers, core.state.to_steer) == ("running", False, [])
    check_totals(core)
