"""Posting: whatever Discord answers, each piece comes once."""

from pathlib import Path

import pytest
from loopback_discord import Conversation, Fault, Message

from tests.channels.discord.answers import answer_to, answers, settled
from tests.channels.discord.harness import Stage, a_stage

pytestmark = pytest.mark.anyio


@pytest.mark.req("A2")
async def test_a_post_that_worked_and_answered_500_is_not_posted_again(stage: Stage) -> None:
    thread = await stage.start_thread()
    stage.discord.faults.next("POST", f"/channels/{thread.id}/messages", Fault.after_work(500))
    said = stage.owner.say(thread, "once")
    await settled(stage, said)
    assert answers(thread) == ["once"]


@pytest.mark.parametrize(
    "fault", [Fault.status(503), Fault.after_work(503), Fault.reset(), Fault.reset_after_work(), Fault.status(502)]
)
async def test_whatever_goes_wrong_on_the_way_the_answer_comes_once(stage: Stage, fault: Fault) -> None:
    thread = await stage.start_thread()
    stage.discord.faults.next("POST", f"/channels/{thread.id}/messages", fault)
    said = stage.owner.say(thread, "exactly once")
    await answer_to(thread, said)
    said = stage.owner.say(thread, "and the next")
    await answer_to(thread, said)
    await settled(stage, said)
    assert answers(thread) == ["exactly once", "and the next"]


@pytest.mark.req("A2")
async def test_a_storm_of_429_delays_and_loses_nothing(stage: Stage) -> None:
    thread = await stage.start_thread()
    where = f"/channels/{thread.id}/messages"
    stage.discord.faults.next("POST", where, Fault.rate_limit(0.2), for_times=3)
    stage.discord.faults.next("POST", where, Fault.rate_limit(0.2, is_global=True), for_times=3)
    sent = [stage.owner.say(thread, f"number {n}") for n in range(3)]
    await stage.discord.wait_for(lambda: len(answers(thread)) >= 3, timeout=60, what="three answers")
    await settled(stage, sent[-1])
    assert answers(thread) == ["number 0", "number 1", "number 2"]


async def test_a_call_that_hangs_holds_up_nobody_else(stage: Stage) -> None:
    stuck, other = await stage.start_thread(), await stage.start_thread()
    hold = Fault.hang()
    stage.discord.faults.next("POST", f"/channels/{stuck.id}/messages", hold)
    first = stage.owner.say(stuck, "stuck")
    await stage.discord.wait_for_call("POST", f"/channels/{stuck.id}/messages")
    await answer_to(other, stage.owner.say(other, "not stuck"))
    assert answers(stuck) == []
    hold.release()
    await answer_to(stuck, first)
    assert answers(stuck) == ["stuck"]


async def test_killed_between_any_two_pieces_a_long_answer_is_whole_an_hour_later(tmp_path: Path) -> None:
    async with a_stage(tmp_path) as stage:
        thread = await stage.start_thread()
        for cut in (1, 2, 3):
            said = stage.owner.say(thread, f"round {cut}\n/long 5500")
            where = f"/channels/{thread.id}/messages"
            hold = Fault.hang_after_work()
            stage.discord.faults.next("POST", where, Fault.slow(0), for_times=cut - 1, when=_is_piece)
            stage.discord.faults.next("POST", where, hold, when=_is_piece)
            await stage.discord.wait_for(lambda s=said, c=cut: len(pieces(thread, s)) == c, what=f"piece {cut}")
            await stage.daemon.kill()
            hold.release()
            stage.discord.clock.advance(3600)
            await stage.daemon.up()
            await stage.discord.wait_for(lambda s=said: len(pieces(thread, s)) == 3, timeout=60, what="all pieces")
            after = stage.owner.say(thread, "and then?")
            await answer_to(thread, after)
            whole = "\n".join(m.content for m in pieces(thread, said))
            assert len(pieces(thread, said)) == 3
            assert whole.count("Every word") == 91


def _is_piece(body: object) -> bool:
    return isinstance(body, dict) and "Every word" in str(body.get("content"))


def pieces(thread: Conversation, said: Message) -> list[Message]:
    return [m for m in thread.from_bot if m.id > said.id and "Every word" in m.content]
