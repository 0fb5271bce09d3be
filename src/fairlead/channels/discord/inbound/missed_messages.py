"""Messages that were written, edited or deleted while we were not connected: each is treated as it would have been."""

from typing import Final

from fairlead.channels.discord.inbound.catch_up import CatchUp
from fairlead.channels.discord.inbound.events import CatchUpRequest
from fairlead.channels.discord.inbound.inbound_message import said_message_id
from fairlead.channels.discord.inbound.message_handler import MessageHandler
from fairlead.channels.discord.inbound.message_reader import MessageReader
from fairlead.channels.discord.inbound.places import Places
from fairlead.channels.discord.outbound.rest import DELIVERY_ERRORS, UNKNOWN_MESSAGE, RestCalls, discord_code
from fairlead.channels.push.rate_limit import Urgency
from fairlead.core.views import JobView
from fairlead.observe import log
from fairlead.ports import Gate, View

_TOO_OLD: Final = "older than FAIRLEAD_CATCH_UP_HOURS"
_TOO_MANY: Final = "more than FAIRLEAD_CATCH_UP_MESSAGES were missed"


class MissedMessages:
    def __init__(
        self,
        gate: Gate,
        view: View,
        *,
        places: Places,
        rest: RestCalls,
        reader: MessageReader,
        handler: MessageHandler,
        catch_up: CatchUp,
    ) -> None:
        self._gate = gate
        self._view = view
        self._places = places
        self._rest = rest
        self._reader = reader
        self._handler = handler
        self._catch_up = catch_up

    async def handle(self, channel_id: int, request: CatchUpRequest) -> None:
        missed = await self._catch_up.fetch(channel_id, request.since)
        known = self._reader.bound_place(channel_id)
        too_many = {m.id for m in missed.too_many}
        for message in (*missed.too_many, *missed.wanted):
            place = known or self._places.dm(channel_id, message.author.id)
            if message.id < request.oldest:
                await self._handler.skip(message, place, _TOO_OLD)
            elif message.id in too_many:
                await self._handler.skip(message, place, _TOO_MANY)
            else:
                await self._handler.submit(message, place)
            await self._handler.amend(message, known)
        await self._withdraw_deleted(channel_id, too_many | {m.id for m in missed.wanted}, request.since)

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
        await self._handler.amend(message, self._reader.bound_place(channel_id))

    async def _withdraw_deleted(self, channel_id: int, present: set[int], since: int) -> None:
        """A queued message that the history no longer has was deleted while we were not connected."""
        for job in self._view.queued_jobs(self._places.ref(channel_id)):
            message_id = said_message_id(job)
            if message_id is not None and _is_missing(message_id, present, since):
                await self._gate.withdraw(job.conversation, job.message_id)


def _is_missing(message_id: int, present: set[int], since: int) -> bool:
    """Within the stretch of the history that was read, and not in it."""
    return bool(present) and max(since, min(present)) < message_id < max(present) and message_id not in present
