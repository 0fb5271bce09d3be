"""What is owed: where it goes and why, planned once, delivered piece by piece, deferred, or given up openly."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.core.decide.delivery import AbandonDelivery, Acknowledge, DeferDelivery, MarkPieceSent, PlanDelivery
from fairlead.core.decide.sessions import Bind, Unbind
from fairlead.core.events import DeliveryAbandoned, DeliveryDeferred, DeliveryPlanned
from fairlead.core.read_models import job_view
from fairlead.core.routing import Destination, resolve_destination
from fairlead.core.state import OutboxEntry, answer_entry_id
from fairlead.errors import Code
from tests.core.harness import CoreHarness, conversation_ref, key_of, thread

ME = str(key_of())


# --- where it goes


def route(core: CoreHarness, requester=None, *, fail_closed: bool = False) -> Destination:
    return resolve_destination(
        core.state, target_session_key=ME, requester=requester, fail_closed=fail_closed, now=core.now
    )


def routed(core: CoreHarness, requester=None, *, fail_closed: bool = False) -> tuple:
    to = route(core, requester, fail_closed=fail_closed)
    return (to.mode, to.conversation, to.reason)


@pytest.fixture
def two_conversations(core: CoreHarness) -> CoreHarness:
    core.say()
    core.do(Bind(target_session_key=ME, target_kind="session", conversation=conversation_ref("porch"), ttl_ms=1000))
    return core


@pytest.mark.req("D2")
def test_the_requesters_own_binding_comes_first(two_conversations: CoreHarness):
    assert routed(two_conversations, conversation_ref()) == ("bound", conversation_ref(), "the requester's own binding")
    assert routed(two_conversations, conversation_ref("porch"), fail_closed=True) == (
        "bound",
        conversation_ref("porch"),
        "the requester's own binding",
    )


@pytest.mark.req("D2")
def test_else_the_only_binding_no_matter_who_asked(two_conversations: CoreHarness):
    two_conversations.later(seconds=1)
    only = ("bound", conversation_ref(), "the session's only binding")
    assert routed(two_conversations, conversation_ref("porch")) == only
    assert routed(two_conversations, None, fail_closed=True) == only


@pytest.mark.req("D2", "D3")
def test_else_openly_back_to_the_requester(two_conversations: CoreHarness):
    several = "several bindings, none of them the requester's; back to the requester"
    assert routed(two_conversations, conversation_ref("attic")) == ("fallback", conversation_ref("attic"), several)
    two_conversations.do(Unbind("done", target_session_key=ME))
    assert routed(two_conversations, conversation_ref("attic")) == (
        "fallback",
        conversation_ref("attic"),
        "no active binding; back to the requester",
    )


@pytest.mark.req("D2", "D3")
def test_with_fail_closed_or_without_a_requester_nowhere_and_the_reason_says_why(two_conversations: CoreHarness):
    closed = "several bindings, none of them the requester's; fail_closed forbids a fallback"
    assert routed(two_conversations, conversation_ref("attic"), fail_closed=True) == ("nowhere", None, closed)
    alone = "several bindings, none of them the requester's, and no requester to fall back to"
    assert routed(two_conversations) == ("nowhere", None, alone)
    two_conversations.do(Unbind("done", target_session_key=ME))
    assert routed(two_conversations, fail_closed=True)[0] == "nowhere"


@pytest.mark.req("D3")
def test_a_bound_thread_is_never_left_for_its_parent(core: CoreHarness):
    core.start_thread("child")
    to = resolve_destination(
        core.state,
        target_session_key=str(thread("child")),
        requester=conversation_ref("parent"),
        fail_closed=False,
        now=core.now,
    )
    assert (to.mode, to.conversation) == ("bound", conversation_ref("child"))


# --- planned and delivered


@pytest.fixture
def entry(core: CoreHarness) -> str:
    job_id = core.say()
    core.start()
    core.complete(job_id, "the answer")
    return answer_entry_id(job_id)


@pytest.mark.req("D3")
def test_a_plan_is_made_once_and_later_attempts_follow_it(core: CoreHarness, entry: str):
    planned = core.plan(entry, pieces=2).events[0]
    assert isinstance(planned, DeliveryPlanned)
    assert (planned.destination, planned.route, planned.reason) == (
        conversation_ref(),
        "bound",
        "the requester's own binding",
    )
    assert core.plan(entry, pieces=5).events == ()
    assert core.state.outbox[entry].plan == planned


def test_pieces_are_delivered_one_by_one_and_the_last_settles_the_entry(core: CoreHarness, entry: str):
    core.plan(entry, pieces=2)
    core.do(MarkPieceSent(entry, 0, "m0"))
    assert (core.state.outbox[entry].next_index, core.job("job_20260301_0001").answer) == (1, "the answer")
    assert core.do(MarkPieceSent(entry, 0, "m0 again")).events == ()
    core.do(MarkPieceSent(entry, 1, "m1"))
    assert entry not in core.state.outbox
    assert core.job("job_20260301_0001").answer == ""
    assert core.do(MarkPieceSent(entry, 1, "m1 again")).events == ()


def test_what_is_not_in_the_plan_is_not_delivered(core: CoreHarness, entry: str):
    assert core.do(MarkPieceSent(entry, 0, "before the plan")).events == ()
    core.plan(entry, pieces=1)
    assert core.do(MarkPieceSent(entry, 1, "beyond")).events == ()
    assert core.do(MarkPieceSent(entry, -1, "before")).events == ()
    assert entry in core.state.outbox


@given(st.permutations(range(4)))
def test_pieces_delivered_in_any_order_leave_the_first_missing_one_next(order: list[int]):
    entry = OutboxEntry(entry_id="d", kind="answer", session_key=ME, requester=conversation_ref(), owed_at="")
    for index in order:
        entry.paid[str(index)] = "m"
        missing = [i for i in range(5) if str(i) not in entry.paid]
        assert entry.next_index == missing[0]


# --- deferred and given up


@pytest.mark.req("A2")
def test_a_failed_attempt_is_due_again_later_and_counts(core: CoreHarness, entry: str):
    core.plan(entry, pieces=2)
    deferred = core.do(DeferDelivery(entry_id=entry, wait_sec=2.5, code=Code.E_DISCORD_RATE_LIMIT)).events
    assert deferred == (
        DeliveryDeferred(entry_id=entry, attempts=1, due="2026-03-01T08:00:02.500Z", error_code="E_DISCORD_RATE_LIMIT"),
    )
    core.do(MarkPieceSent(entry, 0, "m0"))
    assert (core.state.outbox[entry].attempts, core.state.outbox[entry].due) == (0, "")


@pytest.mark.req("A2", "A18")
def test_however_often_it_was_tried_only_seven_days_give_it_up_with_its_reason(core: CoreHarness, entry: str):
    for _ in range(500):
        core.do(DeferDelivery(entry_id=entry, wait_sec=1))
    assert core.state.outbox[entry].attempts == 500
    core.live(8)
    assert isinstance(core.do(DeferDelivery(entry_id=entry, wait_sec=1)).events[0], DeliveryDeferred)
    core.live(1)
    (given_up,) = core.do(DeferDelivery(entry_id=entry, wait_sec=1)).events
    assert given_up == DeliveryAbandoned(entry, "E_UNDELIVERABLE", "abandoned after 502 attempts in 9 days")
    assert entry not in core.state.outbox
    assert core.do(DeferDelivery(entry_id=entry, wait_sec=1)).events == ()


def test_while_the_channel_is_away_no_attempt_counts_but_patience_ends_after_seven_days(core: CoreHarness, entry: str):
    for _ in range(20):
        core.do(DeferDelivery(entry_id=entry, wait_sec=1, counts=False))
    assert core.state.outbox[entry].attempts == 0
    core.live(9)
    (given_up,) = core.do(
        DeferDelivery(entry_id=entry, wait_sec=1, code=Code.E_THREAD_ACCESS_FAILED, counts=False)
    ).events
    assert isinstance(given_up, DeliveryAbandoned)
    assert given_up.error_code == "E_THREAD_ACCESS_FAILED"


@pytest.mark.req("A2")
@pytest.mark.parametrize("days", [2 / 24, 8, 16, 26_000, -8])
def test_a_clock_that_jumps_gives_nothing_up(core: CoreHarness, entry: str, days: float):
    core.plan(entry)
    before = core.now
    core.later(days=days)
    for _ in range(3):
        assert isinstance(core.do(DeferDelivery(entry_id=entry, wait_sec=1)).events[0], DeliveryDeferred)
    core.now = before
    core.live(6)
    assert isinstance(core.do(DeferDelivery(entry_id=entry, wait_sec=1)).events[0], DeliveryDeferred)
    core.live(5)
    assert isinstance(core.do(DeferDelivery(entry_id=entry, wait_sec=1)).events[0], DeliveryAbandoned)


def test_an_answer_that_was_given_up_stays_known_as_that(core: CoreHarness, entry: str):
    [job] = core.state.jobs.values()
    core.plan(entry)
    core.do(AbandonDelivery(entry, Code.E_THREAD_ACCESS_FAILED, "locked"))
    assert (job.given_up, job_view(core.state, job).answer_given_up) == (True, True)


@pytest.mark.req("D2")
def test_what_may_go_nowhere_is_recorded_as_undeliverable(core: CoreHarness, entry: str):
    nowhere = Destination(None, "nowhere", "no active binding; fail_closed forbids a fallback", None)
    planned, abandoned = core.do(PlanDelivery(entry, nowhere)).events
    assert isinstance(planned, DeliveryPlanned)
    assert abandoned == DeliveryAbandoned(entry, "E_UNDELIVERABLE", nowhere.reason)
    assert core.state.outbox == {}


def test_an_outbox_entry_is_abandoned_once(core: CoreHarness, entry: str):
    assert core.do(AbandonDelivery(entry, Code.E_THREAD_ACCESS_FAILED, "locked")).events
    assert core.do(AbandonDelivery(entry, Code.E_THREAD_ACCESS_FAILED, "locked")).events == ()


def test_a_client_that_fetches_settles_the_entry_by_acknowledging(core: CoreHarness, entry: str):
    core.plan(entry, pieces=0)
    assert core.state.outbox[entry].awaits_fetching
    core.do(Acknowledge(entry))
    assert entry not in core.state.outbox
    assert core.do(Acknowledge(entry)).events == ()


def test_a_client_may_be_quicker_than_the_plan(core: CoreHarness, entry: str):
    core.do(Acknowledge(entry))
    assert entry not in core.state.outbox


def test_pushed_pieces_cannot_be_acknowledged_away(core: CoreHarness, entry: str):
    core.plan(entry, pieces=1)
    assert core.do(Acknowledge(entry)).events == ()
