"""The reactions that show what became of a message."""

import pytest
from loopback_discord import Fault

from tests.channels.discord.harness import Stage

pytestmark = pytest.mark.anyio


async def test_a_message_wears_a_mark_of_its_fate(stage: Stage) -> None:
    good = stage.owner.say(stage.owner.dm, "fine")
    bad = stage.owner.say(stage.owner.dm, "/fail E_CLI_EXIT_NONZERO")
    await stage.discord.wait_for(lambda: "✅" in good.reactions, what="the mark of success")
    await stage.discord.wait_for(lambda: "❌" in bad.reactions, what="the mark of failure")
    assert "👀" in good.reactions


async def test_a_mark_that_cannot_be_set_at_once_is_set_later(stage: Stage) -> None:
    thread = await stage.start_thread()
    stage.discord.faults.next("PUT", f"/channels/{thread.id}/messages/*/reactions/%E2%9C%85/@me", Fault.status(503))
    stage.discord.faults.next("PUT", f"/channels/{thread.id}/messages/*/reactions/✅/@me", Fault.status(503))
    said = stage.owner.say(thread, "mark me")
    await stage.discord.wait_for(lambda: "✅" in said.reactions, what="the mark of success")
