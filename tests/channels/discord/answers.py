"""Answers as they stand in a conversation of the loopback Discord."""

import re

from loopback_discord import Conversation, Message

from tests.channels.discord.harness import Stage


async def answer_to(conversation: Conversation, said: Message, *, timeout: float = 60.0) -> Message:
    """The first piece of an answer is a reply to what it answers; a note about the queue is one too."""
    return await conversation.wait_for_answer(
        lambda m: m.reference == (conversation.id, said.id) and not m.content.startswith("🕓"),
        after=said,
        timeout=timeout,
    )


def words_of(message: Message) -> str:
    """A message of the bot's without the mention before it and the small line below it."""
    return re.sub(r"^<@\d+> |\n-# .*$", "", message.content)


async def settled(stage: Stage, said: Message, *, timeout: float = 60.0) -> None:
    await stage.discord.wait_for(lambda: "✅" in said.reactions, timeout=timeout, what="the mark of success")


def answers(conversation: Conversation) -> list[str]:
    """What was answered, by the words that were said."""
    return [
        m.content.splitlines()[0].rpartition(": ")[2] for m in conversation.from_bot if m.content.startswith("echo")
    ]
