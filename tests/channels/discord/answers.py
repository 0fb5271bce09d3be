"""Answers as they stand in a place of the loopback Discord."""

from loopback_discord import Message, Place

from tests.channels.discord.harness import Stage


async def answer_to(place: Place, said: Message, *, timeout: float = 20.0) -> Message:
    """The first piece of an answer is a reply to what it answers."""
    return await place.wait_for_answer(lambda m: m.reference == (place.id, said.id), after=said, timeout=timeout)


async def settled(stage: Stage, said: Message, *, timeout: float = 20.0) -> None:
    await stage.discord.wait_for(lambda: "✅" in said.reactions, timeout=timeout, what="the mark of success")


def answers(place: Place) -> list[str]:
    """What was answered, by the words that were said."""
    return [m.content.splitlines()[0].rpartition(": ")[2] for m in place.from_bot if m.content.startswith("echo")]
