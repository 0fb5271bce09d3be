"""The text of a status message: it fits, and every state of a job has words in every language."""

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.channels.discord.live.status_text import newest_part, status_text
from fairlead.channels.push.job_status import StatusContent
from fairlead.core.engine import TodoItem
from fairlead.core.job_states import JobState
from fairlead.render.live_text import LiveStep, LiveTextView, SubAgent
from fairlead.render.words import CATALOGUES, MISSING

pytestmark = pytest.mark.anyio


@given(st.text(max_size=6000), st.lists(st.text(max_size=300), max_size=20))
def test_a_status_message_always_fits(text: str, words: list[str]) -> None:
    live_text = LiveTextView(
        text=text,
        steps=tuple(LiveStep(each) for each in words[:8]),
        steps_ended=3,
        sub_agents=tuple(SubAgent(each, 1.0, 2) for each in words),
        todos=tuple(TodoItem(each) for each in words),
        tool_line="🔧 Bash …",
    )
    content = StatusContent("job_20260101_0001", "running", live_text)
    assert len(status_text(content, 12.0, "en")) <= 2000
    assert newest_part("short", 300) == "short"


def test_a_long_turn_reads_from_what_was_done_to_what_is_left() -> None:
    live_text = LiveTextView(
        steps=(LiveStep("Reading .../a.py", is_running=False), LiveStep("Running command… pytest")),
        steps_ended=3,
        sub_agents=(SubAgent("Working on a sub-task: docs", 23.0, 4),),
        todos=(TodoItem("look", "completed"), TodoItem("fix <@42>", "in_progress"), TodoItem("test")),
        tool_line="🔧 Bash …",
    )
    assert status_text(StatusContent("job_1", "running", live_text), 65.0, "en").splitlines() == [
        "⏳ Running for 1m05s · 🔧 Bash …",
        "✓ 2 steps …",
        "✓ Reading .../a.py",
        "▸ Running command… pytest",
        "🤖 Working on a sub-task: docs · 42s · 4 steps",
        "☑ look",
        "▸ `fix <@42>`",
        "☐ test",
        "-# job_1",
    ]


def test_a_long_list_is_shown_around_the_item_at_work() -> None:
    todos = tuple(TodoItem(f"item {n}", "completed" if n < 10 else "pending") for n in range(20))
    shown = status_text(StatusContent("job_1", "running", LiveTextView(todos=todos)), 1.0, "en").splitlines()
    assert shown[1:-1] == [
        "☑ 8 more",
        "☑ item 8",
        "☑ item 9",
        *(f"☐ item {n}" for n in range(10, 16)),
        "☐ 4 more",
    ]


@pytest.mark.parametrize("lang", CATALOGUES)
def test_every_state_of_a_job_can_be_told(lang: str) -> None:
    told = [status_text(StatusContent("job_20260105_0001", state), 3.0, lang) for state in get_args(JobState)]
    assert len(set(told)) == len(told)
    assert not any(MISSING in text for text in told)


@pytest.mark.req("H8")
def test_the_status_names_another_machine_and_says_since_when_it_is_away():
    there = StatusContent("job_1", "running", machine="gpu")
    assert status_text(there, 65.0, "en").splitlines() == ["⏳ Running for 1m05s · gpu", "-# job_1"]
    away = StatusContent("job_1", "running", machine="gpu", machine_away_since="2026-01-05T08:00:00.000Z")
    assert status_text(away, 65.0, "en").splitlines()[1] == (
        "gpu is not connected, since <t:1767600000:f>. The turn goes on there; its answer comes when gpu is back."
    )
