"""Who starts alone, who waits, and for how long."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from fairlead.runtimes.acp.first_start import ALONE_SEC, FirstStart
from fairlead.testing.clock import run_virtually

pytestmark = pytest.mark.req("B9")


def starting(first_start: FirstStart, log: list[tuple[str, float]]) -> Callable[..., Any]:
    """Notes when each program starts; it takes its time, and succeeds or fails then."""
    loop = asyncio.get_running_loop()
    began = loop.time()

    async def start(name: str, takes: float, *, succeeds: bool) -> None:
        async with first_start.alone():
            log.append((name, loop.time() - began))
            await asyncio.sleep(takes)
            if succeeds:
                first_start.note_success()

    return start


def test_when_the_first_has_started_well_all_others_start_together():
    async def story() -> list[tuple[str, float]]:
        log: list[tuple[str, float]] = []
        start = starting(FirstStart(), log)
        await asyncio.gather(*(start(name, 4.0, succeeds=True) for name in "abc"))
        await start("d", 1.0, succeeds=True)
        return log

    assert run_virtually(story()) == [("a", 0.0), ("b", 4.0), ("c", 4.0), ("d", 8.0)]


def test_when_the_first_fails_the_next_one_starts_alone():
    async def story() -> list[tuple[str, float]]:
        log: list[tuple[str, float]] = []
        start = starting(FirstStart(), log)
        await asyncio.gather(
            start("a", 1.0, succeeds=False), start("b", 2.0, succeeds=True), start("c", 1.0, succeeds=True)
        )
        return log

    assert run_virtually(story()) == [("a", 0.0), ("b", 1.0), ("c", 3.0)]


def test_one_that_hangs_keeps_the_others_for_a_while_only():
    async def story() -> list[tuple[str, float]]:
        log: list[tuple[str, float]] = []
        start = starting(FirstStart(), log)
        await asyncio.gather(start("hangs", 60.0, succeeds=False), *(start(name, 1.0, succeeds=True) for name in "bc"))
        return log

    assert run_virtually(story()) == [("hangs", 0.0), ("b", ALONE_SEC), ("c", ALONE_SEC)]
