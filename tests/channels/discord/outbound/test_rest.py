"""Calls of Discord's REST API that are repeated until they succeed."""

import asyncio
from types import SimpleNamespace
from typing import Any

import discord
import pytest

from fairlead.channels.discord.outbound.rest import (
    CALLS_PER_SECOND,
    RATE_LIMIT_WAIT_SEC,
    CurrentClient,
    RestCalls,
    delivery_error_of,
)
from fairlead.channels.push.rate_limit import RateLimit, Urgency
from fairlead.ports import DeliveryLater
from fairlead.testing.clock import run_virtually

pytestmark = pytest.mark.anyio


def test_a_client_that_insists_while_the_token_is_refused_costs_a_handful_of_requests_a_minute() -> None:
    async def story() -> None:
        is_refused = True
        asked: list[float] = []
        returns: list[float] = []
        loop = asyncio.get_running_loop()
        client: Any = SimpleNamespace()
        rest = RestCalls(RateLimit(CALLS_PER_SECOND), CurrentClient(client), lambda: returns.append(loop.time()))

        async def work(_: discord.Client) -> str:
            asked.append(loop.time())
            if is_refused:
                response: Any = SimpleNamespace(status=401, reason="Unauthorized")
                raise discord.HTTPException(response, {"code": 0, "message": "401: Unauthorized"})
            return "done"

        waiting = [asyncio.ensure_future(rest.until_done(Urgency.MARK, work)) for _ in range(50)]
        await asyncio.sleep(600)
        assert 20 <= len(asked) <= 45
        is_refused = False
        assert set(await asyncio.gather(*waiting)) == {"done"}
        assert len(returns) == 1

    run_virtually(story())


@pytest.mark.req("A2")
@pytest.mark.parametrize(("header", "wait"), [({"Retry-After": "77"}, 77.0), ({}, RATE_LIMIT_WAIT_SEC)])
def test_a_429_is_waited_out_as_long_as_it_says_whatever_its_body_is(header: dict[str, str], wait: float) -> None:
    response: Any = SimpleNamespace(status=429, reason="Too Many Requests", headers=header)
    later = delivery_error_of(discord.HTTPException(response, "<html>for people</html>"))
    assert isinstance(later, DeliveryLater)
    assert (later.wait_sec, later.must_wait) == (wait, True)
