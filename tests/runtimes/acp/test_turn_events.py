"""The events of a turn come in their order, and silence has a limit, on a clock that the test moves."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from fairlead.core.engine import TextDelta
from fairlead.runtimes.acp.turn_events import SilentTooLong, TurnEvents
from fairlead.testing.clock import run_virtually

pytestmark = pytest.mark.req("B6")

WATCHDOG_SEC = 1800.0


class Scene:
    def __init__(self) -> None:
        self.heard_at = 0.0
        self.is_asking = False
        self.events = TurnEvents(
            watchdog_sec=WATCHDOG_SEC, heard_at=lambda: self.heard_at, is_asking=lambda: self.is_asking
        )

    def later(self, seconds: float, act: Callable[[], None]) -> None:
        asyncio.get_running_loop().call_later(seconds, act)

    def hear(self) -> None:
        """An update that is no event."""
        self.heard_at = asyncio.get_running_loop().time()


async def silence_after(scene: Scene) -> float:
    with pytest.raises(SilentTooLong):
        await scene.events.next()
    return asyncio.get_running_loop().time()


def play(story: Callable[[Scene], Coroutine[Any, Any, None]]) -> None:
    async def begin() -> None:
        await story(Scene())

    run_virtually(begin())


def test_the_events_come_in_their_order_and_end():
    async def story(scene: Scene) -> None:
        for word in "abc":
            scene.events.put(TextDelta(word))
        scene.events.look_again()
        scene.events.finish()
        assert [await scene.events.next() for _ in range(4)] == [*map(TextDelta, "abc"), None]

    play(story)


def test_silence_ends_when_the_watchdogs_time_is_over():
    async def story(scene: Scene) -> None:
        assert await silence_after(scene) == WATCHDOG_SEC

    play(story)


def test_an_update_that_is_no_event_moves_the_end():
    async def story(scene: Scene) -> None:
        scene.later(1000, scene.hear)
        scene.later(2000, scene.hear)
        assert await silence_after(scene) == 2000 + WATCHDOG_SEC

    play(story)


def test_no_silence_counts_while_a_person_is_asked_and_all_of_it_from_then_on():
    async def story(scene: Scene) -> None:
        scene.is_asking = True

        def answer() -> None:
            scene.is_asking = False
            scene.hear()
            scene.events.look_again()

        scene.later(100_000, answer)
        assert await silence_after(scene) == 100_000 + WATCHDOG_SEC

    play(story)


def test_a_question_that_comes_in_time_stops_the_watchdog():
    async def story(scene: Scene) -> None:
        def ask() -> None:
            scene.is_asking = True
            scene.events.put(TextDelta("May I?"))

        scene.later(WATCHDOG_SEC - 1, ask)
        scene.later(50_000, scene.events.finish)
        assert [await scene.events.next(), await scene.events.next()] == [TextDelta("May I?"), None]

    play(story)
