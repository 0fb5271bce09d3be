"""A Discord message as an `Inbound`: its words, what it quotes, its files. Fetches nothing."""

from collections.abc import Callable
from typing import Final

import discord

from fairlead.channels.discord.inbound.places import Place, without_mention
from fairlead.core.inbound import Attachment, Inbound
from fairlead.core.views import JobView

LEFT_OUT = "(The quoted message is by somebody who may not talk to you; it was left out.)"
_REACTION: Final = "reaction-"
"""Before the id of a message that somebody pointed at: the same message may also have been said to us."""


def inbound_of(
    message: discord.Message,
    place: Place,
    *,
    person: str,
    bot_id: int,
    may_be_quoted: Callable[[discord.Message], bool],
) -> Inbound:
    return Inbound(
        place.conversation,
        place.session_key,
        str(message.id),
        person,
        without_mention(message.content, bot_id),
        attachments_of(message),
        quote_in(message, may_be_quoted),
    )


def attachments_of(message: discord.Message) -> tuple[Attachment, ...]:
    return tuple(Attachment(a.filename, a.content_type or "", a.size, a.url) for a in message.attachments)


def quote_in(message: discord.Message, may_be_quoted: Callable[[discord.Message], bool]) -> str:
    """The text that is replied to. A stranger's words stay out of the prompt, and that is said."""
    quoted = message.reference.resolved if message.reference is not None else None
    if not isinstance(quoted, discord.Message):
        return ""
    if not may_be_quoted(quoted):
        return LEFT_OUT
    return quoted.content


def reacted_inbound(message: discord.Message, place: Place, *, person: str, is_own: bool) -> Inbound:
    """A message that somebody pointed at. Another's words are marked as such: they are data, not an order."""
    text = message.content
    if not is_own:
        quoted = "\n".join(f"> {line}" for line in text.splitlines())
        text = f"Look at this message by {message.author.display_name}:\n{quoted}"
    return Inbound(
        place.conversation,
        place.session_key,
        f"{_REACTION}{message.id}",
        person,
        text,
        attachments_of(message),
        cause="reaction",
    )


def discord_message_id(job: JobView) -> int | None:
    """The message that a job is about: the one that was said to us, or the one that somebody pointed at. None for a
    job that no message of Discord began."""
    number = job.message_id.removeprefix(_REACTION)
    return int(number) if number.isdecimal() else None


def said_message_id(job: JobView) -> int | None:
    """The message that was said to us, whose words are the job's prompt; None for one that was only pointed at."""
    return int(job.message_id) if job.message_id.isdecimal() else None
