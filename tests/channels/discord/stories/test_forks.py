"""Forks on Discord: a thread that begins with all that was said in another one, from the command or from the card."""

import re
from pathlib import Path
from typing import Any

import pytest
from loopback_discord import Conversation

from tests.channels.discord.harness import Stage, a_stage
from tests.channels.discord.stories.test_turn_cards import labels, write_file
from tests.git.harness import make_repository

pytestmark = [pytest.mark.anyio, pytest.mark.req("F7")]


async def say(stage: Stage, thread: Conversation, text: str) -> str:
    said = stage.owner.say(thread, text)
    return (await thread.wait_for_answer(lambda m: "echo agent:" in m.content, after=said)).content


async def recall(stage: Stage, thread: Conversation) -> list[str]:
    said = stage.owner.say(thread, "/recall")
    answer = await thread.wait_for_answer(lambda m: "/recall" in m.content, after=said)
    return [line.partition(". ")[2] for line in answer.content.splitlines() if line[:1].isdecimal()]


async def test_a_fork_is_a_thread_beside_the_first_and_both_go_on(stage: Stage) -> None:
    trunk = await stage.start_thread()
    await say(stage, trunk, "one")
    reply: Any = await stage.owner.slash(trunk, "fork").reply()
    branch = stage.text_channel.threads()[-1]
    assert branch.id != trunk.id
    assert reply.content == f"Forked: <#{branch.id}> begins with all that was said here"
    opening = stage.text_channel.messages[-1].content
    assert opening == f"**api** · echo · ⑂ <#{trunk.id}>"
    await say(stage, trunk, "said in the first alone")
    assert await recall(stage, branch) == ["one", "/recall"]
    assert await recall(stage, trunk) == ["one", "said in the first alone", "/recall"]


async def test_a_fork_works_in_a_worktree_where_somebody_wants_one(tmp_path: Path) -> None:
    project = make_repository(tmp_path / "api", a="one\n")
    async with a_stage(tmp_path) as stage:
        trunk = await stage.start_thread()
        await say(stage, trunk, "one")
        reply: Any = await stage.owner.slash(trunk, "fork", worktree=True).reply()
        assert "on branch fairlead/api-" in reply.content
        branch = stage.text_channel.threads()[-1]
        [made] = await stage.daemon.until_journalled("WorktreeMade")
        await write_file(stage, branch, "b.txt words")
        assert (Path(made["payload"]["directory"]) / "b.txt").read_text() == "words\n"
        assert not (project / "b.txt").exists()
        assert await recall(stage, branch) == ["one", "/write b.txt words", "/recall"]


@pytest.mark.req("F3")
async def test_the_buttons_of_a_card_fork_undo_and_try_the_same_again(stage: Stage) -> None:
    thread = await stage.start_thread()
    card = await write_file(stage, thread, "a.txt words")
    assert labels(card) == ["Changes", "Undo", "Retry", "Fork"]
    await say(stage, thread, "said after the card")
    forked = await stage.owner.click(card, "Fork").reply()
    branch = stage.text_channel.threads()[-1]
    assert forked.content == f"Forked: <#{branch.id}> begins with all that was said here"
    assert await recall(stage, branch) == ["/write a.txt words", "/recall"]
    written = stage.daemon.project / "a.txt"
    undone = await stage.owner.click(card, "Undo").reply()
    assert not written.exists(), undone.content
    assert re.match(r"Undid #\d+: 1 file is as it was before\. ", undone.content)
    last = thread.messages[-1]
    await stage.owner.click(card, "Retry").acknowledged()
    again = await thread.wait_for_answer(lambda m: "Allow once" in labels(m), after=last)
    await stage.owner.click(again, "Allow once").reply()
    await thread.wait_for_answer(lambda m: "1 file changed" in m.content, after=again)
    assert written.read_text() == "words\n"
    assert labels(card) == ["Changes", "Undo", "Fork"], "the same turn is tried again once"
    assert "Tried again by" in card.content


@pytest.mark.long
@pytest.mark.parametrize("fact", ["DeliveryOwed", "PieceDelivered", "SessionForked"])
async def test_a_daemon_that_is_killed_after_any_fact_of_a_fork_makes_one_thread(tmp_path: Path, fact: str) -> None:
    async with a_stage(tmp_path) as stage:
        trunk = await stage.start_thread()
        await say(stage, trunk, "one")
        before = len(stage.daemon.journal(fact))
        stage.owner.slash(trunk, "fork")
        await stage.daemon.until_journalled(fact, times=before + 1)
        await stage.daemon.kill()
        await stage.daemon.up()
        [forked] = await stage.daemon.until_journalled("SessionForked")
        await stage.discord.wait_for(lambda: len(stage.text_channel.threads()) > 1, what="the thread of the fork")
        [branch] = [each for each in stage.text_channel.threads() if each.id != trunk.id]
        assert forked["payload"]["session_key"].endswith(f":{branch.id}")
        assert "turn 2 of talk" in await say(stage, branch, "hello")
        assert sum("⑂" in m.content for m in stage.text_channel.messages) == 1
