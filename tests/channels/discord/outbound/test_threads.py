"""Threads: made once, refused where none can be, and given up with a code when they are gone."""

from pathlib import Path

import pytest
from loopback_discord import Allow, Fault

from tests.channels.discord.answers import answer_to, settled
from tests.channels.discord.harness import Stage, a_stage

pytestmark = pytest.mark.anyio


@pytest.mark.req("A3", "A18")
async def test_a_thread_that_is_gone_ends_its_delivery_with_a_code_and_a_locked_one_delays_nobody(
    stage: Stage,
) -> None:
    gone, locked, other = [await stage.start_thread() for _ in range(3)]
    held = [Fault.hang() for _ in (gone, locked)]
    for thread, answer in zip((gone, locked), held, strict=True):
        stage.discord.faults.next("POST", f"/channels/{thread.id}/messages", answer)
        stage.owner.say(thread, "hello")
        await stage.discord.wait_for_call("POST", f"/channels/{thread.id}/messages")
    gone.delete()
    locked.lock()
    for answer in held:
        answer.release()
    said = stage.owner.say(other, "nothing happened here")
    await answer_to(other, said)
    [abandoned] = await stage.daemon.until_journalled("DeliveryAbandoned")
    assert abandoned["payload"]["error_code"] == "E_THREAD_ACCESS_FAILED"
    await stage.daemon.until_journalled("DeliveryDeferred", error_code="E_THREAD_ACCESS_FAILED")
    locked.unlock()
    await locked.wait_for_answer(lambda m: m.content.startswith("echo"))


@pytest.mark.req("A2", "A3")
async def test_an_answer_waits_for_the_right_to_be_sent_and_its_mark_waits_with_it(tmp_path: Path) -> None:
    async with a_stage(tmp_path) as stage:
        thread = await stage.start_thread()
        stage.text_channel.deny(Allow.SEND_IN_THREADS)
        said = stage.owner.say(thread, "hello")
        await stage.daemon.until_journalled("DeliveryDeferred", error_code="E_THREAD_ACCESS_FAILED")
        await stage.discord.wait_for(lambda: "👀" in said.reactions, what="the mark of a message that was taken")
        assert "✅" not in said.reactions
        stage.text_channel.deny(0)
        await answer_to(thread, said)
        await settled(stage, said)
        assert stage.daemon.journal("DeliveryAbandoned") == []


async def test_a_channel_that_takes_no_messages_refuses_start_and_leaves_nothing(stage: Stage) -> None:
    quiet = stage.discord.text_channel(stage.text_channel.channel.guild, "quiet", deny=Allow.SEND_MESSAGES)  # type: ignore[arg-type]
    reply = await stage.owner.slash(quiet, "start", project_name="api").reply()
    assert reply.content.startswith("E_THREAD_ACCESS_FAILED: ")
    assert quiet.threads() == []


@pytest.mark.parametrize("fault", [Fault.after_work(500), Fault.reset_after_work(), Fault.status(503)])
async def test_start_makes_one_thread_whatever_discord_answers(stage: Stage, fault: Fault) -> None:
    before = len(stage.text_channel.threads())
    opened = len([m for m in stage.text_channel.from_bot if not m.ephemeral])
    stage.discord.faults.next("POST", f"/channels/{stage.text_channel.id}/messages", fault)
    stage.discord.faults.next("POST", f"/channels/{stage.text_channel.id}/messages/*/threads", fault)
    reply = await stage.owner.slash(stage.text_channel, "start", project_name="api").reply(timeout=60)
    assert reply.content.startswith("Session started: ")
    assert len(stage.text_channel.threads()) == before + 1
    assert len([m for m in stage.text_channel.from_bot if not m.ephemeral]) == opened + 1
    sessions = {e["payload"]["session_id"] for e in stage.daemon.journal("SessionCreated")}
    assert {str(t.id) for t in stage.text_channel.threads()} <= sessions


@pytest.mark.parametrize("worked", [True, False])
@pytest.mark.parametrize("at", ["messages", "messages/*/threads"])
async def test_killed_in_the_middle_of_start_there_is_one_thread_and_one_session(
    tmp_path: Path, at: str, *, worked: bool
) -> None:
    async with a_stage(tmp_path) as stage:
        hold = Fault.hang_after_work() if worked else Fault.hang()
        where = f"/channels/{stage.text_channel.id}/{at}"
        stage.discord.faults.next("POST", where, hold)
        stage.owner.slash(stage.text_channel, "start", project_name="api")
        await stage.discord.wait_for_call("POST", where)
        await stage.daemon.kill()
        stage.discord.faults.clear()
        stage.discord.clock.advance(3600)  # no nonce is remembered for so long
        await stage.daemon.up()
        [thread] = await stage.discord.wait_for(stage.text_channel.threads, what="the thread")
        await answer_to(thread, stage.owner.say(thread, "anybody here?"))
        await stage.daemon.until_journalled("PieceDelivered", times=3)  # the opening, its thread, the answer
        assert [m.id for m in stage.text_channel.from_bot if not m.ephemeral] == [thread.id]
        [session] = stage.daemon.journal("SessionCreated")
        assert session["payload"]["session_id"] == str(thread.id)


async def test_where_no_thread_may_grow_start_takes_its_opening_message_back(stage: Stage) -> None:
    deny = Allow.CREATE_PUBLIC_THREADS
    bare = stage.discord.text_channel(stage.text_channel.channel.guild, "bare", deny=deny)  # type: ignore[arg-type]
    reply = await stage.owner.slash(bare, "start", project_name="api").reply()
    assert reply.content.startswith("E_THREAD_ACCESS_FAILED: ")
    assert [m for m in bare.from_bot if not m.ephemeral] == []
    ended = stage.daemon.journal("BindingEnded")[-1]["payload"]
    assert ended["reason"] == "its thread could not be created"
    opened = stage.daemon.journal("SessionCreated")[-1]["payload"]["session_id"]
    listed = await stage.owner.slash(bare, "session list").reply()
    assert opened not in listed.content
