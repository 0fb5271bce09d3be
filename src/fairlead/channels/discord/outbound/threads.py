"""Discord threads: opened from a message, reopened when archived. Binds no session.

Discord opens a thread from an existing message and gives the thread that message's id: opening it a second time is
refused as a duplicate, so a retry finds the same thread.
"""

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
"""The longest that Discord offers: a week."""


async def open_thread(rest: RestCalls, channel_id: int, outgoing: OutgoingMessage) -> str:
    """Returns the thread's id. If Discord refuses the thread, its message is deleted: it announces a thread that will
    never be."""
    message_id = int(outgoing.thread_from)
    name = one_line(outgoing.thread_name, _THREAD_NAME) or "session"
    try:
        await rest.once(
            Urgency.ANSWER,
            lambda client: client.http.start_thread_with_message(
                channel_id, message_id, name=name, auto_archive_duration=_ARCHIVE_AFTER_MIN
            ),
        )
    except DELIVERY_ERRORS as failure:
        if discord_code(failure) == THREAD_EXISTS:
            return outgoing.thread_from
        if isinstance(failure, DeliveryImpossible):
            await _delete_opening_message(rest, channel_id, message_id)
        raise
    return outgoing.thread_from


async def edit_reopening(rest: RestCalls, channel_id: int, edit: Callable[[], Awaitable[object]]) -> None:
    """Discord reopens an archived thread for a new message, but refuses edits in it until somebody reopens it."""
    try:
        await edit()
    except discord.HTTPException as refused:
        if refused.code != THREAD_ARCHIVED:
            raise
        await unarchive(rest, channel_id, Urgency.ANSWER)
        await edit()


async def unarchive(rest: RestCalls, channel_id: int, urgency: Urgency) -> None:
    await rest.once(urgency, lambda client: client.http.edit_channel(channel_id, archived=False))


async def _delete_opening_message(rest: RestCalls, channel_id: int, message_id: int) -> None:
    try:
        await rest.once(Urgency.ANSWER, lambda client: client.http.delete_message(channel_id, message_id, reason=None))
    except DELIVERY_ERRORS as failure:
        log.info("an opening message stayed", message_id=str(message_id), message=repr(failure))
