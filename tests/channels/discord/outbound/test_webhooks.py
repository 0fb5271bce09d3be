"""Answers under a webhook's name and picture."""

from pathlib import Path

import pytest
from loopback_discord import Conversation, Fault, Message

from tests.channels.discord.harness import a_stage

pytestmark = pytest.mark.anyio


def answers(conversation: Conversation) -> list[Message]:
    return [m for m in conversation.from_bot if m.content.startswith("echo")]


@pytest.mark.req("D5", "D6")
async def test_under_a_webhook_identity_two_threads_of_one_channel_never_mix_or_leak_into_it(tmp_path: Path) -> None:
    async with a_stage(tmp_path, FAIRLEAD_WEBHOOK_IDENTITY="1") as stage:
        one, two = await stage.start_thread(), await stage.start_thread()
        first = stage.owner.say(one, "in one")
        second = stage.owner.say(two, "in two\n/image")
        answer = await one.wait_for_answer(lambda m: m.content.startswith("echo"), after=first)
        other = await two.wait_for_answer(lambda m: m.content.startswith("echo"), after=second)
        assert answer.webhook_id is not None
        assert answer.author.username == "api · echo"
        assert [a.filename for a in other.attachments] == ["image-1.png"]
        assert [len(answers(p)) for p in (one, two, stage.text_channel)] == [1, 1, 0]
        assert len(stage.discord.world.webhooks) == 1


@pytest.mark.req("D5")
async def test_a_webhook_that_was_deleted_is_made_again(tmp_path: Path) -> None:
    async with a_stage(tmp_path, FAIRLEAD_WEBHOOK_IDENTITY="1") as stage:
        thread = await stage.start_thread()
        said = stage.owner.say(thread, "one")
        await thread.wait_for_answer(lambda m: m.content.startswith("echo"), after=said)
        stage.discord.world.webhooks.clear()
        said = stage.owner.say(thread, "two")
        await thread.wait_for_answer(lambda m: m.content.startswith("echo"), after=said)
        assert len(answers(thread)) == 2


@pytest.mark.req("D5")
async def test_killed_in_the_middle_of_a_webhook_send_the_answer_comes_once(tmp_path: Path) -> None:
    async with a_stage(tmp_path, FAIRLEAD_WEBHOOK_IDENTITY="1") as stage:
        thread = await stage.start_thread()
        await thread.server.wait_for(lambda: thread.channel)
        hold = Fault.hang_after_work()
        stage.discord.faults.next("POST", "/webhooks/*", hold, when=lambda b: "once only" in str(b))
        said = stage.owner.say(thread, "once only")
        await thread.wait_for_answer(lambda m: m.content.startswith("echo"), after=said)
        await stage.daemon.kill()
        hold.release()
        stage.discord.clock.advance(3600)
        await stage.daemon.up()
        said = stage.owner.say(thread, "then this")
        await thread.wait_for_answer(lambda m: "then this" in m.content, after=said)
        assert len([m for m in answers(thread) if "once only" in m.content]) == 1
