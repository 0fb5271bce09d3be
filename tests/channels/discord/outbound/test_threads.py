"""Threads: made once, refused where none can be, and given up with a code when they are gone."""

from pathlib import Path

import pytest
from loopback_discord import Allow, Fault

from tests.channels.discord.answers import answer_to
from tests.channels.discord.harness import Stage, a_stage

pytestmark = pytest.mark.anyio


@pytest.mark.req("A3", "A18")
async def test_a_thread_that_is_gone_or_locked_ends_its_delivery_with_a_code_and_delays_nobody(stage: Stage) -> None:
    gone, locked, other = [await stage.start_thread() for _ in range(3)]
    stage.owner.say(gone, "/slow 0.5")
    stage.owner.say(locked, "/slow 0.5")
    await gone.wait_for_typing()
    await locked.wait_for_typing()
    gone.delete()
    locked.lock()
    said = stage.owner.say(other, "nothing happened here")
    await answer_to(other, said)
    abandoned = await stage.daemon.until_journalled("DeliveryAbandoned", times=2)
    assert {e["payload"]["error_code"] for e in abandoned} == {"E_THREAD_ACCESS_FAILED"}


async def test_a_channel_that_takes_no_messages_refuses_start_and_leaves_nothing(stage: Stage) -> None:
    quiet = stage.discord.text_channel(stage.place.channel.guild, "quiet", deny=Allow.SEND_MESSAGES)  # type: ignore[arg-type]
    reply = await stage.owner.slash(quiet, "start", project_name="api").reply()
    assert reply.content.startswith("E_THREAD_ACCESS_FAILED: ")
    assert quiet.threads() == []


@pytest.mark.parametrize("fault", [Fault.after_work(500), Fault.reset_after_work(), Fault.status(503)])
async def test_start_makes_one_thread_whatever_discord_answers(stage: Stage, fault: Fault) -> None:
    before = len(stage.place.threads())
    opened = len([m for m in stage.place.from_bot if not m.ephemeral])
    stage.discord.faults.next("POST", f"/channels/{stage.place.id}/messages", fault)
    stage.discord.faults.next("POST", f"/channels/{stage.place.id}/messages/*/threads", fault)
    reply = await stage.owner.slash(stage.place, "start", project_name="api").reply(timeout=20)
    assert reply.content.startswith("Session started: ")
    assert len(stage.place.threads()) == before + 1
    assert len([m for m in stage.place.from_bot if not m.ephemeral]) == opened + 1
    sessions = {e["payload"]["session_id"] for e in stage.daemon.journal("SessionCreated")}
    assert {str(t.id) for t in stage.place.threads()} <= sessions


@pytest.mark.parametrize("worked", [True, False])
@pytest.mark.parametrize("at", ["messages", "messages/*/threads"])
async def test_killed_in_the_middle_of_start_there_is_one_thread_and_one_session(
    tmp_path: Path, at: str, *, worked: bool
) -> None:
    async with a_stage(tmp_path) as stage:
        hold = Fault.hang_after_work() if worked else Fault.hang()
        where = f"/channels/{stage.place.id}/{at}"
        stage.discord.faults.next("POST", where, hold)
        stage.owner.slash(stage.place, "start", project_name="api")
        await stage.discord.wait_for_call("POST", where)
        await stage.daemon.kill()
        stage.discord.faults.clear()
        stage.discord.clock.advance(3600)  # no nonce is remembered for so long
        await stage.daemon.up()
        [thread] = await stage.discord.wait_for(stage.place.threads, what="the thread")
        await answer_to(thread, stage.owner.say(thread, "anybody here?"))
        await stage.daemon.until_journalled("PieceDelivered", times=3)  # the opening, its thread, the answer
        assert [m.id for m in stage.place.from_bot if not m.ephemeral] == [thread.id]
        [session] = stage.daemon.journal("SessionCreated")
        assert session["payload"]["session_id"] == str(thread.id)


async def test_where_no_thread_may_grow_start_takes_its_opening_message_back(stage: Stage) -> None:
    deny = Allow.CREATE_PUBLIC_THREADS
    bare = stage.discord.text_channel(stage.place.channel.guild, "bare", deny=deny)  # type: ignore[arg-type]
    reply = await stage.owner.slash(bare, "start", project_name="api").reply()
    assert reply.content.startswith("E_THREAD_ACCESS_FAILED: ")
    assert [m for m in bare.from_bot if not m.ephemeral] == []
    ended = stage.daemon.journal("BindingEnded")[-1]["payload"]
    assert ended["reason"] == "its thread could not be made"
