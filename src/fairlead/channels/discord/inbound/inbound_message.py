"""A Discord message as an `Inbound`: its words, what it quotes, its files. Fetches nothing."""

import re
from collections.abc import Callable

import discord

from fairlead.channels.discord.inbound.conversations import DiscordConversation, without_mention
from fairlead.core.ids import MessageId
from fairlead.core.inbound import Attachment, Inbound
from fairlead.core.message_ids import reaction_id, written_message
from fairlead.core.views import JobView

LEFT_OUT = "(The quoted message was left out, because its author may not talk to you.)"


def inbound_of(
    message: discord.Message,
    conversation: DiscordConversation,
    *,
    person: str,
    mention: re.Pattern[str],
    may_be_quoted: Callable[[discord.Message], bool],
) -> Inbound:
    return Inbound(
        conversation=conversation.ref,
        session_key=conversation.session_key,
        message_id=MessageId(str(message.id)),
        person=person,
        text=without_mention(message.content, mention),
        attachments=attachments_of(message),
        quote=quote_in(message, may_be_quoted),
    )


def attachments_of(message: discord.Message) -> tuple[Attachment, ...]:
    return tuple(
        Attachment(name=a.filename, media_type=a.content_type or "", size=a.size, url=a.url)
        for a in message.attachments
    )


def quote_in(message: discord.Message, may_be_quoted: Callable[[discord.Message], bool]) -> str:
    """The text that the message replies to. A stranger's words stay out of the prompt, and the prompt says so."""
    quoted = message.reference.resolved if message.reference is not None else None
    if not isinstance(quoted, discord.Message):
        return ""
    if not may_be_quoted(quoted):
        return LEFT_OUT
    return quoted.content


def reacted_inbound(
    message: discord.Message, conversation: DiscordConversation, *, person: str, is_own: bool
) -> Inbound:
    """A message that a person reacted to. Words of another author are a quotation, with the author's name, which that
    author chose too: they are data, not an order."""
    return Inbound(
        conversation=conversation.ref,
        session_key=conversation.session_key,
        message_id=reaction_id(MessageId(str(message.id))),
        person=person,
        text=message.content if is_own else "Look at this message.",
        quote="" if is_own else f"{message.author.display_name}:\n{message.content}",
        attachments=attachments_of(message),
        cause="reaction",
        foreign=not is_own,
    )


def discord_message_id(job: JobView) -> int | None:
    """The message that a job is about: the one written to us, or the one that a person reacted to. None for a job that
    no Discord message began."""
    number = written_message(job.message_id)
    return int(number) if number is not None and number.isdecimal() else None


def said_message_id(job: JobView) -> int | None:
    """The message written to us, whose words are the job's prompt; None for one that a person only reacted to."""
    return int(job.message_id) if job.message_id.isdecimal() else None
