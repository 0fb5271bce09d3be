"""Brings people's messages to the gate: submits them, amends and withdraws them, submits messages that somebody reacted
to. A refusal is told under the message."""

import discord
import msgspec

from fairlead.channels.discord.inbound.conversations import DiscordConversation, DiscordConversations
from fairlead.channels.discord.inbound.events import MessageReaction
from fairlead.channels.discord.inbound.inbound_message import reacted_inbound
from fairlead.channels.discord.inbound.message_reader import MessageReader
from fairlead.channels.discord.outbound.message_marks import MessageAddress
from fairlead.channels.discord.outbound.remarks import Remarks
from fairlead.channels.discord.outbound.rest import DELIVERY_ERRORS, RestCalls
from fairlead.channels.push.rate_limit import Urgency
from fairlead.core.inbound import Inbound
from fairlead.core.message_ids import choice_id
from fairlead.core.message_outcomes import Enqueued
from fairlead.errors import FairleadError
from fairlead.observe import log
from fairlead.ports import Gate, View


class MessageHandler:
    def __init__(
        self,
        gate: Gate,
        view: View,
        *,
        conversations: DiscordConversations,
        rest: RestCalls,
        reader: MessageReader,
        remarks: Remarks,
    ) -> None:
        self._gate = gate
        self._view = view
        self._conversations = conversations
        self._rest = rest
        self._reader = reader
        self._remarks = remarks

    async def submit(self, message: discord.Message, known: DiscordConversation | None = None) -> None:
        inbound = await self._reader.read(message, known)
        if inbound is None or self._is_known(inbound):
            return
        try:
            await self._gate.submit(inbound)
        except FairleadError as refusal:
            await self._refuse(message, refusal)
        else:
            await self._guess_language(inbound.person, message.guild)

    async def read_new(self, message: discord.Message, conversation: DiscordConversation) -> Inbound | None:
        """The message, if it is for the agent and has left no fact yet."""
        inbound = await self._reader.read(message, conversation)
        return None if inbound is None or self._is_known(inbound) else inbound

    async def tell_left_out(self, message: discord.Message, person: str, count: int) -> None:
        address = MessageAddress(message.channel.id, message.id)
        await self._remarks.tell_surely(address, person, "status.left_out", count=str(count))

    async def amend(self, message: discord.Message, known: DiscordConversation | None = None) -> None:
        """Link previews are edits too: only other words of the person change the job, and only while it is queued."""
        outcome = self._view.message_outcome(self._conversations.ref(message.channel.id), str(message.id))
        job = self._view.recent_job(outcome.job_id) if isinstance(outcome, Enqueued) else None
        if job is None or job.state != "queued":
            return
        inbound = await self._reader.read(message, known)
        if inbound is None:
            return
        try:
            await self._gate.amend(inbound.conversation, inbound.message_id, inbound.text)
        except FairleadError as refusal:
            await self._refuse(message, refusal)

    async def withdraw(self, channel_id: int, message_id: int) -> None:
        await self._gate.withdraw(self._conversations.ref(channel_id), str(message_id))

    async def submit_reaction(self, channel_id: int, reaction: MessageReaction) -> None:
        """Submit the message that somebody put the agreed emoji on."""
        fetched = await self._fetch_message(channel_id, reaction.message_id)
        if fetched is None:
            return
        channel, message = fetched
        conversation = await self._reader.find_conversation(channel, reaction.guild_id, channel_id, reaction.user_id)
        if conversation is None:
            return
        person = self._conversations.person(reaction.user_id)
        inbound = reacted_inbound(message, conversation, person=person, is_own=message.author.id == reaction.user_id)
        if self._is_known(inbound):
            return
        try:
            await self._gate.submit(inbound)
        except FairleadError as refusal:
            await self._refuse(message, refusal)

    async def submit_chosen(self, channel_id: int, message_id: int, guild_id: int | None, user_id: int) -> bool:
        """Submit a message that waited for its author to choose a project; the same message is submitted once. False
        if it cannot be read any more, or was not this person's."""
        fetched = await self._fetch_message(channel_id, message_id)
        if fetched is None or fetched[1].author.id != user_id:
            return False
        channel, message = fetched
        conversation = await self._reader.find_conversation(channel, guild_id, channel_id, user_id)
        inbound = None if conversation is None else await self._reader.read(message, conversation)
        if inbound is None:
            return False
        chosen = msgspec.structs.replace(inbound, message_id=choice_id(inbound.message_id))
        if not self._is_known(chosen):
            await self._gate.submit(chosen)
        return True

    async def _fetch_message(self, channel_id: int, message_id: int) -> tuple[object, discord.Message] | None:
        """Repeated until it succeeds, because no catch-up brings a reaction back."""

        async def fetch(client: discord.Client) -> tuple[object, discord.Message] | None:
            # Each attempt fetches the channel again, because a channel is bound to the client that fetched it.
            channel = await client.fetch_channel(channel_id)
            if not isinstance(channel, discord.abc.Messageable):
                return None
            return channel, await channel.fetch_message(message_id)

        try:
            return await self._rest.until_done(Urgency.ANSWER, fetch)
        except DELIVERY_ERRORS as failure:
            log.warning("a message could not be read", message_id=str(message_id), message=repr(failure))
            return None

    def _is_known(self, inbound: Inbound) -> bool:
        return self._view.message_outcome(inbound.conversation, inbound.message_id) is not None

    async def _guess_language(self, person: str, guild: discord.Guild | None) -> None:
        """Messages carry no locale. Until the person's first interaction brings one, the server's is taken; only the
        owners of a community server have chosen theirs."""
        if guild is not None and "COMMUNITY" in guild.features and not self._view.locale_of(person):
            await self._gate.see_person(person, guild.preferred_locale.value)

    async def _refuse(self, message: discord.Message, refusal: FairleadError) -> None:
        """The refusal stands under the message, in the language of its author."""
        address = MessageAddress(message.channel.id, message.id)
        self._remarks.refuse(address, self._conversations.person(message.author.id), refusal)
