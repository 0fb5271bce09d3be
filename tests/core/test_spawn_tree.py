"""Who is below whom in a tree of sessions, and who has yet to report."""

import pytest

from fairlead.core.decide.sessions import ResetSession
from fairlead.core.decide.spawns import FinishReturn
from fairlead.core.requests import Caller
from fairlead.core.spawn_tree import awaits_completion, descendants, is_seen_from, live_children
from fairlead.core.visibility import may_see
from tests.core.decide.test_spawns import IN_THREAD, THREAD, order, scene
from tests.core.harness import OWNER, CoreHarness

pytestmark = pytest.mark.req("D4")
TOP = IN_THREAD.text


def child_of(made: CoreHarness, parent: str, asked_by: str) -> str:
    made.do(order(parent=parent, asked_by=asked_by, by_agent=True))
    return made.state.spawn_requests[asked_by]


def family() -> tuple[CoreHarness, str, str]:
    made = scene(global_max_running=9)
    below = child_of(made, TOP, "a")
    return made, below, child_of(made, below, "b")


def test_descendants_are_all_sessions_below_parents_first():
    made, child, grandchild = family()
    assert descendants(made.state, TOP) == [child, grandchild]
    assert descendants(made.state, grandchild) == []


def test_the_topmost_session_of_all_of_them_is_the_one_that_nobody_spawned():
    made, child, grandchild = family()
    assert {made.state.topmost(key) for key in (TOP, child, grandchild)} == {TOP}


def test_only_those_with_something_to_do_are_alive():
    made, child, _ = family()
    assert live_children(made.state, TOP) == {child}
    for _ in range(3):
        made.complete(made.start())
    assert live_children(made.state, TOP) == set()


def test_a_session_waits_for_all_that_report_to_it_through_others():
    made, child, grandchild = family()
    made.start()
    made.complete(made.start())
    assert (awaits_completion(made.state, TOP), awaits_completion(made.state, child)) == (True, True)
    assert not awaits_completion(made.state, grandchild)


def test_a_reset_session_waits_for_nothing():
    made, _, _ = family()
    made.do(ResetSession(TOP, OWNER))
    assert not awaits_completion(made.state, TOP)


def test_sessions_that_nobody_can_talk_to_leave_when_they_are_long_over():
    made, child, grandchild = family()
    for _ in range(3):
        made.complete(made.start())
    for entry_id in list(made.state.returning):
        made.do(FinishReturn(entry_id))
    for entry_id in list(made.state.outbox):
        made.deliver_in_full(entry_id)
    made.live(7)
    assert {child, grandchild} <= set(made.state.sessions)
    made.live(3)
    assert (made.state.spawns, made.state.spawn_requests, list(made.state.sessions)) == ({}, {}, [TOP])
    assert {job.session_key for job in made.state.jobs.values()} == {TOP}
    stranger = Caller(person="ben", conversation=THREAD, session_key=IN_THREAD)
    assert not may_see(made.state, child, stranger)


def test_one_that_is_owed_to_somebody_or_has_work_below_it_stays():
    made, child, grandchild = family()
    for _ in range(2):
        made.complete(made.start())
    made.live(20)
    assert {child, grandchild} <= set(made.state.sessions)


def test_a_session_without_a_thread_is_seen_where_it_was_asked_for():
    made, _, grandchild = family()
    other = made.say("elsewhere")
    assert is_seen_from(made.state, grandchild, TOP)
    assert not is_seen_from(made.state, grandchild, made.job(other).session_key)
    assert made.state.sessions[grandchild].conversation == THREAD
