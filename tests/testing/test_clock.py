"""The virtual loop: no real time, the same steps every time, and death at any of them."""

import asyncio
import gc
import time

import pytest

from fairlead.testing.clock import NothingLeft, PowerLost, VirtualClock, VirtualLoop, run_virtually


def test_a_day_passes_in_no_time():
    async def wait() -> tuple[float, str]:
        clock = VirtualClock(asyncio.get_running_loop())
        await asyncio.sleep(86400)
        return asyncio.get_running_loop().time(), clock.now()

    began = time.monotonic()
    assert run_virtually(wait()) == (86400.0, "2026-01-06T08:00:00.000Z")
    assert time.monotonic() - began < 5


def test_timers_fire_in_the_order_of_their_times_then_of_their_making():
    async def story() -> list[str]:
        loop = asyncio.get_running_loop()
        heard: list[str] = []
        loop.call_later(2, heard.append, "late")
        loop.call_later(1, heard.append, "early, first")
        loop.call_later(1, heard.append, "early, second")
        loop.call_later(1, heard.append, "never").cancel()
        await asyncio.sleep(3)
        return heard

    assert run_virtually(story()) == ["early, first", "early, second", "late"]


def test_timeouts_and_groups_and_threads_work_as_on_a_real_loop():
    async def story() -> str:
        async with asyncio.TaskGroup() as group:
            slow = group.create_task(asyncio.sleep(5, "done"))
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(1):
                await asyncio.Event().wait()
        return slow.result() + await asyncio.to_thread(str.upper, " here")

    assert run_virtually(story()) == "done HERE"


def test_waiting_for_nothing_is_reported_instead_of_standing_still():
    async def wait() -> None:
        await asyncio.Event().wait()

    with pytest.raises(NothingLeft):
        run_virtually(wait())


def test_spinning_is_reported_too():
    async def spin() -> None:
        while True:
            await asyncio.sleep(0)

    loop = VirtualLoop()
    loop.step_limit = 1000
    with pytest.raises(NothingLeft):
        loop.run(spin())
    loop.close_abruptly()


async def stubborn(heard: list[int]) -> None:
    async def worker(number: int) -> None:
        try:
            for turn in range(10):
                heard.append(10 * number + turn)
                await asyncio.sleep(0.1)
        finally:
            await asyncio.sleep(1)  # cleaning up takes its time; after a power loss it never happens

    async with asyncio.TaskGroup() as group:
        for number in range(3):
            group.create_task(worker(number))


def test_a_crash_stops_dead_at_every_step_and_the_steps_before_are_always_the_same():
    whole: list[int] = []
    loop = VirtualLoop()
    loop.run(stubborn(whole))
    steps = loop.steps
    loop.close_abruptly()
    for crash_at in range(0, steps, 7):
        heard: list[int] = []
        loop = VirtualLoop()
        loop.crash_at = crash_at
        with pytest.raises(PowerLost):
            loop.run(stubborn(heard))
        assert loop.steps == crash_at
        assert heard == whole[: len(heard)]
        loop.close_abruptly()
    gc.collect()  # destructors that speak would be warnings, and warnings are errors here


def test_a_task_that_will_not_die_does_not_hold_up_the_undertaker():
    async def undying() -> None:
        while True:
            try:
                await asyncio.sleep(1)
            except asyncio.CancelledError:
                await asyncio.Event().wait()

    loop = VirtualLoop()
    loop.crash_at = 5
    with pytest.raises(PowerLost):
        loop.run(undying())
    loop.close_abruptly(patience=100)
    assert loop.is_closed()
