"""Reads the messages that came while we were not connected: of which conversations, from where on, and how many."""

import asyncio
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any, Final

import discord
import msgspec
from discord.utils import time_snowflake, utcnow

from fairlead.channels.discord.inbound.conversations import CHANNEL, guild_of
from fairlead.channels.discord.inbound.inbound_message import said_message_id
from fairlead.channels.discord.outbound.rest import DELIVERY_ERRORS, RestCalls
from fairlead.channels.push.rate_limit import Urgency
from fairlead.core.keys import parse_session_key
from fairlead.core.views import ConversationView
from fairlead.observe import log
from fairlead.ports import DeliveryImpossible, View

BEYOND: Final = 200
"""So many messages more than are wanted are still read, so that each leaves its fact; the reading has an end."""


PAGE: Final = 50


class CatchUpBounds(msgspec.Struct, frozen=True):
    hours: float
    messages: int


class MissedHistory(msgspec.Struct, frozen=True):
    """Messages, oldest first: the newest are wanted, those before them are more than the settings allow."""

    too_many: list[discord.Message] = []
    wanted: list[discord.Message] = []


class CatchUp:
    def __init__(self, rest: RestCalls, view: View, bounds: CatchUpBounds) -> None:
        self._rest = rest
        self._view = view
        self._bounds = bounds
        self._threads: dict[int, int] = {}
        self._newest: dict[int, int] | None = None
        self._listing = asyncio.Lock()

    def oldest(self) -> int:
        """The id that a message of the oldest wanted age would have."""
        return time_snowflake(utcnow() - timedelta(hours=self._bounds.hours))

    def _conversations(self) -> dict[int, int]:
        """Every bound conversation of ours, with the message after which to read; the age of each message is judged
        later. One that a reaction or a command bound has no message that was seen."""
        found: dict[int, int] = {}
        founding = founding_id(self._view)
        for bound in self._view.bound_conversations(CHANNEL):
            conversation = bound.conversation
            if conversation.conversation_id.isdecimal():
                began = int(conversation.conversation_id)  # a conversation's id is older than everything said in it
                seen = self._view.last_message_seen(conversation)
                queued = filter(None, map(said_message_id, self._view.queued_jobs(conversation)))
                since = max(began, founding) if seen is None else seen
                found[began] = min([since, *(message_id - 1 for message_id in queued)])
        return found

    def begin(self) -> dict[int, int]:
        """For a new gateway session: which conversations to read, and from where on."""
        self._threads = _threads_among(self._view.bound_conversations(CHANNEL))
        self._newest = None
        return self._conversations()

    async def _has_news(self, channel_id: int, since: int) -> bool:
        """One call for all active threads of a server tells which are worth a call of their own. Archived threads are
        not listed, and may have been archived after a message that we missed: those are always read."""
        if channel_id not in self._threads:
            return True
        async with self._listing:
            if self._newest is None:
                self._newest = await self._newest_in_threads()
        return self._newest.get(channel_id, since + 1) > since

    async def _newest_in_threads(self) -> dict[int, int]:
        newest: dict[int, int] = {}
        for guild_id in set(self._threads.values()):
            try:
                listed: Any = await self._rest.until_done(
                    Urgency.CATCH_UP, lambda client, g=guild_id: client.http.get_active_threads(g)
                )
            except DeliveryImpossible as refused:  # removed from one server, the bot still listens in the others
                log.info("a server lists no threads", guild_id=str(guild_id), message=repr(refused))
                continue
            newest |= {int(t["id"]): int(t.get("last_message_id") or t["id"]) for t in listed["threads"]}
        return newest

    async def fetch(self, channel_id: int, since: int) -> MissedHistory:
        """The newest messages after `since`, however long Discord takes to tell: live ones wait behind them. If there
        are more than are read, the log says so."""
        most = self._bounds.messages + BEYOND
        try:
            if not await self._has_news(channel_id, since):
                return MissedHistory()
            found = await self._rest.until_done(
                Urgency.CATCH_UP, lambda client: _newest(client, channel_id, since, most + 1)
            )
        except DELIVERY_ERRORS as failure:
            log.warning("could not catch up", conversation=str(channel_id), message=repr(failure))
            return MissedHistory()
        if len(found) > most:
            log.warning("more was missed than is looked at", conversation=str(channel_id), limit=most)
        found = found[-most:]
        beyond = max(0, len(found) - self._bounds.messages)
        return MissedHistory(found[:beyond], found[beyond:])

    async def fetch_next(self, channel_id: int, since: int) -> list[discord.Message]:
        """The oldest messages after `since`, at most PAGE of them."""
        try:
            return await self._rest.until_done(
                Urgency.CATCH_UP, lambda client: _oldest_after(client, channel_id, since, PAGE)
            )
        except DELIVERY_ERRORS as failure:
            log.warning("could not catch up", conversation=str(channel_id), message=repr(failure))
            return []


def founding_id(view: View) -> int:
    """The id that a message from the founding of this state directory would have. Older ones were said to another
    Fairlead, or to another program that had this bot, and are no prompts."""
    return time_snowflake(datetime.fromisoformat(view.founding_time)) if view.founding_time else 0


def _threads_among(conversations: Iterable[ConversationView]) -> dict[int, int]:
    """The threads that have sessions of their own, each with its server."""
    found: dict[int, int] = {}
    for key in (parse_session_key(each.session_key) for each in conversations):
        guild_id = guild_of(key)
        if key is not None and key.kind == "thread" and guild_id is not None and key.target_id.isdecimal():
            found[int(key.target_id)] = guild_id
    return found


async def _oldest_after(client: discord.Client, channel_id: int, since: int, limit: int) -> list[discord.Message]:
    history = client.get_partial_messageable(channel_id).history(limit=limit, after=discord.Object(since))
    return [message async for message in history]


async def _newest(client: discord.Client, channel_id: int, since: int, limit: int) -> list[discord.Message]:
    found: list[discord.Message] = []
    async for message in client.get_partial_messageable(channel_id).history(limit=limit):
        if message.id <= since:
            break
        found.append(message)
    return found[::-1]
