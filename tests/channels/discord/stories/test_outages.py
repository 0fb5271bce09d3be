"""Discord away, slow, lying, or asked by two: nothing is lost, nothing doubled, order kept, no storm."""

from pathlib import Path

import pytest
from loopback_discord import Fault

from tests.channels.discord.answers import answer_to, answers, settled
from tests.channels.discord.harness import a_stage

pytestmark = pytest.mark.anyio


async def test_an_edit_and_a_deletion_while_nobody_ran_count_for_what_is_still_queued(tmp_path: Path) -> None:
    async with a_stage(tmp_path) as stage:
        thread = await stage.start_thread()
        stage.owner.say(thread, "/hang")
        await thread.wait_for_typing()
        edited = stage.owner.say(thread, "old words")
        deleted = stage.owner.say(thread, "never said")
        stage.owner.say(thread, "the last")
        await stage.daemon.until_journalled("JobEnqueued", times=4)
        await stage.daemon.kill()
        stage.owner.edit(edited, "new words")
        stage.owner.delete(deleted)
        await stage.daemon.up()
        await stage.discord.wait_for(lambda: "the last" in answers(thread), what="the last answer")
        assert answers(thread) == ["new words", "the last"]
        assert len(stage.daemon.journal("JobWithdrawn")) == 1


async def test_discord_away_keeps_no_job_from_starting_that_was_queued_before(tmp_path: Path) -> None:
    async with a_stage(tmp_path) as stage:
        thread = await stage.start_thread()
        stage.owner.say(thread, "/hang")
        await thread.wait_for_typing()
        stage.owner.say(thread, "queued")
        await stage.daemon.until_journalled("JobEnqueued", times=2)
        await stage.daemon.kill()
        await stage.discord.go_down()
        await stage.daemon.launch()
        await stage.daemon.until_journalled("JobCompleted", timeout=60)
        await stage.discord.come_back()
        await stage.discord.wait_for(lambda: answers(thread) == ["queued"], timeout=60, what="the answer")


async def test_six_hours_without_discord_cost_nothing_but_time(tmp_path: Path) -> None:
    async with a_stage(tmp_path) as stage:
        thread = await stage.start_thread()
        said = stage.owner.say(thread, "before the storm\n/slow 0.4")
        await thread.wait_for_typing()
        await stage.discord.go_down()
        await stage.daemon.until_journalled("JobCompleted")
        stage.discord.clock.advance(6 * 3600)
        stage.owner.say(thread, "said into the dark")
        await stage.discord.come_back()
        await stage.discord.wait_for(lambda: len(answers(thread)) == 2, timeout=60, what="both answers")
        assert answers(thread) == ["before the storm", "said into the dark"]
        await settled(stage, said, timeout=60)
        assert stage.discord.invalid_requests == 0


async def test_the_moment_discord_is_back_what_was_owed_is_there(tmp_path: Path) -> None:
    async with a_stage(tmp_path) as stage:
        thread = await stage.start_thread()
        said = stage.owner.say(thread, "before the storm\n/ask ls")
        asked = await thread.wait_for_answer(lambda m: m.components, after=said)
        answer = stage.discord.faults.always(
            "POST", f"/channels/{thread.id}/messages", Fault.reset(), when=lambda body: "allowed: ls" in str(body)
        )
        await stage.owner.click(asked, "Allow once").reply()
        await stage.daemon.until_journalled("JobCompleted")
        await stage.discord.go_down()
        await stage.daemon.until_journalled("DeliveryDeferred")  # it is known that Discord is away
        answer.lift()
        await stage.discord.come_back()
        gateway = stage.discord.gateway
        await stage.discord.wait_for(gateway.connected, timeout=60, what="the gateway")
        await answer_to(thread, said)
        assert answers(thread) == ["before the storm"]


@pytest.mark.req("B10")
async def test_told_to_stop_it_closes_the_gateway_and_leaves_the_queue(tmp_path: Path) -> None:
    async with a_stage(tmp_path) as stage:
        thread = await stage.start_thread()
        stage.owner.say(thread, "/hang")
        await thread.wait_for_typing()
        stage.owner.say(thread, "queued")
        await stage.daemon.until_journalled("JobEnqueued", times=2)
        await stage.daemon.stop()
        await stage.discord.gateway.disconnected()
        await stage.daemon.up()
        await stage.discord.wait_for(lambda: "queued" in answers(thread), what="the queued one's answer")
        assert stage.daemon.journal("JobFailed")[0]["payload"]["error_code"] == "E_SHUTDOWN"
