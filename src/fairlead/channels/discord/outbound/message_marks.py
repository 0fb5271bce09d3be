"""Marks on Discord messages: each is a reaction of the bot's. Which mark belongs to a job is decided elsewhere."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Final

import discord
import msgspec

from fairlead.channels.discord.outbound.rest import RestCalls
from fairlead.channels.push.marks import WantedMarks
from fairlead.channels.push.rate_limit import Urgency
from fairlead.core.conversation import ConversationRef
from fairlead.core.ids import MessageId
from fairlead.kit.tasks import TaskOwner

REACTION_GAP_SEC: Final = 0.3
"""Discord takes one reaction in a quarter of a second for each channel. Setting and removing share that limit, which
discord.py learns only from a refusal."""

_CHANNELS: Final = 1000


class MessageAddress(msgspec.Struct, frozen=True):
    """Where a message stands: Discord's REST API finds no message by its own id alone."""

    channel_id: int
    message_id: int

    def __str__(self) -> str:
        return f"{self.channel_id}/{self.message_id}"


class _Pace:
    """One call about a reaction at a time in a channel."""

    def __init__(self) -> None:
        self.turn = asyncio.Lock()
        self.free_at = 0.0


class MessageMarks:
    def __init__(self, rest: RestCalls, owner: TaskOwner) -> None:
        self._rest = rest
        self._wanted = WantedMarks(self._add_reaction, self._remove_reaction, owner)
        self._paces: dict[int, _Pace] = {}

    def want(self, message: MessageAddress, mark: str, *, may_stand: Iterable[str] = ()) -> None:
        self._wanted.want(message, mark, may_stand=may_stand)

    def want_in(
        self, conversation: ConversationRef, message_id: MessageId, mark: str, may_stand: tuple[str, ...]
    ) -> None:
        if conversation.conversation_id.isdecimal() and message_id.isdecimal():
            address = MessageAddress(int(conversation.conversation_id), int(message_id))
            self.want(address, mark, may_stand=may_stand)

    async def _add_reaction(self, message: MessageAddress, mark: str) -> None:
        await self._call(
            message,
            Urgency.MARK,
            lambda client: (
                client.get_partial_messageable(message.channel_id)
                .get_partial_message(message.message_id)
                .add_reaction(mark)
            ),
        )

    async def _remove_reaction(self, message: MessageAddress, mark: str) -> None:
        """Behind every other call: the new mark stands already."""
        await self._call(
            message,
            Urgency.TYPING,
            lambda client: client.http.remove_own_reaction(message.channel_id, message.message_id, mark),
        )

    async def _call(
        self, message: MessageAddress, urgency: Urgency, call: Callable[[discord.Client], Awaitable[object]]
    ) -> None:
        loop = asyncio.get_running_loop()
        pace = self._find_pace(message.channel_id)
        async with pace.turn:
            await asyncio.sleep(pace.free_at - loop.time())
            try:
                await self._rest.until_done(urgency, call)
            finally:
                pace.free_at = loop.time() + REACTION_GAP_SEC

    def _find_pace(self, channel_id: int) -> _Pace:
        if channel_id not in self._paces and len(self._paces) >= _CHANNELS:
            self._paces = {channel: pace for channel, pace in self._paces.items() if pace.turn.locked()}
        return self._paces.setdefault(channel_id, _Pace())
