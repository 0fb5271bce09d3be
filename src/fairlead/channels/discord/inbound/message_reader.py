"""Reads a Discord message as an `Inbound`, if it is for the agent and its author may talk to it. Submits nothing."""

import re
from typing import Final

import discord

from fairlead.channels.discord.inbound.bot_identity import BotIdentity
from fairlead.channels.discord.inbound.conversations import (
    DiscordConversation,
    DiscordConversations,
    guild_id_of,
    guild_of,
    names_us,
)
from fairlead.channels.discord.inbound.inbound_message import inbound_of
from fairlead.channels.discord.inbound.stranger_log import StrangerLog
from fairlead.channels.discord.outbound.rest import DELIVERY_ERRORS, RestCalls
from fairlead.channels.push.rate_limit import Urgency
from fairlead.core.inbound import Inbound
from fairlead.core.keys import parse_session_key
from fairlead.observe import log
from fairlead.ports import Gate, View

_PROMPTS: Final = frozenset({discord.MessageType.default, discord.MessageType.reply})


class MessageReader:
    def __init__(
        self,
        gate: Gate,
        view: View,
        *,
        conversations: DiscordConversations,
        rest: RestCalls,
        stranger_log: StrangerLog,
        identity: BotIdentity,
    ) -> None:
        self._gate = gate
        self._view = view
        self._conversations = conversations
        self._rest = rest
        self._stranger_log = stranger_log
        self._identity = identity

    async def read(self, message: discord.Message, known: DiscordConversation | None = None) -> Inbound | None:
        """None for every message that is not meant for the agent, or whose author may not talk to it. `known` is the
        message's conversation, for messages read from the history: those do not say which server they are from."""
        if message.author.bot or message.webhook_id is not None or message.type not in _PROMPTS:
            return None
        guild_id = known.guild_id if known is not None else guild_id_of(message)
        if not self._conversations.serves(guild_id):
            return None
        person = self._conversations.person(message.author.id)
        mention = await self._identity.mention_in(message)
        if not self._gate.allows(person):
            self._note_stranger(message, guild_id, mention)
            return None
        conversation = known or await self.find_conversation(
            message.channel, guild_id, message.channel.id, message.author.id
        )
        if conversation is None or not self._is_addressed(message, conversation, mention):
            return None
        return inbound_of(message, conversation, person=person, mention=mention, may_be_quoted=self._may_be_quoted)

    async def find_conversation(
        self, channel: object, guild_id: int | None, channel_id: int, user_id: int
    ) -> DiscordConversation | None:
        """As discord.py or the journal knows it; Discord is asked only if both do not."""
        conversation = self._conversations.of(channel, guild_id=guild_id, channel_id=channel_id, user_id=user_id)
        conversation = conversation or self.bound_conversation(channel_id)
        if conversation is not None:
            return conversation
        try:
            fetched = await self._rest.until_done(Urgency.ANSWER, lambda client: client.fetch_channel(channel_id))
        except DELIVERY_ERRORS as failure:
            log.warning("unknown conversation", conversation=str(channel_id), message=repr(failure))
            return None
        return self._conversations.of(fetched, guild_id=guild_id, channel_id=channel_id, user_id=user_id)

    def bound_conversation(self, channel_id: int) -> DiscordConversation | None:
        """The conversation as the journal knows it, for events in which Discord tells no more than its id."""
        bound = self._view.conversation(self._conversations.ref(channel_id))
        key = parse_session_key(bound.session_key) if bound is not None else None
        if bound is None or key is None:
            return None
        parent = bound.conversation.parent_conversation_id
        kind = "thread" if parent is not None else ("dm" if key.kind == "user" else key.kind)
        return DiscordConversation(kind, bound.conversation, key, guild_of(key))

    def _note_stranger(self, message: discord.Message, guild_id: int | None, mention: re.Pattern[str]) -> None:
        if guild_id is None or names_us(message, self._identity.bot_id, mention) or self._is_bound(message.channel.id):
            self._stranger_log.note(message.author.id, "a message")

    def _is_bound(self, channel_id: int) -> bool:
        return self._view.conversation(self._conversations.ref(channel_id)) is not None

    def _is_addressed(
        self, message: discord.Message, conversation: DiscordConversation, mention: re.Pattern[str]
    ) -> bool:
        """Managed threads and direct messages need no mention; a channel needs it every time."""
        if conversation.kind == "dm" or (conversation.kind == "thread" and self._is_bound(message.channel.id)):
            return True
        return names_us(message, self._identity.bot_id, mention)

    def _may_be_quoted(self, quoted: discord.Message) -> bool:
        if self._identity.wrote(quoted):
            return True
        return not quoted.author.bot and self._gate.allows(self._conversations.person(quoted.author.id))
