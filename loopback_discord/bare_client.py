"""A plain discord.py client of the test's own process, pointed at the loopback Discord.

For tests of the loopback itself.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import discord
import discord.http
import yarl
from discord import app_commands
from discord.gateway import DiscordWebSocket

from .board import PATIENCE_SEC
from .server import LoopbackDiscord

WANTED = discord.Intents(
    guilds=True, guild_messages=True, dm_messages=True, message_content=True, guild_reactions=True,
    dm_reactions=True,
)  # fmt: skip


class BareClient(discord.Client):
    """Keeps what it heard, and wakes the server's board so that tests can wait for it."""

    def __init__(self, server: LoopbackDiscord, **options: Any) -> None:
        options.setdefault("intents", WANTED)
        super().__init__(guild_ready_timeout=0.05, **options)
        self.server = server
        self.tree = app_commands.CommandTree(self)
        self.heard: list[tuple[str, Any]] = []

    def dispatch(self, event: str, /, *args: Any, **kwargs: Any) -> None:
        super().dispatch(event, *args, **kwargs)
        if not event.startswith("socket"):
            self.heard.append((event, args[0] if args else None))
            self.server.board.changed()

    async def before_identify_hook(self, shard_id: int | None, *, initial: bool = False) -> None:
        """discord.py's own waits five seconds before every IDENTIFY but the first."""

    def of(self, event: str) -> list[Any]:
        return [value for name, value in self.heard if name == event]

    async def hears(self, event: str, *, times: int = 1, timeout: float = PATIENCE_SEC) -> Any:
        """The newest of that many such events."""
        found = await self.server.wait_for(
            lambda: got if len(got := self.of(event)) >= times else None,
            timeout=timeout, what=f"{times} x {event} at the client",
        )  # fmt: skip
        return found[-1]


def point_at(server: LoopbackDiscord) -> None:
    discord.http.Route.BASE = server.api
    DiscordWebSocket.DEFAULT_GATEWAY = yarl.URL(server.gateway_url)


@asynccontextmanager
async def connected(
    server: LoopbackDiscord, client: BareClient | None = None, *, commands: bool = False
) -> AsyncIterator[BareClient]:
    """A client that is ready, with its global commands registered if wanted; closed at the end."""
    point_at(server)
    client = client or BareClient(server)
    async with client:
        await client.login(server.token)
        if commands:
            await client.tree.sync()
        running = asyncio.create_task(client.connect())
        try:
            await client.hears("ready")
            yield client
        finally:
            await client.close()
            with suppress(asyncio.CancelledError, discord.ConnectionClosed):  # the server's logs tell of those
                await running
