"""What was said while nobody listened is read later, once and in order."""

import shutil
from pathlib import Path

import pytest
from loopback_discord import Clock, Fault

from tests.channels.discord.answers import answer_to, answers, settled
from tests.channels.discord.harness import a_stage

pytestmark = pytest.mark.anyio


async def test_what_was_said_while_nobody_ran_is_answered_once_and_in_order(tmp_path: Path) -> None:
    async with a_stage(tmp_path) as stage:
        thread = await stage.start_thread()
        await answer_to(thread, stage.owner.say(thread, "before"))
        await answer_to(stage.owner.dm, stage.owner.say(stage.owner.dm, "before"))
        await stage.daemon.kill()
        eve = stage.discord.person("eve")
        for n in range(3):
            stage.owner.say(thread, f"missed {n}")
            eve.say(thread, f"noise {n}")
        stage.owner.say(stage.owner.dm, "missed too")
        stage.owner.say(stage.text_channel, "not for you")
        await stage.daemon.up()
        live = stage.owner.say(thread, "live")
        await answer_to(thread, live)
        await settled(stage, live)
        assert answers(thread) == ["before", "missed 0", "missed 1", "missed 2", "live"]
        await stage.owner.dm.wait_for_answer(lambda m: "missed too" in m.content)
        await stage.daemon.kill()
        await stage.daemon.up()
        await answer_to(thread, stage.owner.say(thread, "again"))
        assert answers(thread) == ["before", "missed 0", "missed 1", "missed 2", "live", "again"]


async def test_a_first_direct_message_is_found_although_nobody_knew_the_conversation(tmp_path: Path) -> None:
    async with a_stage(tmp_path) as stage:
        await stage.daemon.kill()
        said = stage.owner.say(stage.owner.dm, "anybody home?")
        await stage.daemon.up()
        await answer_to(stage.owner.dm, said)


async def test_direct_messages_from_before_the_state_was_founded_are_no_prompts(tmp_path: Path) -> None:
    async with a_stage(tmp_path, up=False) as stage:
        dm = stage.owner.dm
        stage.owner.say(dm, "said to the program that had this bot before")
        stage.owner.say(dm, "delete everything")
        await stage.daemon.up()
        await answer_to(dm, stage.owner.say(dm, "hello"))
        assert answers(dm) == ["hello"]
        assert stage.daemon.journal("MessageSkipped") == []


@pytest.mark.parametrize("place", ["direct message", "channel"])
async def test_nor_are_they_after_a_restart_where_a_reaction_was_the_first_word(tmp_path: Path, place: str) -> None:
    """A reaction binds the conversation, and no message in it was seen before."""
    async with a_stage(tmp_path, up=False) as stage:
        where = stage.owner.dm if place == "direct message" else stage.text_channel
        stage.owner.tell_bot(where, "said to the program that had this bot before")
        old = stage.owner.say(where, "this one again")
        stage.owner.tell_bot(where, "delete everything")
        await stage.daemon.up()
        stage.owner.react(old, "🤖")
        await answer_to(where, old)
        await stage.daemon.kill()
        missed = stage.owner.tell_bot(where, "missed")
        await stage.daemon.up()
        await answer_to(where, missed)
        await answer_to(where, stage.owner.tell_bot(where, "hello"))
        assert answers(where) == ["this one again", "missed", "hello"]


async def test_what_another_state_directory_answered_is_not_answered_again(tmp_path: Path) -> None:
    """An older copy of the state directory is put back: it does not know what was answered since."""
    async with a_stage(tmp_path) as stage:
        dm, thread = stage.owner.dm, await stage.start_thread()
        for conversation in (dm, thread):
            await answer_to(conversation, stage.owner.say(conversation, "before"))
        await stage.daemon.kill()
        shutil.copytree(tmp_path / "state", tmp_path / "copy")
        await stage.daemon.up()
        for conversation in (dm, thread):
            await answer_to(conversation, stage.owner.say(conversation, "since"))
        await stage.daemon.kill()
        shutil.rmtree(tmp_path / "state")
        shutil.copytree(tmp_path / "copy", tmp_path / "state")
        stage.discord.clock.advance(600)  # Discord has forgotten the nonces of what was answered since
        missed = [stage.owner.say(conversation, "missed") for conversation in (dm, thread)]
        await stage.daemon.up()
        for conversation, said in zip((dm, thread), missed, strict=True):
            await answer_to(conversation, said)
            assert answers(conversation) == ["before", "since", "missed"]


