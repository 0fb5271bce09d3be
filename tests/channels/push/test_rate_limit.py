"""The rate limit, in virtual time: never faster than the pace, the urgent calls first."""

import asyncio
import itertools

import pytest

from fairlead.channels.discord.outbound.rest import CALLS_PER_SECOND
from fairlead.channels.push.rate_limit import RateLimit, Urgency
from fairlead.testing.clock import run_virtually


def test_never_more_calls_a_second_than_the_pace_and_the_urgent_ones_first() -> None:
    async def story() -> None:
        rate_limit, made = RateLimit(10, 3, answers_at_once=2), []
        loop = asyncio.get_running_loop()

        async def call(urgency: Urgency) -> None:
            await rate_limit.acquire(urgency)
            made.append((loop.time(), urgency))

        async with asyncio.TaskGroup() as group:
            for _ in range(30):
                group.create_task(call(Urgency.STATUS))
            for _ in range(5):
                group.create_task(call(Urgency.ANSWER))
        times = [at for at, _ in made]
        assert all(later - earlier >= 0.999 for earlier, later in zip(times, times[15:], strict=False))
        assert times[-1] - times[0] == pytest.approx(3.2)
        assert [u for _, u in made[3:8]] == [Urgency.ANSWER] * 5

    run_virtually(story())


def test_ten_answers_that_are_ready_leave_together_also_behind_calls_that_only_show_something() -> None:
    async def story() -> None:
        rate_limit, left = RateLimit(34), []
        loop = asyncio.get_running_loop()

        async def call(urgency: Urgency) -> None:
            await rate_limit.acquire(urgency)
            left.append((loop.time(), urgency))

        async with asyncio.TaskGroup() as group:
            for _ in range(30):
                group.create_task(call(Urgency.MARK))
            for _ in range(12):
                group.create_task(call(Urgency.ANSWER))
        answers = [at for at, urgency in left if urgency is Urgency.ANSWER]
        assert answers[9] == left[0][0], "two marks had left before them, and ten answers leave at once"
        assert answers[-1] - left[0][0] == pytest.approx(2 / 34), "and the others go before every mark that waits"

    run_virtually(story())


def test_messages_that_nobody_has_taken_yet_are_read_before_anything_is_shown() -> None:
    async def story() -> None:
        rate_limit, left = RateLimit(10, at_once=1), []

        async def call(urgency: Urgency) -> None:
            await rate_limit.acquire(urgency)
            left.append(urgency)

        async with asyncio.TaskGroup() as group:
            for urgency in (Urgency.STATUS, Urgency.TYPING, Urgency.MARK, Urgency.FINAL_STATUS, Urgency.CATCH_UP):
                group.create_task(call(urgency))
        assert left[:3] == [Urgency.STATUS, Urgency.CATCH_UP, Urgency.FINAL_STATUS], "the first found nobody waiting"

    run_virtually(story())


def test_typing_leaves_one_by_one_so_that_a_status_never_finds_its_place_taken() -> None:
    async def story() -> None:
        rate_limit, left = RateLimit(10), []
        loop = asyncio.get_running_loop()

        async def call(urgency: Urgency) -> None:
            await rate_limit.acquire(urgency)
            left.append((loop.time(), urgency))

        async with asyncio.TaskGroup() as group:
            for _ in range(30):
                group.create_task(call(Urgency.TYPING))
            await asyncio.sleep(0.55)
            asked_at = loop.time()
            group.create_task(call(Urgency.STATUS))
        assert (asked_at, Urgency.STATUS) in left
        typing = [at for at, urgency in left if urgency is Urgency.TYPING]
        assert all(b - a >= 0.0999 for a, b in itertools.pairwise(typing))

    run_virtually(story())


@pytest.mark.parametrize("urgencies", [[Urgency.ANSWER] * 200, [Urgency.STATUS, Urgency.ANSWER, Urgency.ANSWER] * 60])
def test_no_second_sees_more_calls_than_discord_allows(urgencies: list[Urgency]) -> None:
    async def story() -> None:
        rate_limit, left = RateLimit(CALLS_PER_SECOND), []
        loop = asyncio.get_running_loop()

        async def call(urgency: Urgency) -> None:
            await rate_limit.acquire(urgency)
            left.append(loop.time())

        async with asyncio.TaskGroup() as group:
            for urgency in urgencies:
                group.create_task(call(urgency))
        assert max(sum(begin <= at < begin + 1 for at in left) for begin in left) <= 46

    run_virtually(story())


def test_who_gives_up_waiting_uses_no_turn_up() -> None:
    async def story() -> None:
        rate_limit = RateLimit(1, 1, answers_at_once=1)
        await rate_limit.acquire(Urgency.TYPING)
        impatient = asyncio.ensure_future(rate_limit.acquire(Urgency.TYPING))
        await asyncio.sleep(0)
        impatient.cancel()
        began = asyncio.get_running_loop().time()
        await rate_limit.acquire(Urgency.TYPING)
        assert asyncio.get_running_loop().time() - began == pytest.approx(1.0)

    run_virtually(story())
