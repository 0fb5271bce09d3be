"""Calls of Discord's REST API that are repeated until they succeed."""

import asyncio
from types import SimpleNamespace
from typing import Any

import discord
import pytest

from fairlead.channels.discord.outbound.rest import CALLS_PER_SECOND, CurrentClient, RestCalls
from fairlead.channels.push.rate_limit import RateLimit, Urgency
from fairlead.testing.clock import run_virtually

pytestmark = pytest.mark.anyio


def test_whoever_insists_while_the_token_is_refused_costs_a_handful_of_requests_a_minute() -> None:
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
