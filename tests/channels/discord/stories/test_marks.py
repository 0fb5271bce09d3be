"""The reactions that show what became of a message."""

from pathlib import Path
from urllib.parse import unquote

import pytest
from loopback_discord import Fault

from fairlead.channels.push.marks import DONE
from tests.channels.discord.answers import answer_to, settled
from tests.channels.discord.harness import Stage, a_stage

pytestmark = pytest.mark.anyio


async def test_a_message_wears_a_mark_of_its_fate(stage: Stage) -> None:
    good = stage.owner.say(stage.owner.dm, "fine")
    bad = stage.owner.say(stage.owner.dm, "/fail E_CLI_EXIT_NONZERO")
    await stage.discord.wait_for(lambda: "✅" in good.reactions, what="the mark of success")
    await stage.discord.wait_for(lambda: "❌" in bad.reactions, what="the mark of failure")
    await stage.discord.wait_for(lambda: (set(good.reactions), set(bad.reactions)) == ({"✅"}, {"❌"}), what="one mark")


async def test_a_message_that_waits_wears_another_mark_than_one_that_runs(stage: Stage) -> None:
    thread = await stage.start_thread()
    running = stage.owner.say(thread, "/hang")
    queued = stage.owner.say(thread, "and then this")
    await stage.discord.wait_for(lambda: set(running.reactions) == {"👀"} and set(queued.reactions) == {"🕓"})
    await stage.daemon.cancel(running)
    await stage.discord.wait_for(lambda: set(running.reactions) == {"❌"} and set(queued.reactions) == {"✅"})


async def test_a_mark_that_cannot_be_set_at_once_is_set_later(stage: Stage) -> None:
    thread = await stage.start_thread()
    stage.discord.faults.next("PUT", f"/channels/{thread.id}/messages/*/reactions/%E2%9C%85/@me", Fault.status(503))
    stage.discord.faults.next("PUT", f"/channels/{thread.id}/messages/*/reactions/✅/@me", Fault.status(503))
    said = stage.owner.say(thread, "mark me")
    await stage.discord.wait_for(lambda: "✅" in said.reactions, what="the mark of success")


@pytest.mark.req("A8")
async def test_killed_between_the_answer_and_its_mark_the_next_process_sets_it(tmp_path: Path) -> None:
    async with a_stage(tmp_path) as stage:
        thread = await stage.start_thread()
        marks = stage.discord.faults.always("PUT", "/channels/*/reactions/*", Fault.status(503))
        said = [stage.owner.say(thread, words) for words in ("one", "/fail E_CLI_EXIT_NONZERO")]
        for message in said:
            await answer_to(thread, message)
        await stage.daemon.until_journalled("PieceDelivered", times=4)
        assert [message.reactions for message in said] == [{}, {}]
        await stage.daemon.kill()
        marks.lift()
        await stage.daemon.up()
        await stage.discord.wait_for(lambda: "✅" in said[0].reactions, what="the mark of success")
        await stage.discord.wait_for(lambda: "❌" in said[1].reactions, what="the mark of failure")


@pytest.mark.req("A2", "A8")
async def test_killed_before_the_mark_of_an_answer_that_was_given_up_the_next_process_does_not_call_it_done(
    tmp_path: Path,
) -> None:
    async with a_stage(tmp_path) as stage:
        thread, other = await stage.start_thread(), await stage.start_thread()
        marks = stage.discord.faults.always("PUT", "/channels/*/reactions/*", Fault.status(503))
        answer = Fault.hang()
        stage.discord.faults.next("POST", f"/channels/{thread.id}/messages", answer)
        said = stage.owner.say(thread, "nobody will read the answer")
        await stage.daemon.until_journalled("DeliveryPlanned", times=3)
        thread.delete()
        answer.release()
        await stage.daemon.until_journalled("DeliveryAbandoned", timeout=60)
        await stage.daemon.kill()
        marks.lift()
        calls = len(stage.discord.requests)
        await stage.daemon.up()
        await settled(stage, stage.owner.say(other, "still here"))
        wanted = [r.path for r in stage.discord.requests[calls:] if r.method == "PUT" and str(said.id) in r.path]
        assert wanted
        assert not any(DONE in unquote(path) for path in wanted)


@pytest.mark.req("A2", "A8")
async def test_an_answer_that_was_given_up_is_no_success_after_a_restart_either(tmp_path: Path) -> None:
    async with a_stage(tmp_path) as stage:
        thread = await stage.start_thread()
        refused = stage.discord.faults.always("POST", f"/channels/{thread.id}/messages", Fault.status(400))
        marks = stage.discord.faults.always("PUT", "/channels/*/reactions/*", Fault.status(503))
        said = stage.owner.say(thread, "nobody reads the answer")
        await stage.daemon.until_journalled("DeliveryAbandoned")
        await stage.daemon.kill()
        refused.lift()
        marks.lift()
        await stage.daemon.up()
        await stage.discord.wait_for(lambda: "❌" in said.reactions, what="the mark of an answer that was given up")
        later = stage.owner.say(thread, "and now?")
        await answer_to(thread, later)
        await stage.discord.wait_for(lambda: "✅" in later.reactions, what="the mark of success")
        await stage.daemon.kill()
        await stage.daemon.up()
        last = stage.owner.say(thread, "after that")
        await stage.discord.wait_for(lambda: "✅" in last.reactions, what="the mark of success")
        assert "✅" not in said.reactions
