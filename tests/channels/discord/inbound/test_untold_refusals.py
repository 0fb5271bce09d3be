"""Refusals that a killed process wrote down and did not tell."""

from pathlib import Path

import pytest
from loopback_discord import Fault

from tests.channels.discord.answers import answer_to
from tests.channels.discord.harness import a_stage

pytestmark = pytest.mark.anyio


@pytest.mark.req("A8", "A17")
async def test_killed_between_a_refusal_and_its_mark_the_next_process_marks_and_tells_it_once(tmp_path: Path) -> None:
    async with a_stage(tmp_path, FAIRLEAD_MAX_QUEUE_PER_SESSION="1") as stage:
        thread = await stage.start_thread()
        marks = stage.discord.faults.always("PUT", "/channels/*/reactions/*", Fault.status(503))
        words = stage.discord.faults.always(
            "POST", "/channels/*/messages", Fault.reset(), when=lambda body: "E_QUEUE_FULL" in str(body)
        )
        for text in ("/hang", "waits"):
            stage.owner.say(thread, text)
        await stage.daemon.until_journalled("JobStarted")
        refused = stage.owner.say(thread, "too many")
        await stage.daemon.until_journalled("MessageRefused")
        await stage.daemon.kill()
        marks.lift()
        words.lift()
        stage.discord.clock.advance(600)  # Discord has forgotten the nonce
        for _ in range(2):
            await stage.daemon.up()
            await stage.discord.wait_for(lambda: "❌" in refused.reactions, what="the mark of the refusal")
            told = await answer_to(thread, refused)
            assert told.content.startswith("E_QUEUE_FULL: ")
            after = stage.owner.say(thread, "and then")  # whatever the start had to tell stands before its answer
            await answer_to(thread, after)
            await stage.daemon.kill()
        assert sum("E_QUEUE_FULL" in m.content for m in thread.from_bot) == 1
