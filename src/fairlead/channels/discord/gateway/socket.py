"""discord.py's gateway socket, which reads nothing that Discord sends until the client has a listener."""

from collections.abc import Awaitable, Callable
from typing import Any, Self

import discord.client
from discord.gateway import DiscordWebSocket


class GatewaySocket(DiscordWebSocket):
    """A start connects before the state is read. Frames that come in between wait in the socket, in their order: not
    read, they can be neither lost nor answered. HELLO is read at once, so that IDENTIFY can follow."""

    _until_listened: Callable[[], Awaitable[None]] | None = None

    @classmethod
    async def from_client(cls, client: Any, **how: Any) -> Self:
        opened = await super().from_client(client, **how)
        opened._until_listened = client.until_listened  # noqa: SLF001 - our own, on an object of our own class
        return opened

    async def poll_event(self) -> None:
        if self._until_listened is not None:
            await self._until_listened()
        await super().poll_event()


def use_in_every_client() -> None:
    """discord.py has no setting for it."""
    discord.client.DiscordWebSocket = GatewaySocket  # pyright: ignore[reportPrivateImportUsage]
