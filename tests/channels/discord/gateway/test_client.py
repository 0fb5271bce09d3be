"""The pace of identifying at the gateway."""

import asyncio
import itertools

import pytest

from fairlead.channels.discord.gateway.client import IdentifyPace
from fairlead.testing.clock import run_virtually

pytestmark = pytest.mark.anyio


def test_identifies_are_five_seconds_apart_and_four_a_minute() -> None:
    async def story() -> None:
        pace, times = IdentifyPace(), []
        for _ in range(9):
            await pace.wait_for_turn()
            times.append(asyncio.get_running_loop().time())
        gaps = [b - a for a, b in itertools.pairwise(times)]
        assert min(gaps) >= 5.0
        assert all(b - a >= 60.0 for a, b in zip(times, times[4:], strict=False))

    run_virtually(story())


@pytest.mark.req("A1")
def test_a_gateway_that_throws_us_out_for_days_never_costs_the_thousand_identifies_of_a_day() -> None:
    """Past them Discord resets the bot's token."""

    async def story() -> None:
        pace, times = IdentifyPace(), []
        while not times or times[-1] - times[0] < 3 * 86400:
            await pace.wait_for_turn()
            times.append(asyncio.get_running_loop().time())
        assert all(b - a >= 86400 for a, b in zip(times, times[999:], strict=False))
        assert max(b - a for a, b in itertools.pairwise(times)) <= 300  # and never away for long

    run_virtually(story())
