"""Who is below whom in a tree of sessions, and who has yet to report."""

import pytest

from fairlead.core.decide.sessions import ResetSession
from fairlead.core.spawn_tree import awaits_completion, descendants, is_seen_from, live_children
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


def test_a_session_without_a_thread_is_seen_where_it_was_asked_for():
    made, _, grandchild = family()
    other = made.say("elsewhere")
    assert is_seen_from(made.state, grandchild, TOP)
    assert not is_seen_from(made.state, grandchild, made.job(other).session_key)
    assert made.state.sessions[grandchild].conversation == THREAD
