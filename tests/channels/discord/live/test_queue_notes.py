"""A person who waits is told how many messages are before theirs, once, until theirs begins."""

import pytest
from loopback_discord import Conversation, Message

from tests.channels.discord.harness import Stage

pytestmark = pytest.mark.anyio

SILENT = 1 << 12


def notes(conversation: Conversation) -> list[Message]:
    return [m for m in conversation.from_bot if m.content.startswith("🕓")]


async def test_one_silent_note_says_how_many_are_before_the_newest_message_and_goes(stage: Stage) -> None:
    thread = await stage.start_thread()
    before = [stage.owner.say(thread, "/hang") for _ in range(2)]
    newest = stage.owner.say(thread, "the third")
    note = await thread.wait_for_answer(lambda m: m.content.startswith("🕓 2 before you"), after=newest)
    assert note.flags & SILENT
    assert note.reference == (thread.id, newest.id)
    assert notes(thread) == [note]
    await stage.daemon.cancel(before[0])
    await stage.discord.wait_for(lambda: note.content.startswith("🕓 1 before you"), timeout=60, what="one less")
    await stage.daemon.cancel(before[1])
    await stage.discord.wait_for(lambda: note.deleted, timeout=60, what="the end of the note")
    await thread.wait_for_answer(lambda m: "the third" in m.content, after=newest, timeout=60)


async def test_a_message_that_begins_at_once_gets_no_note(stage: Stage) -> None:
    thread = await stage.start_thread()
    said = stage.owner.say(thread, "hello")
    await thread.wait_for_answer(after=said)
    await stage.discord.wait_for(lambda: set(said.reactions) == {"✅"}, what="the mark of success")
    assert notes(thread) == []


async def test_no_note_comes_below_an_open_question(stage: Stage) -> None:
    thread = await stage.start_thread()
    said = stage.owner.say(thread, "/ask ls")
    question = await thread.wait_for_answer(lambda m: m.components, after=said)
    queued = stage.owner.say(thread, "and then this")
    await stage.discord.wait_for(lambda: set(queued.reactions) == {"🕓"}, what="queued")
    await stage.owner.click(question, "Allow once").acknowledged()
    await thread.wait_for_answer(lambda m: "and then this" in m.content, after=queued)
    assert notes(thread) == []
