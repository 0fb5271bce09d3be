"""Every event of the gateway that is about a message, put into the inbox of its conversation and handled in order.

Requests to catch up go into the same inboxes: live messages wait behind the missed ones.
"""

from typing import assert_never

import discord

from fairlead.channels.discord.inbound.bot_identity import BotIdentity
from fairlead.channels.discord.inbound.catch_up import CatchUp
from fairlead.channels.discord.inbound.events import (
    CatchUpRequest,
    InboundEvent,
    MessageDeletion,
    MessageEdit,
    MessageReaction,
    ReceivedMessage,
    is_covered,
)
from fairlead.channels.discord.inbound.message_handler import MessageHandler
from fairlead.channels.discord.inbound.missed_messages import MissedMessages
from fairlead.channels.discord.outbound.sent_nonces import SentNonces
from fairlead.channels.push.inbox import ConversationInboxes
from fairlead.kit.tasks import TaskOwner
from fairlead.observe import log


class InboundMessages:
    def __init__(
        self,
        *,
        identity: BotIdentity,
        sent_nonces: SentNonces,
        handler: MessageHandler,
        missed: MissedMessages,
        catch_up: CatchUp,
        owner: TaskOwner,
    ) -> None:
        self._identity = identity
        self._sent_nonces = sent_nonces
        self._handler = handler
        self._missed = missed
        self._catch_up = catch_up
        self._inboxes = ConversationInboxes(self._handle, owner, is_covered)
        self._is_halted = False

    def catch_up(self) -> None:
        """In every conversation of ours, after a new gateway session: Discord does not send missed messages again."""
        for channel_id, since in self._catch_up.begin().items():
            self.catch_up_in(channel_id, since)

    def catch_up_in(self, channel_id: int, since: int) -> None:
        self._put(channel_id, CatchUpRequest(since, self._catch_up.oldest()))

    def take_message(self, message: discord.Message) -> None:
        if message.author.id != self._identity.bot_id:
            self._put(message.channel.id, ReceivedMessage(message))
            return
        nonce = None if message.nonce is None else str(message.nonce)
        if not self._sent_nonces.take_echo(nonce, message.id):
            self._halt()

    def take_edit(self, message: discord.Message) -> None:
        self._put(message.channel.id, MessageEdit(message))

    def take_deletion(self, channel_id: int, message_id: int) -> None:
        self._put(channel_id, MessageDeletion(message_id))

    def take_reaction(self, channel_id: int, reaction: MessageReaction) -> None:
        self._put(channel_id, reaction)

    def _put(self, channel_id: int, event: InboundEvent) -> None:
        if not self._is_halted:
            self._inboxes.put(channel_id, event)

    def _halt(self) -> None:
        """Two daemons on one token would answer everything twice."""
        if not self._is_halted:
            self._is_halted = True
            log.error(
                "discord",
                message="Another Fairlead sends with this bot's token. This one takes no more messages from Discord: "
                "stop one of them, or give each its own bot.",
            )

    async def _handle(self, channel_id: int, event: InboundEvent) -> None:
        match event:
            case ReceivedMessage():
                await self._handler.submit(event.message)
            case MessageEdit():
                await self._handler.amend(event.message)
            case MessageDeletion():
                await self._handler.withdraw(channel_id, event.message_id)
            case MessageReaction():
                await self._handler.submit_reaction(channel_id, event)
            case CatchUpRequest():
                await self._missed.handle(channel_id, event)
            case _:
                assert_never(event)
