"""While tools work people see what is being done; then they see the answer, and none of the muttering."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from fairlead.core.engine import TodoItem
from fairlead.render.live_text import LiveStep, LiveText, LiveTextView, SubAgent


@pytest.mark.req("E5")
def test_narration_before_a_tool_is_never_shown():
    stream = LiveText()
    stream.add_text("Let me look at the file.", 0.0)
    assert stream.view(0.1) == LiveTextView(changes_at=2.0)
    stream.tool_started("t1", "Read", "Reading .../a.py", 1.0)
    assert stream.view(1.0) == LiveTextView(
        steps=(LiveStep("Reading .../a.py"),), tool_line="🔧 Read …", changes_at=6.0
    )


@pytest.mark.req("E5")
def test_the_answer_after_the_last_tool_is_streamed_clean():
    stream = LiveText()
    stream.add_text("Looking.", 0.0)
    stream.tool_started("t1", "Read", "Reading .../a.py", 0.5)
    stream.tool_ended("t1", 7.0)
    stream.add_text("The bug is ", 8.0)
    stream.add_text("here.", 8.1)
    done = LiveTextView(steps=(LiveStep("Reading .../a.py", is_running=False),), steps_ended=1)
    assert stream.view(8.2) == replace(done, changes_at=8.5)
    assert stream.view(8.5) == replace(done, text="The bug is here.")


def test_an_answer_without_tools_streams_after_a_moment():
    stream = LiveText()
    stream.add_text("Hello", 10.0)
    assert stream.view(11.9).text == ""
    assert stream.view(12.0).text == "Hello"


def test_text_that_was_shown_too_early_goes_when_a_tool_starts():
    stream = LiveText()
    stream.add_text("I think I should check.", 0.0)
    assert stream.view(3.0).text == "I think I should check."
    stream.tool_started("t1", "Bash", "Running command…", 3.5)
    assert stream.view(3.5).text == ""


@pytest.mark.req("B13")
def test_the_tool_line_goes_five_seconds_after_it_appeared():
    stream = LiveText()
    stream.tool_started("t1", "Bash", "Running command…", 100.0)
    assert stream.view(104.9).tool_line == "🔧 Bash …"
    assert stream.view(104.9).changes_at == 105.0
    assert stream.view(105.0) == LiveTextView(steps=(LiveStep("Running command…"),))


@pytest.mark.req("B13")
def test_the_tool_line_goes_at_the_next_tool():
    stream = LiveText(lang="ja")
    stream.tool_started("t1", "Read", "a", 0.0)
    stream.tool_ended("t1", 1.0)
    stream.tool_started("t2", "Bash", "b", 2.0)
    assert stream.view(2.0).tool_line == "🔧 Bash を実行中..."
    assert stream.view(5.5).tool_line == "🔧 Bash を実行中..."


def test_the_last_steps_stay_and_those_that_run_stand_below_them():
    stream = LiveText()
    for number in range(6):
        stream.tool_started(f"t{number}", "Read", f"Reading {number}", 0.0)
    for number in range(5):
        stream.tool_ended(f"t{number}", 1.0, ok=number != 3)
    shown = stream.view(9.0)
    assert shown.steps_ended == 5
    assert shown.steps == (
        *(LiveStep(f"Reading {number}", is_running=False, ok=number != 3) for number in range(1, 5)),
        LiveStep("Reading 5"),
    )


def test_a_sub_agent_is_shown_with_its_own_steps_and_is_a_step_when_it_is_done():
    stream = LiveText()
    stream.add_text("I ask somebody else.", 0.0)
    stream.sub_agent_started("t1", "Task", "Working on a sub-task: docs", 3.0)
    stream.sub_agent_used_tool("s1", "t1")
    stream.sub_agent_used_tool("s2", "t1")
    stream.tool_ended("s1", 4.0)
    stream.add_text("Meanwhile.", 5.0)
    shown = stream.view(20.0)
    assert shown == LiveTextView(sub_agents=(SubAgent("Working on a sub-task: docs", 3.0, 2),))
    stream.tool_ended("t1", 21.0)
    assert stream.view(30.0) == LiveTextView(
        text="Meanwhile.", steps=(LiveStep("Working on a sub-task: docs", is_running=False),), steps_ended=1
    )


def test_the_agents_list_is_shown_as_it_is_now():
    stream = LiveText()
    stream.set_todos((TodoItem("look"), TodoItem("fix")))
    stream.set_todos((TodoItem("look", "completed"), TodoItem("fix", "in_progress")))
    assert stream.view(0.0).todos == (TodoItem("look", "completed"), TodoItem("fix", "in_progress"))


def test_text_that_comes_while_a_tool_runs_waits_for_its_end():
    stream = LiveText()
    stream.tool_started("t1", "Task", "Working", 0.0)
    stream.add_text("Meanwhile: all done.", 1.0)
    assert stream.view(10.0).text == ""
    stream.tool_ended("t1", 11.0)
    assert stream.view(11.5).text == "Meanwhile: all done."


def test_without_tool_awareness_every_text_is_shown_at_once():
    stream = LiveText(tool_aware=False)
    stream.add_text("Looking.", 0.0)
    stream.tool_started("t1", "Read", "Reading a", 0.0)
    stream.add_text("Found.", 0.1)
    assert stream.view(0.1).text == "Looking.\n\nFound."


happenings = st.lists(
    st.tuples(st.sampled_from(["text", "start", "end"]), st.integers(0, 3), st.floats(0, 4)), max_size=40
)


@given(happenings)
def test_whatever_happens_the_view_is_coherent(happened: list[tuple[str, int, float]]):
    stream = LiveText()
    now, running = 0.0, set[int]()
    for kind, number, later in happened:
        now += later
        if kind == "text":
            stream.add_text(f"word{number} ", now)
        elif kind == "start":
            stream.tool_started(str(number), "Tool", "Using a tool", now)
            running.add(number)
        else:
            stream.tool_ended(str(number), now)
            running.discard(number)
        shown = stream.view(now)
        at_work = any(step.is_running for step in shown.steps)
        assert at_work == bool(running)
        assert not (at_work and shown.text)
        assert shown.changes_at is None or shown.changes_at > now
        if shown.changes_at is not None:
            assert stream.view(shown.changes_at) != shown
