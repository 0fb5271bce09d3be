"""What was said while nobody listened: which conversations to ask, from where on, and no more than is wanted."""

import asyncio
from collections.abc import Iterable
from datetime import timedelta
from typing import Any, Final

import discord
import msgspec
from discord.utils import time_snowflake, utcnow

from fairlead.channels.discord.inbound.places import CHANNEL, Places
from fairlead.channels.discord.outbound.rest import DELIVERY_ERRORS, RestCalls
from fairlead.channels.push.rate_limit import Urgency
from fairlead.core.ids import ConversationAddress
from fairlead.core.keys import parse_session_key
from fairlead.core.retention import highest_rising
from fairlead.core.state import State
from fairlead.observe import log
from fairlead.ports import DeliveryImpossible

_PAGE: Final = 100


BEYOND: Final = 200
"""So many messages more than are wanted are still read, so that each leaves its fact; nothing is read without end."""


class Bounds(msgspec.Struct, frozen=True):
    hours: float
    messages: int


class Found(msgspec.Struct, frozen=True):
    """What was said, oldest first: what is looked at, and before it what is too much."""

    too_many: list[discord.Message] = []
    wanted: list[discord.Message] = []


def last_seen(state: State) -> dict[ConversationAddress, int]:
    """Per conversation the newest message that left a fact, or the floor behind which nothing is taken."""
    seen = dict(state.dedupe_floors)
    for day in (state.outcomes_today, *state.outcomes_by_day.values()):
        for address, outcomes in day.items():
            seen[address] = max(seen.get(address, -1), highest_rising(outcomes))
    return seen


class CatchUp:
    def __init__(self, rest: RestCalls, places: Places, bounds: Bounds) -> None:
        self._rest = rest
        self._places = places
        self._bounds = bounds
        self._asked: dict[int, int] = {}
        self._threads: dict[int, int] = {}
        self._news: dict[int, int] | None = None
        self._asking = asyncio.Lock()

    def oldest(self) -> int:
        """The id that a message of the oldest wanted age would have."""
        return time_snowflake(utcnow() - timedelta(hours=self._bounds.hours))

    def conversations(self, state: State) -> dict[int, int]:
        """Every bound conversation of ours, with the message after which to ask; age is judged message by message."""
        seen = last_seen(state)
        found: dict[int, int] = {}
        for binding in state.bindings.values():
            place = binding.conversation
            if place.channel == CHANNEL and binding.status == "active" and place.conversation_id.isdecimal():
                began = int(place.conversation_id)  # a thread's id is older than everything said in it
                since = seen.get(place.address, began)
                queued = [
                    int(j.message_id) - 1
                    for j in state.jobs.values()
                    if j.state == "queued" and j.conversation.address == place.address and j.message_id.isdecimal()
                ]
                found[int(place.conversation_id)] = min([since, *queued])
        return found

    def begin(self, state: State) -> dict[int, int]:
        """A new gateway session: whom to ask, and from where on."""
        self._asked = self.conversations(state)
        self._threads = _threads_of(state)
        self._news = None
        return self._asked

    async def _has_news(self, channel_id: int, since: int) -> bool:
        """One call for all threads of a server tells which are worth a call of their own. Those that sleep are not
        among them, and may have fallen asleep behind a message that nobody heard."""
        if channel_id not in self._threads:
            return True
        async with self._asking:
            if self._news is None:
                self._news = await self._newest_in_threads()
        return self._news.get(channel_id, since + 1) > since

    async def _newest_in_threads(self) -> dict[int, int]:
        newest: dict[int, int] = {}
        for guild_id in set(self._threads.values()):
            try:
                listed: Any = await self._rest.until_done(
                    Urgency.CATCH_UP, lambda client, g=guild_id: client.http.get_active_threads(g)
                )
            except DeliveryImpossible as refused:  # thrown out of one server, we still listen in the others
                log.info("a server lists no threads", guild_id=str(guild_id), message=repr(refused))
                continue
            newest |= {int(t["id"]): int(t.get("last_message_id") or t["id"]) for t in listed["threads"]}
        return newest

    async def missed(self, channel_id: int, since: int) -> Found:
        """The newest messages after `since`, however long Discord takes to tell: live ones wait behind them. That
        there are more than can be named one by one is said."""
        most = self._bounds.messages + BEYOND
        try:
            if not await self._has_news(channel_id, since):
                return Found()
            found = await self._rest.until_done(
                Urgency.CATCH_UP, lambda client: _newest(client, channel_id, since, most + 1)
            )
        except DELIVERY_ERRORS as condition:
            log.warning("could not catch up", conversation=str(channel_id), message=repr(condition))
            return Found()
        if len(found) > most:
            log.warning("more was missed than is looked at", conversation=str(channel_id), limit=most)
        found = found[-most:]
        beyond = max(0, len(found) - self._bounds.messages)
        return Found(found[:beyond], found[beyond:])


def _threads_of(state: State) -> dict[int, int]:
    """The threads that have sessions, each with its server."""
    found: dict[int, int] = {}
    for key in map(parse_session_key, state.sessions):
        if key is not None and key.kind == "thread" and key.space_id and key.target_id.isdecimal():
            found[int(key.target_id)] = int(key.space_id)
    return found


async def _newest(client: discord.Client, channel_id: int, since: int, limit: int) -> list[discord.Message]:
    found: list[discord.Message] = []
    async for message in client.get_partial_messageable(channel_id).history(limit=limit):
        if message.id <= since:
            break
        found.append(message)
    return found[::-1]


def people_to_open(owner_id: str, allowed: Iterable[str]) -> list[int]:
    """Whose direct messages are asked for by their own id: a first word may have been missed."""
    return [int(user_id) for user_id in dict.fromkeys((owner_id, *allowed)) if user_id.isdecimal()]
