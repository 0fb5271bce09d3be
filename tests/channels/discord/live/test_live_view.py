"""Showing the work: one status message per job, at its pace, and typing that always ends."""

from datetime import datetime
from pathlib import Path

import pytest
from loopback_discord import Conversation, Fault, Message, posting

from tests.channels.discord.answers import answer_to
from tests.channels.discord.harness import Stage, a_stage

pytestmark = pytest.mark.anyio

SUPPRESS_NOTIFICATIONS = 1 << 12
PACE_SEC = 1.2


def status_of(conversation: Conversation, after: Message) -> list[Message]:
    return [m for m in conversation.from_bot if m.id > after.id and "-# job_" in m.content]


def typed_in(stage: Stage, conversation: Conversation, *, times: int = 1) -> list[float]:
    """When the bot was seen typing there; nothing before it was seen so many times."""
    typed = [at for at, channel_id in stage.discord.typings if channel_id == conversation.id]
    return typed if len(typed) >= times else []


async def until_gone(stage: Stage, conversation: Conversation, said: Message) -> None:
    """The job is answered, and its status is deleted."""
    await answer_to(conversation, said)
    await stage.discord.wait_for(lambda: not status_of(conversation, said), what="the end of the status")


@pytest.mark.req("A14", "B3")
async def test_one_status_message_is_edited_and_gone_when_the_job_is_done(stage: Stage) -> None:
    thread = await stage.start_thread()
    said = stage.owner.say(thread, "/hang")
    shown = await stage.discord.wait_for(lambda: status_of(thread, said), what="a status message")
    assert len(shown) == 1
    assert shown[0].content.startswith("⏳ Running for ")
    assert shown[0].flags & SUPPRESS_NOTIFICATIONS, "it rings no phone"
    await stage.daemon.cancel(said)
    await until_gone(stage, thread, said)
    assert shown[0].deleted


async def test_a_job_that_is_over_at_once_has_no_status_message(stage: Stage) -> None:
    said = stage.owner.say(stage.owner.dm, "quick")
    await stage.owner.dm.wait_for_answer(after=said)
    await stage.discord.wait_for(lambda: "✅" in said.reactions)
    assert status_of(stage.owner.dm, said) == []


@pytest.mark.req("B13", "E5")
async def test_the_tool_at_work_is_shown_with_a_human_label(stage: Stage) -> None:
    thread = await stage.start_thread()
    said = stage.owner.say(thread, "/slow 1\n/tool Read /srv/app/main.py\n/hang")
    shown = await stage.discord.wait_for(
        lambda: [m for m in status_of(thread, said) if "🔧 Read …" in m.content], what="the tool line"
    )
    assert len(shown) == 1
    await stage.daemon.cancel(said)
    await until_gone(stage, thread, said)


@pytest.mark.req("B3")
async def test_typing_shows_while_the_agent_works_and_ends_with_the_job(stage: Stage) -> None:
    """Another job begins when the first one is over: while it types twice, the first one would have typed again."""
    first, second = await stage.start_thread(), await stage.start_thread()
    said = stage.owner.say(first, "/hang")
    await first.wait_for_typing()
    await stage.daemon.cancel(said)
    await stage.discord.wait_for(lambda: "❌" in said.reactions, what="the mark of its end")
    later = stage.owner.say(second, "/hang")
    began, *_ = await stage.discord.wait_for(lambda: typed_in(stage, second, times=2), what="typing twice")
    await stage.daemon.cancel(later)
    assert [at for at in typed_in(stage, first) if at > began] == []


async def test_nobody_types_while_a_person_is_asked(stage: Stage) -> None:
    thread = await stage.start_thread()
    said = stage.owner.say(thread, "/ask ls")
    question = await thread.wait_for_answer(lambda m: m.components, after=said)
    typed = len(stage.discord.typings)
    assert [m for m in status_of(thread, said) if m.id > question.id] == [], "the question is the last thing to see"
    await stage.owner.click(question, "Allow once").acknowledged()
    await until_gone(stage, thread, said)
    assert typed <= len(stage.discord.typings)


async def test_a_question_stands_below_the_status_which_says_that_it_waits(stage: Stage) -> None:
    thread = await stage.start_thread()
    said = stage.owner.say(thread, "/slow 1.2\n/ask ls")
    question = await thread.wait_for_answer(lambda m: m.components, after=said)
    shown = await stage.discord.wait_for(
        lambda: [m for m in status_of(thread, said) if "✋" in m.content], what="that it waits"
    )
    assert [m.id < question.id for m in shown] == [True]
    await stage.owner.click(question, "Allow once").acknowledged()
    await until_gone(stage, thread, said)


