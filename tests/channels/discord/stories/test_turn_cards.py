"""The card of a turn that changed files, on Discord: below the answer, with buttons that outlive the daemon."""

import re
from pathlib import Path

import pytest
from loopback_discord import Conversation, Message

from tests.channels.discord.harness import Stage, a_stage
from tests.channels.discord.live.test_button_clicks import question_in

pytestmark = [pytest.mark.anyio, pytest.mark.req("F3")]


async def write_file(stage: Stage, thread: Conversation, order: str) -> Message:
    """The answer of the turn in which the agent wrote it."""
    said = stage.owner.say(thread, f"/write {order}")
    await stage.owner.click(await question_in(thread, said), "Allow once").reply()
    return await thread.wait_for_answer(lambda m: "echo agent:" in m.content, after=said)


def labels(message: Message) -> list[str]:
    return [button["label"] for row in message.components for button in row["components"]]


async def test_the_card_of_a_turn_and_its_buttons_before_and_after_a_restart(tmp_path: Path) -> None:
    async with a_stage(tmp_path) as stage:
        (stage.daemon.project / "old.txt").write_text("old\n")
        thread = await stage.start_thread()
        answer = await write_file(stage, thread, "old.txt new @everyone")
        assert re.search(r"\n-# 1 file changed \(\+1 -1\): old\.txt \+1 -1\n-# ", answer.content)
        assert labels(answer)[0] == "Changes"
        shown = await stage.owner.click(answer, "Changes").reply()
        assert shown.ephemeral
        assert shown.content.startswith("#1 changed 1 file in api (+1 -1)")
        await stage.daemon.kill()
        await stage.daemon.up()
        again = await stage.owner.click(answer, "Changes").reply()
        assert again.content == shown.content
        stranger = stage.discord.person("eve")
        refused = await stranger.click(answer, "Changes").reply()
        assert "changed" not in refused.content


async def test_a_turn_that_changed_nothing_has_neither_card_nor_buttons(tmp_path: Path) -> None:
    async with a_stage(tmp_path) as stage:
        thread = await stage.start_thread()
        said = stage.owner.say(thread, "hello")
        answer = await thread.wait_for_answer(lambda m: "echo agent:" in m.content, after=said)
        assert "changed" not in answer.content
        assert labels(answer) == []