@pytest.mark.req("B11")
async def test_however_short_the_queue_all_missed_messages_are_taken_in_order(tmp_path: Path) -> None:
    async with a_stage(tmp_path, FAIRLEAD_MAX_QUEUE_PER_SESSION="2") as stage:
        thread = await stage.start_thread()
        await answer_to(thread, stage.owner.say(thread, "before"))
        await stage.daemon.kill()
        first = stage.owner.say(thread, "first\n/hang")  # nobody's turn comes before the second kill
        for number in range(11):
            stage.owner.say(thread, f"missed {number}")
        await stage.daemon.up()
        [held] = await stage.daemon.until_journalled("JobEnqueued", message_id=str(first.id))
        await stage.daemon.until_journalled("JobStarted", job_id=held["payload"]["job_id"])
        await stage.daemon.until_journalled("JobEnqueued", times=3)
        stage.owner.say(thread, "live, behind them")
        await stage.daemon.kill()  # what is not taken yet is still at Discord
        await stage.daemon.up()
        wanted = [*(f"missed {number}" for number in range(11)), "live, behind them"]
        await stage.discord.wait_for(lambda: answers(thread)[-12:] == wanted, timeout=60, what="all answers")
        assert stage.daemon.journal("MessageRefused") == []


async def test_the_bots_own_role_is_a_mention_live_and_missed(tmp_path: Path) -> None:
    async with a_stage(tmp_path) as stage:
        channel = stage.text_channel
        guild = channel.channel.guild
        assert guild is not None
        role = f"<@&{guild.bot_role_id}>"
        await answer_to(channel, stage.owner.say(channel, f"{role} live"))
        await stage.daemon.kill()
        missed = stage.owner.say(channel, f"{role} missed")
        stage.owner.say(channel, f"<@&{guild.id}> not for you")
        await stage.daemon.up()
        await answer_to(channel, missed)
        assert answers(channel) == ["live", "missed"]


async def test_of_many_missed_messages_the_newest_are_answered(tmp_path: Path) -> None:
    async with a_stage(tmp_path, FAIRLEAD_CATCH_UP_MESSAGES="2") as stage:
        thread = await stage.start_thread()
        await answer_to(thread, stage.owner.say(thread, "before"))
        await stage.daemon.kill()
        missed = [stage.owner.say(thread, f"missed {n}") for n in range(5)]
        await stage.daemon.up()
        await thread.wait_for_answer(lambda m: "missed 4" in m.content)
        live = stage.owner.say(thread, "live")
        await answer_to(thread, live)
        assert answers(thread) == ["before", "missed 3", "missed 4", "live"]
        skipped = [e["payload"] for e in stage.daemon.journal("MessageSkipped")]
        assert [s["message_id"] for s in skipped] == [str(m.id) for m in missed[:3]]
        [told] = [m for m in thread.from_bot if "will not be answered" in m.content]
        assert told.content.startswith("3 earlier messages")
        assert told.reference == (thread.id, missed[2].id)
        why = await stage.owner.slash(thread, "why", message=str(missed[0].id)).reply()
        assert "skipped: more than FAIRLEAD_CATCH_UP_MESSAGES were missed" in why.content.replace("\\_", "_")


async def test_however_many_were_missed_only_so_many_are_read(tmp_path: Path) -> None:
    async with a_stage(tmp_path, FAIRLEAD_CATCH_UP_MESSAGES="1") as stage:
        thread = await stage.start_thread()
        await answer_to(thread, stage.owner.say(thread, "before"))
        await stage.daemon.until_journalled("PieceDelivered", times=3)  # so that nothing is looked for afterwards
        await stage.daemon.kill()
        missed = [stage.owner.say(thread, f"missed {n}") for n in range(260)]
        read = len(stage.discord.calls("GET", f"/channels/{thread.id}/messages"))
        await stage.daemon.up()
        await answer_to(thread, missed[-1])
        skipped = [e["payload"]["message_id"] for e in stage.daemon.journal("MessageSkipped")]
        assert skipped == [str(m.id) for m in missed[59:259]]
        assert len(stage.discord.calls("GET", f"/channels/{thread.id}/messages")) == read + 3
        assert await stage.daemon.until_logged("more was missed than is looked at")


