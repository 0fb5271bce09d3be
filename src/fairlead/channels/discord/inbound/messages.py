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
from fairlead.channels.discord.inbound.missed_messages import Backlog, MissedMessages
from fairlead.channels.discord.outbound.other_daemons import OtherDaemons
from fairlead.channels.discord.outbound.sent_nonces import SentNonces
from fairlead.channels.push.inbox import ConversationInboxes
from fairlead.kit.tasks import TaskOwner
from fairlead.ports import View


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
        view: View,
        others: OtherDaemons,
    ) -> None:
        self._identity = identity
        self._view = view
        self._others = others
        self._sent_nonces = sent_nonces
        self._handler = handler
        self._missed = missed
        self._catch_up = catch_up
        self._inboxes = ConversationInboxes(self._handle, owner, is_covered)
        self._owner = owner
        self._backlogged: set[int] = set()

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
        self._sent_nonces.take_echo(nonce, message.id)
        self._others.hear(nonce, message.id, message.channel.id)

    def take_edit(self, message: discord.Message) -> None:
        self._put(message.channel.id, MessageEdit(message))

    def take_deletion(self, channel_id: int, message_id: int) -> None:
        self._put(channel_id, MessageDeletion(message_id))

    def take_reaction(self, channel_id: int, reaction: MessageReaction) -> None:
        self._put(channel_id, reaction)

    def _put(self, channel_id: int, event: InboundEvent) -> None:
        self._inboxes.put(channel_id, event)

    async def _handle(self, channel_id: int, event: InboundEvent) -> None:
        if not await self._others.may_serve():
            return  # another daemon takes it; if that one ends, this one catches up
        match event:
            case ReceivedMessage():
                if channel_id not in self._backlogged:  # else it is read from the history, in its turn
                    await self._handler.submit(event.message)
            case MessageEdit():
                await self._handler.amend(event.message)
            case MessageDeletion():
                await self._handler.withdraw(channel_id, event.message_id)
            case MessageReaction():
                await self._handler.submit_reaction(channel_id, event)
            case CatchUpRequest():
                await self._catch_up_with(channel_id, event)
            case _:
                assert_never(event)

    async def _catch_up_with(self, channel_id: int, request: CatchUpRequest) -> None:
        if channel_id in self._backlogged:
            return  # the request that goes on reads everything that this one would
        backlog = await self._missed.handle(channel_id, request)
        if backlog is not None:
            self._backlogged.add(channel_id)
            self._owner.start(self._go_on_with_room(channel_id, backlog), name=f"backlog of {channel_id}")

    async def _go_on_with_room(self, channel_id: int, backlog: Backlog) -> None:
        """A job that begins makes room in its session's queue. No message may be handled between the end of the backlog
        and the request that goes on: it would come before older ones."""
        to = backlog.conversation
        watch = self._view.watch()
        try:
            while not self._view.has_room(to.ref, to.session_key):
                await anext(aiter(watch))
        finally:
            await watch.aclose()
        self._backlogged.discard(channel_id)
        self._put(channel_id, CatchUpRequest(backlog.since, 0, goes_on=True))
