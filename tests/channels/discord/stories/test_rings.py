"""The phone rings when it must: for the person who asked, and for nobody because of what an agent says."""

import re
from pathlib import Path

import pytest
from loopback_discord import Conversation, Message

from tests.channels.discord.harness import Stage, a_stage

pytestmark = pytest.mark.anyio

SILENT = 1 << 12


def rings(message: Message) -> list[int]:
    """Whose phones ring: those who are mentioned, unless the message is sent silently."""
    return [] if message.flags & SILENT else [user.id for user in message.mentions]


async def is_answered(conversation: Conversation, said: Message, **how: float) -> Message:
    return await conversation.wait_for_answer(lambda m: m.content.startswith("echo"), after=said, **how)


async def test_a_short_answer_is_silent_whatever_the_agent_says(stage: Stage) -> None:
    thread = await stage.start_thread()
    said = stage.owner.say(thread, f"@everyone and {stage.owner.mention}, listen")
    answer = await is_answered(thread, said)
    assert stage.owner.mention in answer.content
    assert (rings(answer), answer.mentions, answer.mention_everyone) == ([], [], False)


async def test_a_question_rings_for_the_person_who_asked_and_for_nobody_else(stage: Stage) -> None:
    bob = stage.discord.person("bob")
    thread = await stage.start_thread()
    said = stage.owner.say(thread, f"/ask ping {bob.mention}")
    question = await thread.wait_for_answer(lambda m: m.components, after=said)
    assert bob.mention in question.content
    assert rings(question) == [stage.owner.id]
    assert question.content.startswith(f"{stage.owner.mention} The agent asks for permission: Bash\n```")
    await stage.owner.click(question, "Deny").acknowledged()
    await is_answered(thread, said)


async def test_a_failure_rings_and_says_first_what_happened(stage: Stage) -> None:
    thread = await stage.start_thread()
    said = stage.owner.say(thread, "/fail E_AGENT_ERROR it broke")
    failed = await thread.wait_for_answer(lambda m: "E_AGENT_ERROR" in m.content, after=said)
    assert rings(failed) == [stage.owner.id]


async def test_the_end_of_a_long_turn_rings_below_its_answer(tmp_path: Path) -> None:
    async with a_stage(tmp_path, FAIRLEAD_PING_AFTER_SEC="0.5") as stage:
        thread = await stage.start_thread()
        said = stage.owner.say(thread, "/slow 1\n/usage 11000 1300 0.12")  # no delay makes it shorter
        answer = await is_answered(thread, said)
        assert rings(answer) == [stage.owner.id]
        small = re.sub(r"\d+s", "SECONDS", answer.content.splitlines()[-1])
        assert small == f"-# {stage.owner.mention} · SECONDS · 12.3k tokens · $0.12"
        await stage.daemon.stop()
        stage.daemon.settings["FAIRLEAD_PING_AFTER_SEC"] = "3600"  # no delay makes a turn so long
        await stage.daemon.up()
        quick = await is_answered(thread, stage.owner.say(thread, "and this"))
        assert rings(quick) == []


@pytest.mark.parametrize(("ping", "heard"), [("needed", [True, True, False]), ("never", [False, False, False])])
async def test_what_rings_is_a_setting(tmp_path: Path, ping: str, heard: list[bool]) -> None:
    async with a_stage(tmp_path, FAIRLEAD_PING=ping, FAIRLEAD_PING_AFTER_SEC="0.2") as stage:
        thread = await stage.start_thread()
        said = stage.owner.say(thread, "/ask ls")
        question = await thread.wait_for_answer(lambda m: m.components, after=said)
        rung = [bool(rings(question))]
        await stage.owner.click(question, "Allow once").acknowledged()
        await is_answered(thread, said)
        said = stage.owner.say(thread, "/fail E_AGENT_ERROR")
        failed = await thread.wait_for_answer(lambda m: "E_AGENT_ERROR" in m.content, after=said)
        answer = await is_answered(thread, stage.owner.say(thread, "/slow 0.5"))
        rung += [bool(rings(m)) for m in (failed, answer)]
        assert rung == heard
