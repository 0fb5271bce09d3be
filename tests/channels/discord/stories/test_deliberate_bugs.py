"""The stories are judged: with a bug that is put into the daemon on purpose, each sees what the other tests forbid."""

import shutil
from pathlib import Path

import pytest
from loopback_discord import Fault
from loopback_discord.board import WaitedInVain

from tests.channels.discord.answers import answer_to, answers
from tests.channels.discord.deliberate_bugs import BUGS
from tests.channels.discord.harness import Daemon, a_stage

pytestmark = pytest.mark.anyio

SEEN = {
    "serve_whoever_else_serves": "answered twice",
    "take_what_was_said_before_the_founding": "an old message was run",
    "run_what_the_bot_has_answered": "answered twice",
    "refuse_what_was_missed": "a missed message was refused",
    "leave_out_in_silence": "nobody was told",
    "tell_no_refusal_after_a_kill": "nobody was told",
    "send_into_a_ban": "a request went into the ban",
    "reply_to_a_command_once": "a command was not answered",
}


def test_every_bug_has_its_story() -> None:
    assert set(SEEN) == set(BUGS)


async def test_two_daemons_that_both_serve_answer_twice(tmp_path: Path) -> None:
    async with a_stage(tmp_path / "one", bug="serve_whoever_else_serves") as stage:
        dm = stage.owner.dm
        second = Daemon(stage.discord, tmp_path / "two", bug="serve_whoever_else_serves")
        await second.up()
        try:
            said = stage.owner.say(dm, "who answers?")
            await second.until_journalled("PieceDelivered", timeout=60)
            await stage.daemon.until_journalled("PieceDelivered", timeout=60)
            assert sum(m.reference == (dm.id, said.id) for m in dm.from_bot) == 2
        finally:
            await second.kill()


async def test_a_fresh_state_that_knows_no_founding_runs_old_messages(tmp_path: Path) -> None:
    async with a_stage(tmp_path, up=False, bug="take_what_was_said_before_the_founding") as stage:
        dm = stage.owner.dm
        old = stage.owner.say(dm, "said to the program that had this bot before")
        await stage.daemon.up()
        await answer_to(dm, old)


async def test_an_older_copy_that_does_not_look_for_answers_answers_again(tmp_path: Path) -> None:
    async with a_stage(tmp_path, bug="run_what_the_bot_has_answered") as stage:
        dm = stage.owner.dm
        await answer_to(dm, stage.owner.say(dm, "before"))
        await stage.daemon.kill()
        shutil.copytree(tmp_path / "state", tmp_path / "copy")
        await stage.daemon.up()
        await answer_to(dm, stage.owner.say(dm, "since"))
        await stage.daemon.kill()
        shutil.rmtree(tmp_path / "state")
        shutil.copytree(tmp_path / "copy", tmp_path / "state")
        stage.discord.clock.advance(600)
        await stage.daemon.up()
        await stage.discord.wait_for(lambda: answers(dm).count("since") == 2, timeout=60, what="the second answer")


async def test_catch_up_that_does_not_ask_for_room_refuses(tmp_path: Path) -> None:
    async with a_stage(tmp_path, FAIRLEAD_MAX_QUEUE_PER_SESSION="2", bug="refuse_what_was_missed") as stage:
        thread = await stage.start_thread()
        await answer_to(thread, stage.owner.say(thread, "before"))
        await stage.daemon.kill()
        stage.owner.say(thread, "first\n/hang")
        for number in range(5):
            stage.owner.say(thread, f"missed {number}")
        await stage.daemon.up()
        await stage.daemon.until_journalled("MessageRefused", error_code="E_QUEUE_FULL", timeout=60)


async def test_what_is_left_out_in_silence_is_seen(tmp_path: Path) -> None:
    async with a_stage(tmp_path, FAIRLEAD_CATCH_UP_MESSAGES="1", bug="leave_out_in_silence") as stage:
        thread = await stage.start_thread()
        await answer_to(thread, stage.owner.say(thread, "before"))
        await stage.daemon.kill()
        for number in range(3):
            last = stage.owner.say(thread, f"missed {number}")
        await stage.daemon.up()
        await answer_to(thread, last)
        assert len(stage.daemon.journal("MessageSkipped")) == 2
        assert [m for m in thread.from_bot if "will not be answered" in m.content] == []


async def test_a_refusal_that_a_kill_cut_off_and_nobody_tells_is_seen(tmp_path: Path) -> None:
    async with a_stage(tmp_path, FAIRLEAD_MAX_QUEUE_PER_SESSION="1", bug="tell_no_refusal_after_a_kill") as stage:
        thread = await stage.start_thread()
        words = stage.discord.faults.always(
            "POST", "/channels/*/messages", Fault.reset(), when=lambda body: "E_QUEUE_FULL" in str(body)
        )
        for text in ("/hang", "waits"):
            stage.owner.say(thread, text)
        await stage.daemon.until_journalled("JobStarted")
        stage.owner.say(thread, "too many")
        await stage.daemon.until_journalled("MessageRefused")
        await stage.daemon.kill()
        words.lift()
        await stage.daemon.up()
        await answer_to(thread, stage.owner.say(thread, "and then"))
        assert [m for m in thread.from_bot if "E_QUEUE_FULL" in m.content] == []


async def test_requests_that_go_into_a_ban_are_seen(tmp_path: Path) -> None:
    async with a_stage(tmp_path, bug="send_into_a_ban") as stage:
        thread = await stage.start_thread()
        ban = stage.discord.faults.always("*", "/*", Fault.ban(3600))
        stage.owner.say(thread, "first")
        await stage.daemon.until_journalled("DeliveryDeferred", error_code="E_DISCORD_RATE_LIMIT")
        await stage.daemon.kill()
        struck = ban.struck
        await stage.daemon.launch()
        await stage.discord.wait_for(lambda: ban.struck > struck, timeout=60, what="a request into the ban")


async def test_a_reply_to_a_command_that_is_tried_once_is_lost(tmp_path: Path) -> None:
    async with a_stage(tmp_path, bug="reply_to_a_command_once") as stage:
        stage.discord.faults.next("PATCH", "/webhooks/*/messages/@original", Fault.reset())
        asked = stage.owner.slash(stage.text_channel, "projects")
        await stage.daemon.until_logged("a reply was not shown", timeout=60)
        with pytest.raises(WaitedInVain):
            await asked.reply(timeout=0.5)
