"""One client on its way to the gateway, and how it is ended."""

import asyncio
from typing import Any

from fairlead.channels.discord.gateway.attempt import GatewayAttempt
from tests.flow.harness import virtually


class DeafClient:
    """A client of discord.py in the moment in which its socket opens: there it loses the first cancellation."""

    def __init__(self) -> None:
        self.is_closed = False

    async def login(self, token: str) -> None:
        pass

    async def connect(self) -> None:
        try:
            await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            await asyncio.get_running_loop().create_future()

    async def close(self) -> None:
        self.is_closed = True


@virtually
async def test_a_client_that_loses_a_cancellation_is_ended_all_the_same():
    client: Any = DeafClient()
    attempt = GatewayAttempt(client, "token")
    await attempt.until_logged_in()
    async with asyncio.timeout(60):
        await attempt.aclose()
        await attempt.aclose()
    assert client.is_closed
