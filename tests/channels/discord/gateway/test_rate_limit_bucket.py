"""What a bucket of Discord lets through while its window is longer than we would wait."""

import asyncio
from types import SimpleNamespace
from typing import Any

import discord
import pytest

from fairlead.channels.discord.gateway.rate_limit_bucket import RateLimitBucket
from fairlead.testing.clock import run_virtually


def response(*, limit: int, remaining: int, reset_after: float) -> Any:
    """What `update` reads of a response."""
    headers = {
        "X-Ratelimit-Limit": str(limit),
        "X-Ratelimit-Remaining": str(remaining),
        "X-Ratelimit-Reset-After": str(reset_after),
    }
    return SimpleNamespace(headers=headers)


async def request(bucket: RateLimitBucket, *, limit: int, remaining: int) -> None:
    async with bucket:
        await asyncio.sleep(0.1)
        bucket.update(response(limit=limit, remaining=remaining, reset_after=300.0))


def test_while_discord_takes_requests_none_waits_for_the_end_of_the_window() -> None:
    async def story() -> None:
        bucket = RateLimitBucket(60.0)
        for remaining in (49, 48, 47):
            await request(bucket, limit=50, remaining=remaining)
        assert asyncio.get_running_loop().time() < 60

    run_virtually(story())


def test_requests_that_waited_for_the_first_response_go_on_after_it() -> None:
    async def story() -> None:
        bucket = RateLimitBucket(60.0)
        await asyncio.gather(*(request(bucket, limit=50, remaining=remaining) for remaining in (49, 48, 47)))

    run_virtually(story())


def test_when_none_remains_the_next_request_is_refused_with_the_time_to_wait() -> None:
    async def story() -> None:
        bucket = RateLimitBucket(60.0)
        bucket.update(response(limit=2, remaining=0, reset_after=300.0))
        with pytest.raises(discord.RateLimited) as refused:
            await bucket.acquire()
        assert refused.value.retry_after == 300.0

    run_virtually(story())
