"""The ring of what happened lately, and the turns that run."""

import pytest

from fairlead.channels.http.console.feed import KEPT_TURNS, MOST_BYTES, MOST_EVENTS, ConsoleFeed
from fairlead.core.engine import TextDelta, ThinkingDelta, TodoItem, TodosChanged, ToolEnded, ToolStarted
from fairlead.core.live import AgentActed, JobMoved
from fairlead.render.console.turns import MOST_PARTS, TextPart, ToolStep

pytestmark = pytest.mark.anyio
KEY = "agent:fairlead:user:alice"


def moved(job: str, state: str) -> JobMoved:
    return JobMoved(job_id=job, session_key=KEY, state=state)


def said(job: str, text: str) -> AgentActed:
    return AgentActed(job, KEY, TextDelta(text))


@pytest.mark.req("G5")
async def test_a_page_gets_what_came_after_its_place_and_nothing_twice():
    feed = ConsoleFeed()
    number = feed.number_of(feed.place())
    assert number == 0
    feed.note(moved("job_1", "running"))
    feed.note(said("job_1", "Hello"))
    after = feed.after(number)
    assert after is not None
    assert [(one.number, type(one.event).__name__) for one in after] == [(1, "JobMoved"), (2, "AgentActed")]
    assert feed.after(2) == []


@pytest.mark.req("G5")
async def test_a_place_of_another_process_or_one_that_is_forgotten_is_a_gap():
    feed, earlier = ConsoleFeed(), ConsoleFeed()
    assert feed.number_of(earlier.place()) is None
    for strange in ("", "x", ":", feed.place() + "9", feed.place().replace(":0", ":-1"), feed.place() + "٣"):
        assert feed.number_of(strange) is None
    for _ in range(MOST_EVENTS + 1):
        feed.note(moved("job_1", "running"))
    assert feed.after(0) is None
    assert len(feed.after(1) or ()) == MOST_EVENTS


@pytest.mark.req("G8")
async def test_the_ring_is_bounded_by_what_it_holds_and_empty_before_the_first_page():
    feed = ConsoleFeed()
    feed.note(moved("job_1", "running"))
    assert feed.name_of(0).partition(":")[2] == "0"
    feed.place()
    for _ in range(40):
        feed.note(said("job_1", "x" * (MOST_BYTES // 16)))
    assert feed.after(0) is None
    kept = feed.after(38)
    assert kept is not None
    assert sum(one.size for one in kept) <= MOST_BYTES


@pytest.mark.req("G2")
async def test_a_turn_is_what_was_said_and_done_in_its_order():
    feed = ConsoleFeed()
    feed.place()
    feed.note(moved("job_1", "running"))
    for event in (
        TextDelta("Let me "),
        TextDelta("look."),
        ToolStarted("t1", "Bash", {"command": "ls " + "x" * 9999}),
        ThinkingDelta("hm"),
        ToolEnded("t1", ok=False, summary="no"),
        TodosChanged((TodoItem("build"),)),
        TextDelta("Done."),
    ):
        feed.note(AgentActed("job_1", KEY, event))
    turn = feed.turn("job_1")
    assert turn is not None
    first, tool, last = turn.parts
    assert isinstance(first, TextPart) and isinstance(tool, ToolStep) and isinstance(last, TextPart)  # noqa: PT018
    assert (first.text, last.text, turn.todos) == ("Let me look.", "Done.", (TodoItem("build"),))
    assert (tool.is_running, tool.ok, tool.summary, len(tool.input["command"])) == (False, False, "no", 400)
    changes = [one.change for one in feed.after(1) or ()]
    assert [(c.number, c.at, c.text) for c in changes if c is not None] == [
        (0, 0, ""),
        (0, 7, "look."),
        (1, 0, ""),
        (1, 0, ""),
        (-1, 0, ""),
        (2, 0, ""),
    ]


@pytest.mark.req("G8")
async def test_turns_that_ended_are_kept_small_and_few_and_words_after_the_end_begin_none():
    feed = ConsoleFeed()
    feed.place()
    for number in range(KEPT_TURNS + 3):
        job = f"job_{number}"
        feed.note(moved(job, "running"))
        feed.note(AgentActed(job, KEY, ToolStarted("t", "Bash", {"command": "ls"})))
        feed.note(said(job, "the answer"))
        feed.note(moved(job, "success"))
        feed.note(said(job, "too late"))
    assert feed.turn("job_0") is None
    kept = feed.turn(f"job_{KEPT_TURNS}")
    assert kept is not None
    assert [type(part) for part in kept.parts] == [ToolStep]


@pytest.mark.req("G8")
async def test_a_turn_of_very_many_steps_forgets_its_oldest():
    feed = ConsoleFeed()
    feed.note(moved("job_1", "running"))
    for number in range(MOST_PARTS + 10):
        feed.note(AgentActed("job_1", KEY, ToolStarted(f"t{number}", "Read", {})))
    turn = feed.turn("job_1")
    assert turn is not None
    assert (len(turn.parts), turn.first, turn.part(3)) == (MOST_PARTS, 10, None)
