"""The status of a living job, in virtual time, on a display that only keeps what it is told."""

import asyncio
import itertools
from collections.abc import Callable

from fairlead.channels.push.job_status import (
    FIRST_AFTER_SEC,
    TICK_SEC,
    JobStatus,
    StatusContent,
    TimedStatus,
    edit_interval,
)
from fairlead.core.conversation import ConversationRef
from fairlead.core.engine import TextDelta
from fairlead.core.views import JobView
from fairlead.testing.clock import run_virtually

INTERVAL = 1.2


class Display:
    """Implements `StatusDisplay`."""

    def __init__(self) -> None:
        self.drawn: list[tuple[float, StatusContent]] = []
        self.last: list[tuple[StatusContent, float]] = []
        self.typed: list[float] = []
        self.failures = 0
        self.last_edit_at = 0.0
        self.waits_sec = 0.0

    def is_showing(self) -> bool:
        return bool(self.drawn)

    async def draw(self, newest: Callable[[], TimedStatus]) -> StatusContent | None:
        await asyncio.sleep(self.waits_sec)
        self.last_edit_at = asyncio.get_running_loop().time()
        status = newest()
        assert status.seconds == self.last_edit_at
        self.drawn.append((self.last_edit_at, status.content))
        return status.content

    async def draw_last(self, content: StatusContent, seconds: float) -> bool:
        if self.failures:
            self.failures -= 1
            return False
        self.last.append((content, seconds))
        return True

    async def show_typing(self, is_wanted: Callable[[], bool]) -> None:
        if is_wanted():
            self.typed.append(asyncio.get_running_loop().time())


def a_status(display: Display) -> JobStatus:
    job = JobView(
        job_id="job_20260105_0001",
        session_key="agent:fairlead:user:1",
        conversation=ConversationRef("toy", "main", "7"),
        message_id="9",
        person="1",
        state="running",
        attempt=1,
        enqueued_at="2026-01-05T08:00:00.000Z",
    )
    return JobStatus(job, display, lang="en", interval=lambda: INTERVAL, tool_aware=False)


def test_an_edit_that_waits_for_its_turn_shows_what_came_meanwhile() -> None:
    async def story() -> None:
        display = Display()
        display.waits_sec = 0.5
        status = a_status(display)
        shown = asyncio.ensure_future(status.show())
        status.add_event(TextDelta(text="one"))
        await asyncio.sleep(FIRST_AFTER_SEC + 0.4)
        status.add_event(TextDelta(text=" two"))
        await asyncio.sleep(0.2)
        assert [content.live_text.text for _, content in display.drawn] == ["one two"]
        await asyncio.sleep(INTERVAL + 1)
        assert len(display.drawn) == 1, "nothing came after it, so there is nothing to edit"
        status.set_state("success")
        await shown

    run_virtually(story())


def test_a_stream_of_news_is_drawn_no_faster_than_the_pace_and_the_newest_text_wins() -> None:
    async def story() -> None:
        display = Display()
        status = a_status(display)
        shown = asyncio.ensure_future(status.show())
        for number in range(200):
            status.add_event(TextDelta(text=f"{number} "))
            await asyncio.sleep(0.1)
        await asyncio.sleep(TICK_SEC)
        times = [at for at, _ in display.drawn]
        assert times[0] == FIRST_AFTER_SEC
        assert all(later - earlier >= INTERVAL - 1e-6 for earlier, later in itertools.pairwise(times))
        assert display.drawn[-1][1].live_text.text.endswith(" 199")
        status.set_state("success")
        await shown
        assert display.last[0][0] == StatusContent("job_20260105_0001", "success")

    run_virtually(story())


def test_without_news_the_status_is_drawn_again_at_every_tick() -> None:
    async def story() -> None:
        display = Display()
        status = a_status(display)
        shown = asyncio.ensure_future(status.show())
        await asyncio.sleep(10 * TICK_SEC)
        gaps = [later - earlier for (earlier, _), (later, _) in itertools.pairwise(display.drawn)]
        assert len(gaps) >= 4
        assert min(gaps) >= TICK_SEC - 1e-6
        status.set_state("failed")
        await shown

    run_virtually(story())


def test_a_job_that_is_over_before_its_first_status_shows_none() -> None:
    async def story() -> None:
        display = Display()
        status = a_status(display)
        shown = asyncio.ensure_future(status.show())
        await asyncio.sleep(FIRST_AFTER_SEC / 2)
        status.set_state("success")
        await shown
        assert (display.drawn, display.last) == ([], [])

    run_virtually(story())


def test_the_last_edit_is_tried_until_it_stands_and_says_how_long_the_job_took() -> None:
    async def story() -> None:
        display = Display()
        display.failures = 30
        status = a_status(display)
        shown = asyncio.ensure_future(status.show())
        await asyncio.sleep(5)
        status.set_state("success")
        await shown
        assert display.last == [(StatusContent("job_20260105_0001", "success"), 5.0)]

    run_virtually(story())


def test_typing_rests_while_a_person_is_asked_and_ends_with_the_job() -> None:
    async def story() -> None:
        display = Display()
        status = a_status(display)
        typing = asyncio.ensure_future(status.type())
        await asyncio.sleep(9)
        status.set_state("waiting")
        before = len(display.typed)
        await asyncio.sleep(60)
        assert len(display.typed) == before == 2
        status.set_state("running")
        await asyncio.sleep(9)
        assert len(display.typed) > before
        status.set_state("success")
        await typing

    run_virtually(story())


def test_the_interval_between_edits_grows_with_the_number_of_statuses() -> None:
    assert [edit_interval(n, 1.2) for n in (1, 10, 30, 50, 100)] == [1.2, 1.2, 1.2, 2.0, 4.0]
