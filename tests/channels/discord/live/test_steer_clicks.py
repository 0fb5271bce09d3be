"""A text goes into the running turn: with `!`, with the button under a message that waits, and with the command."""

from pathlib import Path

import pytest
from loopback_discord import Conversation, Message

from fairlead.channels.push.marks import STEERED
from tests.channels.discord.harness import Stage, a_stage

pytestmark = [pytest.mark.anyio, pytest.mark.req("F6")]


async def working(stage: Stage, thread: Conversation) -> Message:
    """A turn that waits for a person, so that the test decides when its agent takes what was said."""
    stage.owner.say(thread, "first\n/ask go on")
    return await thread.wait_for_answer(lambda m: "go on" in m.content and m.components)


async def marked(stage: Stage, message: Message, mark: str) -> None:
    await stage.discord.wait_for(lambda: mark in message.reactions, what=f"the mark {mark}")


def facts(stage: Stage, thread: Conversation, kind: str) -> list[dict[str, str]]:
    """Of the jobs of this thread: the tests share a daemon."""
    enqueued = [line["payload"] for line in stage.daemon.journal("JobEnqueued")]
    here = {job["job_id"] for job in enqueued if job["session_key"].endswith(f":{thread.id}")}
    return [line["payload"] for line in stage.daemon.journal(kind) if line["payload"]["job_id"] in here]


async def test_a_message_with_the_sign_goes_into_the_running_turn_and_is_marked(stage: Stage) -> None:
    thread = await stage.start_thread()
    question = await working(stage, thread)
    said = stage.owner.say(thread, "!look at the docs first")
    await stage.discord.wait_for(lambda: facts(stage, thread, "SteeringBegun"), what="the text on its way")
    await stage.owner.click(question, "Allow once").acknowledged()
    answer = await thread.wait_for_answer(lambda m: "allowed: go on" in m.content, after=said)
    assert "and then you said: look at the docs first" in answer.content
    await marked(stage, said, STEERED)
    assert len(facts(stage, thread, "JobStarted")) == 1


async def test_the_button_under_a_message_that_waits_gives_it_to_the_turn(stage: Stage) -> None:
    thread = await stage.start_thread()
    stage.owner.say(thread, "first\n/slow 5")
    said = stage.owner.say(thread, "also this")
    note = await thread.wait_for_answer(lambda m: "before you" in m.content and m.components, after=said)
    clicked = stage.owner.click(note, "Send into the turn")
    await stage.discord.wait_for(lambda: clicked.interaction.followups, what="what became of it")
    assert clicked.interaction.followups[0].content.startswith("Given to the turn of #")
    await marked(stage, said, STEERED)
    assert len(facts(stage, thread, "JobStarted")) == 1
    assert [fact["job_id"] for fact in facts(stage, thread, "SteeringAsked")] == [
        facts(stage, thread, "JobSteered")[0]["job_id"]
    ]


async def test_a_text_that_the_agent_refuses_is_told_and_waits(stage: Stage) -> None:
    thread = await stage.start_thread()
    stage.owner.say(thread, "first\n/alone 3")
    await stage.discord.wait_for(lambda: facts(stage, thread, "JobStarted"), what="a turn")
    said = stage.owner.say(thread, "!now")
    remark = await thread.wait_for_answer(lambda m: "Not taken into the turn" in m.content, after=said)
    assert "I am busy." in remark.content
    await thread.wait_for_answer(lambda m: "now" in m.content and "echo" in m.content, after=remark)
    assert facts(stage, thread, "JobSteered") == []


async def test_the_button_works_after_a_restart_and_says_when_nothing_runs_any_more(tmp_path: Path) -> None:
    async with a_stage(tmp_path) as stage:
        thread = await stage.start_thread()
        stage.owner.say(thread, "first\n/hang")
        said = stage.owner.say(thread, "also this")
        note = await thread.wait_for_answer(lambda m: "before you" in m.content and m.components, after=said)
        await stage.daemon.kill()
        await stage.daemon.up()
        await thread.wait_for_answer(lambda m: "echo" in m.content and "also this" in m.content, after=said)
        await stage.discord.wait_for(lambda: note.deleted, what="the end of the note")
        note.deleted = False  # as a client shows it that has not heard of the deletion yet
        late = stage.owner.click(note, "Send into the turn")
        await stage.discord.wait_for(lambda: late.interaction.followups, what="a refusal")
        assert "E_NOT_STEERABLE" in late.interaction.followups[0].content
        assert len(facts(stage, thread, "JobEnqueued")) == 2


async def test_a_strangers_click_steers_nothing(stage: Stage) -> None:
    eve = stage.discord.person("eve-steer")
    thread = await stage.start_thread()
    stage.discord.world.join(thread.channel.guild, eve.user)
    stage.owner.say(thread, "first\n/hang")
    said = stage.owner.say(thread, "also this")
    note = await thread.wait_for_answer(lambda m: "before you" in m.content and m.components, after=said)
    eve.click(note, "Send into the turn")
    eve.say(thread, "!mine too")
    mine = stage.owner.say(thread, "!and that")
    await stage.discord.wait_for(lambda: facts(stage, thread, "SteeringBegun"), what="the owner's text")
    assert (len(facts(stage, thread, "SteeringAsked")), len(facts(stage, thread, "SteeringBegun"))) == (0, 1)
    assert mine
