"""Messages that were written, edited or deleted while we were not connected: each is treated as it would have been.

They are taken in order, as the session's queue has room. What does not fit yet stays at Discord and is read again, so a
crash in between loses nothing. What is left out for its age or number is told once, before its facts are written.
"""

from collections.abc import Iterable, Sequence
from typing import Final

import discord
import msgspec

from fairlead.channels.discord.inbound.bot_identity import BotIdentity
from fairlead.channels.discord.inbound.catch_up import PAGE, CatchUp
from fairlead.channels.discord.inbound.conversations import DiscordConversation, DiscordConversations
from fairlead.channels.discord.inbound.events import CatchUpRequest
from fairlead.channels.discord.inbound.inbound_message import said_message_id
from fairlead.channels.discord.inbound.message_handler import MessageHandler
from fairlead.channels.discord.inbound.message_reader import MessageReader
from fairlead.channels.discord.outbound.rest import DELIVERY_ERRORS, UNKNOWN_MESSAGE, RestCalls, discord_code
from fairlead.channels.push.rate_limit import Urgency
from fairlead.core.inbound import Inbound
from fairlead.core.views import JobView
from fairlead.observe import log
from fairlead.ports import Gate, View

_TOO_OLD: Final = "older than FAIRLEAD_CATCH_UP_HOURS"
_TOO_MANY: Final = "more than FAIRLEAD_CATCH_UP_MESSAGES were missed"
_ANSWERED: Final = "the bot has answered it, as another state directory knows"


class Backlog(msgspec.Struct, frozen=True):
    """The queue of this conversation's session is full. Messages after `since` wait at Discord."""

    since: int
    conversation: DiscordConversation


class MissedMessages:
    def __init__(
        self,
        gate: Gate,
        view: View,
        *,
        conversations: DiscordConversations,
        rest: RestCalls,
        reader: MessageReader,
        handler: MessageHandler,
        catch_up: CatchUp,
        identity: BotIdentity,
    ) -> None:
        self._gate = gate
        self._view = view
        self._conversations = conversations
        self._rest = rest
        self._reader = reader
        self._handler = handler
        self._catch_up = catch_up
        self._identity = identity

    async def handle(self, channel_id: int, request: CatchUpRequest) -> Backlog | None:
        """None if everything has been taken."""
        if request.goes_on:
            return await self._go_on(channel_id, request.since)
        missed = await self._catch_up.fetch(channel_id, request.since)
        everything = (*missed.too_many, *missed.wanted)
        await self._skip_answered(channel_id, everything)
        old = [m for m in everything if m.id < request.oldest]
        many = [m for m in missed.too_many if m.id >= request.oldest]
        await self._leave_out(channel_id, [(m, _TOO_OLD) for m in old] + [(m, _TOO_MANY) for m in many])
        await self._withdraw_deleted(channel_id, {m.id for m in everything}, request.since)
        left_out = {m.id for m in (*old, *many)}
        return await self._take(channel_id, [m for m in missed.wanted if m.id not in left_out])

    async def _go_on(self, channel_id: int, since: int) -> Backlog | None:
        while True:
            page = await self._catch_up.fetch_next(channel_id, since)
            await self._skip_answered(channel_id, page)
            backlog = await self._take(channel_id, page)
            if backlog is not None or len(page) < PAGE:
                return backlog
            since = page[-1].id

    async def _take(self, channel_id: int, messages: Sequence[discord.Message]) -> Backlog | None:
        for message in messages:
            conversation = self._conversation_of(channel_id, message)
            known = self._view.message_outcome(conversation.ref, str(message.id)) is not None
            if not known and not self._view.has_room(conversation.ref, conversation.session_key):
                return Backlog(message.id - 1, conversation)
            await self._handler.submit(message, conversation)
            await self._handler.amend(message, self._reader.bound_conversation(channel_id))
        return None

    def _conversation_of(self, channel_id: int, message: discord.Message) -> DiscordConversation:
        bound = self._reader.bound_conversation(channel_id)
        return bound or self._conversations.dm(channel_id, message.author.id)

    async def _skip_answered(self, channel_id: int, messages: Iterable[discord.Message]) -> None:
        """A message that an answer of the bot's own replies to is settled, also where this state directory does not
        know it: another one was here before, or this one is an older copy."""
        found = list(messages)
        replies = [m.reference for m in found if self._identity.wrote(m) and m.reference is not None]
        answered = {reference.message_id for reference in replies}
        for message in found:
            if message.id in answered:
                inbound = await self._handler.read_new(message, self._conversation_of(channel_id, message))
                if inbound is not None:
                    await self._gate.skip(inbound, _ANSWERED)

    async def _leave_out(self, channel_id: int, left_out: Iterable[tuple[discord.Message, str]]) -> None:
        skipped: list[tuple[Inbound, str, discord.Message]] = []
        for message, reason in left_out:
            inbound = await self._handler.read_new(message, self._conversation_of(channel_id, message))
            if inbound is not None:
                skipped.append((inbound, reason, message))
        if skipped:
            inbound, _, message = skipped[-1]
            await self._handler.tell_left_out(message, inbound.person, len(skipped))
        for inbound, reason, _ in skipped:
            await self._gate.skip(inbound, reason)

    async def recheck(self, job: JobView) -> None:
        """A queued job takes the words that its message has now; a deleted message withdraws its job."""
        message_id = said_message_id(job)
        if message_id is None or not job.conversation.conversation_id.isdecimal():
            return
        channel_id = int(job.conversation.conversation_id)
        try:
            message = await self._rest.until_done(
                Urgency.CATCH_UP, lambda c: c.get_partial_messageable(channel_id).fetch_message(message_id)
            )
        except DELIVERY_ERRORS as failure:
            if discord_code(failure) == UNKNOWN_MESSAGE:
                await self._gate.withdraw(job.conversation, job.message_id)
            else:
                log.warning("a queued message could not be read", job_id=job.job_id, message=repr(failure))
            return
        await self._handler.amend(message, self._reader.bound_conversation(channel_id))

    async def _withdraw_deleted(self, channel_id: int, present: set[int], since: int) -> None:
        """A queued message that the history no longer has was deleted while we were not connected."""
        for job in self._view.queued_jobs(self._conversations.ref(channel_id)):
            message_id = said_message_id(job)
            if message_id is not None and _is_missing(message_id, present, since):
                await self._gate.withdraw(job.conversation, job.message_id)


def _is_missing(message_id: int, present: set[int], since: int) -> bool:
    """Whether the message lies within the stretch of the history that was read, and was not found there."""
    return bool(present) and max(since, min(present)) < message_id < max(present) and message_id not in present
