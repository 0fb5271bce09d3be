"""A thread grows from the message that opens it, and has its id: asked for again, it is there. Binds nothing."""

from collections.abc import Awaitable, Callable
from typing import Final

import discord

from fairlead.channels.discord.outbound.rest import (
    DELIVERY_ERRORS,
    THREAD_ARCHIVED,
    THREAD_EXISTS,
    RestCalls,
    discord_code,
)
from fairlead.channels.push.rate_limit import Urgency
from fairlead.observe import log
from fairlead.ports import DeliveryImpossible, OutgoingMessage
from fairlead.render.safe_text import one_line

_THREAD_NAME: Final = 100
_ARCHIVE_AFTER_MIN: Final = 10080
"""The longest there is: a week."""


async def grow(rest: RestCalls, channel_id: int, outgoing: OutgoingMessage) -> str:
    """The thread's id. A message that no thread can grow from is taken back: it would open nothing."""
    message_id = int(outgoing.thread_from)
    name = one_line(outgoing.thread_name, _THREAD_NAME) or "session"
    try:
        await rest.once(
            Urgency.ANSWER,
            lambda client: client.http.start_thread_with_message(
                channel_id, message_id, name=name, auto_archive_duration=_ARCHIVE_AFTER_MIN
            ),
        )
    except DELIVERY_ERRORS as condition:
        if discord_code(condition) == THREAD_EXISTS:
            return outgoing.thread_from
        if isinstance(condition, DeliveryImpossible):
            await _take_back(rest, channel_id, message_id)
        raise
    return outgoing.thread_from


async def reopening(rest: RestCalls, channel_id: int, edit: Callable[[], Awaitable[object]]) -> None:
    """Sending reopens an archived thread by itself; editing in it is refused until somebody does."""
    try:
        await edit()
    except discord.HTTPException as refused:
        if refused.code != THREAD_ARCHIVED:
            raise
        await unarchive(rest, channel_id, Urgency.ANSWER)
        await edit()


async def unarchive(rest: RestCalls, channel_id: int, urgency: Urgency) -> None:
    await rest.once(urgency, lambda client: client.http.edit_channel(channel_id, archived=False))


async def _take_back(rest: RestCalls, channel_id: int, message_id: int) -> None:
    try:
        await rest.once(Urgency.ANSWER, lambda client: client.http.delete_message(channel_id, message_id, reason=None))
    except DELIVERY_ERRORS as condition:
        log.info("an opening message stayed", message_id=str(message_id), message=repr(condition))
