"""A failure is tried again with one tap: once, also after a restart."""

from pathlib import Path

import pytest
from loopback_discord import Conversation, Message

from tests.channels.discord.harness import Stage, a_stage

pytestmark = pytest.mark.anyio


async def failure_in(conversation: Conversation, after: Message) -> Message:
    return await conversation.wait_for_answer(lambda m: "E_" in m.content and m.components, after=after)


async def test_a_failed_job_is_tried_again_with_one_tap_and_only_once(stage: Stage) -> None:
    thread = await stage.start_thread()
    failed = await failure_in(thread, stage.owner.say(thread, "/fail E_CLI_EXIT_NONZERO"))
    retried = stage.owner.click(failed, "Retry")
    await retried.acknowledged()
    again = await failure_in(thread, failed)
    await stage.discord.wait_for(lambda: failed.components == [], what="no button")
    assert failed.content.splitlines()[-1].startswith(f"-# Tried again by {stage.owner.mention} as #")
    assert again.components != []
    attempts = [e["payload"].get("attempt", 1) for e in stage.daemon.journal("JobEnqueued")][-2:]
    assert attempts == [1, 2]


async def test_the_button_works_after_a_restart_and_a_second_click_is_told_so(tmp_path: Path) -> None:
    async with a_stage(tmp_path) as stage:
        thread = await stage.start_thread()
        failed = await failure_in(thread, stage.owner.say(thread, "/fail E_CLI_EXIT_NONZERO"))
        buttons = list(failed.components)
        await stage.daemon.kill()
        await stage.daemon.up()
        await stage.owner.click(failed, "Retry").acknowledged()
        await failure_in(thread, failed)
        failed.components = buttons  # as a client shows them that has not heard of the edit yet
        again = stage.owner.click(failed, "Retry")
        await stage.discord.wait_for(lambda: again.interaction.followups, what="a refusal")
        assert "E_JOB_NOT_RETRYABLE" in again.interaction.followups[0].content
        assert len(stage.daemon.journal("JobEnqueued")) == 2


async def test_a_strangers_click_tries_nothing_again(stage: Stage) -> None:
    eve = stage.discord.person("eve-retry")
    thread = await stage.start_thread()
    stage.discord.world.join(thread.channel.guild, eve.user)
    failed = await failure_in(thread, stage.owner.say(thread, "/fail E_CLI_EXIT_NONZERO"))
    jobs = len(stage.daemon.journal("JobEnqueued"))
    eve.click(failed, "Retry")
    said = stage.owner.say(thread, "still there?")
    await thread.wait_for_answer(lambda m: "still there?" in m.content, after=said)
    assert len(stage.daemon.journal("JobEnqueued")) == jobs + 1


async def test_what_the_agents_program_printed_last_stands_below_the_failure(stage: Stage) -> None:
    thread = await stage.start_thread()
    said = stage.owner.say(thread, f"/fail E_AGENT_ERROR it broke in {stage.daemon.project}/main.py {'x' * 200}")
    failed = await failure_in(thread, said)
    assert "```\nit broke in main.py" in failed.content
    assert str(stage.daemon.project) not in failed.content
