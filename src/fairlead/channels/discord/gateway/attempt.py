"""One client on its way to the gateway: it logs in, connects, sends IDENTIFY and stays connected. What Discord sends is
not read before the client has a listener, so a start may begin this before it has read the state."""

import asyncio
from contextlib import suppress
from typing import Final

import aiohttp

from fairlead.channels.discord.gateway.client import GatewayClient
from fairlead.kit.tasks import OwnedTasks

CANCEL_AGAIN_SEC: Final = 0.5


class GatewayAttempt:
    def __init__(self, client: GatewayClient, token: str) -> None:
        self.client = client
        self.token = token
        self._is_logged_in = asyncio.Event()
        self._tasks = OwnedTasks("gateway")
        self._run_task = self._tasks.start(self._run(), name="client")

    async def _run(self) -> None:
        await self.client.login(self.token)
        self._is_logged_in.set()
        await self.client.connect()

    async def until_logged_in(self) -> None:
        """Raises what the login raised."""
        login = self._tasks.start(self._is_logged_in.wait(), name="login")
        await asyncio.wait({self._run_task, login}, return_when=asyncio.FIRST_COMPLETED)
        if not self._is_logged_in.is_set():
            await self.until_ended()

    async def until_ended(self) -> None:
        """Raises what ended the connection."""
        await asyncio.shield(self._run_task)

    async def aclose(self) -> None:
        """The client leaves Discord. May be called twice."""
        while not self._run_task.done():
            # discord.py waits with `asyncio.wait_for`, which in Python 3.11 loses a cancellation that comes together
            # with what it waits for.
            self._run_task.cancel()
            await asyncio.wait({self._run_task}, timeout=CANCEL_AGAIN_SEC)
        async with self._tasks:
            pass  # leaving the block cancels the tasks that are left
        if not self._run_task.cancelled():
            self._run_task.exception()  # read for asyncio, which would log it: `until_ended` has raised it
        with suppress(aiohttp.ClientError, OSError, RuntimeError):
            await self.client.close()