@pytest.mark.req("A2")
async def test_edits_are_paced_and_the_newest_content_wins(tmp_path: Path) -> None:
    async with a_stage(tmp_path, paced=True) as stage:
        thread = await stage.start_thread()
        script = "\n".join(f"/slow 0.2\n/tool Bash step-{n}" for n in range(300))
        said = stage.owner.say(thread, script)
        [started] = await stage.daemon.until_journalled("JobStarted")
        [shown] = await stage.discord.wait_for(lambda: status_of(thread, said), what="a status message")
        edits = await stage.discord.wait_for_call("PATCH", f"/channels/{thread.id}/messages/{shown.id}", times=4)
        await stage.daemon.cancel(said)
        await until_gone(stage, thread, said)
        # A call may be long on its way, so that the next one seems close behind it. No delay makes them come sooner.
        began = datetime.fromisoformat(started["ts"]).timestamp()
        assert edits[3].at - began >= 4 * PACE_SEC
        assert stage.discord.count(429) == 0


async def test_a_status_message_that_is_deleted_stays_deleted(stage: Stage) -> None:
    thread = await stage.start_thread()
    said = stage.owner.say(thread, "\n".join(f"/slow 0.2\n/tool Bash step-{n}" for n in range(300)))
    shown = (await stage.discord.wait_for(lambda: status_of(thread, said), what="a status message"))[0]
    posting.delete(stage.discord.world, shown)
    await stage.discord.wait_for_call("PATCH", f"/channels/{thread.id}/messages/{shown.id}")
    await stage.daemon.cancel(said)
    await answer_to(thread, said)
    await stage.discord.wait_for(lambda: "❌" in said.reactions)
    assert [m for m in thread.from_bot if m.id > shown.id and "-# job_" in m.content] == []


@pytest.mark.req("A3")
async def test_a_thread_that_is_archived_in_the_middle_is_reopened(stage: Stage) -> None:
    thread = await stage.start_thread()
    said = stage.owner.say(thread, "/hang")
    await stage.discord.wait_for(lambda: status_of(thread, said), what="a status message")
    thread.archive()
    await stage.daemon.cancel(said)
    await answer_to(thread, said)
    assert not thread.thread.archived
    await until_gone(stage, thread, said)


@pytest.mark.req("A2")
async def test_a_status_goes_although_deleting_it_fails_at_first(stage: Stage) -> None:
    thread = await stage.start_thread()
    said = stage.owner.say(thread, "/hang")
    await stage.discord.wait_for(lambda: status_of(thread, said), what="a status message")
    stage.discord.faults.next("DELETE", f"/channels/{thread.id}/messages/*", Fault.status(503), for_times=2)
    await stage.daemon.cancel(said)
    await until_gone(stage, thread, said)


@pytest.mark.req("A7", "A14")
async def test_a_daemon_whose_only_job_was_interrupted_starts_again_and_again(tmp_path: Path) -> None:
    async with a_stage(tmp_path) as stage:
        hung = stage.owner.say(stage.owner.dm, "/hang")
        await stage.discord.wait_for(lambda: status_of(stage.owner.dm, hung), what="a status message")
        await stage.daemon.kill()
        await stage.daemon.up()
        await stage.daemon.until_journalled("PieceDelivered")
        await stage.daemon.kill()
        await stage.daemon.up()
        said = stage.owner.say(stage.owner.dm, "still there?")
        await stage.owner.dm.wait_for_answer(lambda m: "still there?" in m.content, after=said)


@pytest.mark.req("A14")
async def test_a_status_left_over_by_a_crash_does_not_say_that_it_runs(tmp_path: Path) -> None:
    async with a_stage(tmp_path) as stage:
        thread = await stage.start_thread()
        said = stage.owner.say(thread, "/hang")
        shown = (await stage.discord.wait_for(lambda: status_of(thread, said), what="a status message"))[0]
        assert "Running" in shown.content
        await stage.daemon.kill()
        await stage.daemon.up()
        await stage.discord.wait_for(lambda: shown.deleted, what="the end of the status")


@pytest.mark.req("B12")
async def test_a_table_stays_readable(stage: Stage) -> None:
    thread = await stage.start_thread()
    said = stage.owner.say(thread, "look\n\n| a | b |\n|---|---|\n| one | two |")
    answer = await thread.wait_for_answer(lambda m: m.content.startswith("echo"), after=said)
    assert "```\na    b\n---  ---\none  two\n```" in answer.content


@pytest.mark.req("E9")
async def test_more_files_than_ten_go_in_several_messages(stage: Stage) -> None:
    """Ten pictures at most come of a turn; the file of a long answer is the eleventh."""
    thread = await stage.start_thread()
    said = stage.owner.say(thread, "/image 10\n/long 30000")
    await thread.wait_for_answer(lambda m: "image-10.png" in [a.filename for a in m.attachments], after=said)
    posted = [[a.filename for a in m.attachments] for m in thread.from_bot if m.id > said.id and m.attachments]
    pictures = [f"image-{n}.png" for n in range(1, 11)]
    assert posted == [["answer.md", *pictures[:9]], pictures[9:]]
