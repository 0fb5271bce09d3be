"""Who the bot is on Discord. Each new gateway session fills it in."""

import asyncio
import re
from contextlib import suppress
from functools import lru_cache
from typing import Final

import discord

ROLES_WAIT_SEC: Final = 15.0


class BotIdentity:
    """Before the first session its ids match no message."""

    def __init__(self) -> None:
        self.bot_id = 0
        self._application_id: int | None = None
        self._client: discord.Client | None = None

    def learn(self, client: discord.Client) -> None:
        self.bot_id = client.user.id if client.user is not None else 0
        self._application_id = client.application_id
        self._client = client

    async def mention_in(self, message: discord.Message) -> re.Pattern[str]:
        """What names the bot in this message: its own mention, and that of the role which Discord made for it. The
        servers, with their roles, arrive after a session has begun: only a message that mentions a role waits for
        them."""
        if "<@&" not in message.content or self._client is None:
            return mention_of(self.bot_id)
        with suppress(TimeoutError):
            async with asyncio.timeout(ROLES_WAIT_SEC):
                await self._client.wait_until_ready()
        roles = [guild.self_role.id for guild in self._client.guilds if guild.self_role is not None]
        return mention_of(self.bot_id, *roles)

    def wrote(self, message: discord.Message) -> bool:
        """As the bot itself, or by a webhook of its application."""
        if message.author.id == self.bot_id:
            return True
        return self._application_id is not None and message.application_id == self._application_id


@lru_cache(maxsize=64)
def mention_of(bot_id: int, *role_ids: int) -> re.Pattern[str]:
    return re.compile("|".join((rf"<@!?{bot_id}>", *(rf"<@&{role_id}>" for role_id in role_ids))))