async def test_a_first_direct_message_of_long_ago_is_skipped_and_why_says_so(tmp_path: Path) -> None:
    two_days_ago = Clock()
    two_days_ago.advance(-48 * 3600)
    async with a_stage(tmp_path, clock=two_days_ago, FAIRLEAD_CATCH_UP_HOURS="24") as stage:
        dm = stage.owner.dm
        await answer_to(dm, stage.owner.say(dm, "before"))
        await stage.daemon.kill()
        stale = stage.owner.say(dm, "anybody home?")
        stage.discord.clock.advance(48 * 3600)
        for _ in range(2):
            await stage.daemon.up()
            [skipped] = await stage.daemon.until_journalled("MessageSkipped")
            assert skipped["payload"]["message_id"] == str(stale.id)
            why = await stage.owner.slash(stage.text_channel, "why", message=str(stale.id)).reply()
            assert "skipped: older than FAIRLEAD_CATCH_UP_HOURS" in why.content.replace("\\_", "_")
            await stage.daemon.kill()
        await stage.daemon.up()
        await answer_to(stage.owner.dm, stage.owner.say(stage.owner.dm, "and now?"))
        assert len(stage.daemon.journal("MessageSkipped")) == 1
        assert answers(stage.owner.dm) == ["before", "and now?"]
        assert len([m for m in dm.from_bot if "will not be answered" in m.content]) == 1


async def test_what_was_missed_too_long_ago_is_skipped_and_that_is_written_down(tmp_path: Path) -> None:
    two_days_ago = Clock()
    two_days_ago.advance(-48 * 3600)
    async with a_stage(tmp_path, clock=two_days_ago, FAIRLEAD_CATCH_UP_HOURS="24") as stage:
        thread = await stage.start_thread()
        await answer_to(thread, stage.owner.say(thread, "before"))
        await stage.daemon.kill()
        stale = stage.owner.say(thread, "said two days ago")
        stage.discord.clock.advance(47 * 3600)
        recent = stage.owner.say(thread, "said an hour ago")
        await stage.daemon.up()
        await answer_to(thread, recent)
        [skipped] = stage.daemon.journal("MessageSkipped")
        assert skipped["payload"]["message_id"] == str(stale.id)
        assert skipped["payload"]["reason"] == "older than FAIRLEAD_CATCH_UP_HOURS"
        await stage.daemon.kill()
        await stage.daemon.up()
        await answer_to(thread, stage.owner.say(thread, "live"))
        assert answers(thread) == ["before", "said an hour ago", "live"]
        assert len(stage.daemon.journal("MessageSkipped")) == 1


async def test_what_was_said_in_a_thread_that_has_been_archived_since_is_answered(tmp_path: Path) -> None:
    async with a_stage(tmp_path) as stage:
        quiet, busy = await stage.start_thread(), await stage.start_thread()
        await answer_to(quiet, stage.owner.say(quiet, "before"))
        await stage.daemon.kill()
        missed = stage.owner.say(quiet, "missed")
        quiet.archive()
        stage.owner.say(busy, "missed too")
        await stage.daemon.up()
        await answer_to(quiet, missed)
        assert answers(quiet) == ["before", "missed"]


@pytest.mark.parametrize("fault", [Fault.status(503), Fault.reset()])
@pytest.mark.parametrize("at", ["/channels/{thread}/messages", "/guilds/*/threads/active"])
async def test_a_call_that_fails_while_catching_up_loses_no_message(tmp_path: Path, fault: Fault, at: str) -> None:
    async with a_stage(tmp_path) as stage:
        thread = await stage.start_thread()
        await answer_to(thread, stage.owner.say(thread, "before"))
        await stage.daemon.until_journalled("PieceDelivered", times=3)
        await stage.daemon.kill()
        stage.owner.say(thread, "missed")
        where = at.format(thread=thread.id)
        stage.discord.faults.next("GET", where, fault)
        await stage.daemon.up()
        await stage.discord.wait_for_call("GET", where)
        await answer_to(thread, stage.owner.say(thread, "live"))
        assert answers(thread) == ["before", "missed", "live"]
