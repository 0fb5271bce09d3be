"""Discord away, slow, lying, or asked by two: nothing is lost, nothing doubled, order kept, no storm."""

from pathlib import Path

import pytest
from loopback_discord import Allow, Clock, Fault, Message, Place

from tests.channels.discord.harness import Stage, a_stage

pytestmark = pytest.mark.anyio


async def answer_to(place: Place, said: Message, *, timeout: float = 20.0) -> Message:
    """The first piece of an answer is a reply to what it answers."""
    return await place.wait_for_answer(lambda m: m.reference == (place.id, said.id), after=said, timeout=timeout)


async def settled(stage: Stage, said: Message, *, timeout: float = 20.0) -> None:
    await stage.discord.wait_for(lambda: "✅" in said.reactions, timeout=timeout, what="the mark of success")


def answers(place: Place) -> list[str]:
    """What was answered, by the words that were said."""
    return [m.content.splitlines()[0].rpartition(": ")[2] for m in place.from_bot if m.content.startswith("echo")]


# --- REST


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
    await stage.discord.wait_for(lambda: len(answers(thread)) >= 3, timeout=30, what="three answers")
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


# --- gateway


async def test_op7_and_a_dropped_socket_resume_and_nothing_is_missed(stage: Stage) -> None:
    gateway = stage.discord.gateway
    resumes = len([r for r in gateway.resumes if r.outcome == "ready"])
    gateway.reconnect()
    first = stage.owner.say(stage.owner.dm, "during op7")
    await gateway.resumed(times=resumes + 1)
    await answer_to(stage.owner.dm, first)
    gateway.drop()
    second = stage.owner.say(stage.owner.dm, "while the socket was gone")
    await gateway.resumed(times=resumes + 2, timeout=20)
    await answer_to(stage.owner.dm, second)
    assert answers(stage.owner.dm)[-2:] == ["during op7", "while the socket was gone"]


@pytest.mark.parametrize("resumable", [True, False])
async def test_op9_loses_nothing_whether_the_session_can_be_resumed_or_not(tmp_path: Path, *, resumable: bool) -> None:
    async with a_stage(tmp_path) as stage:
        thread = await stage.start_thread()
        await answer_to(thread, stage.owner.say(thread, "before"))
        stage.discord.gateway.invalidate(resumable=resumable)
        stage.owner.say(thread, "one while nobody listened")
        last = stage.owner.say(thread, "two while nobody listened")
        await answer_to(thread, last, timeout=30)
        live = stage.owner.say(thread, "three live")
        await answer_to(thread, live)
        await settled(stage, live)
        assert answers(thread) == ["before", "one while nobody listened", "two while nobody listened", "three live"]
        assert len(stage.discord.gateway.identifies) <= 2


async def test_without_heartbeat_acks_the_connection_is_given_up_and_made_anew(tmp_path: Path) -> None:
    async with a_stage(tmp_path, up=False, DISCORD_HEARTBEAT_TIMEOUT_SEC="1") as stage:
        gateway = stage.discord.gateway
        gateway.heartbeat_interval_ms = 250
        await stage.daemon.up()
        silent, heard = gateway.lines[0], gateway.heartbeats
        gateway.acks = False  # nobody hangs up: the socket stays open, and says nothing more
        await stage.discord.wait_for(lambda: gateway.heartbeats > heard + 1, what="heartbeats into the silence")
        await stage.discord.wait_for(lambda: silent not in gateway.lines, what="the silent socket to be given up")
        gateway.acks = True
        await gateway.resumed(timeout=20)
        await answer_to(stage.owner.dm, stage.owner.say(stage.owner.dm, "still here"))
        assert len(gateway.identifies) == 1


async def test_a_refused_first_connect_is_tried_again_while_http_serves(tmp_path: Path) -> None:
    async with a_stage(tmp_path, up=False) as stage:
        stage.discord.gateway.refuse_sockets = True
        await stage.daemon.launch()
        await stage.daemon.until_logged("Discord cannot be reached")
        assert "HTTP      on" in stage.daemon.printed()
        assert "voice" not in stage.daemon.printed()
        stage.discord.gateway.refuse_sockets = False
        await stage.discord.gateway.ready(timeout=30)
        await answer_to(stage.owner.dm, stage.owner.say(stage.owner.dm, "there you are"))
        assert len(stage.discord.gateway.identifies) == 1


async def test_discord_down_at_the_start_is_no_reason_not_to_start(tmp_path: Path) -> None:
    async with a_stage(tmp_path, up=False) as stage:
        await stage.discord.go_down()
        await stage.daemon.launch()
        await stage.daemon.until_logged("Discord cannot be reached")
        await stage.discord.come_back()
        await stage.discord.gateway.ready(timeout=30)
        await answer_to(stage.owner.dm, stage.owner.say(stage.owner.dm, "good morning"))


@pytest.mark.req("D5", "B14")
async def test_a_rotated_token_is_picked_up_from_the_env_file_and_nothing_is_lost(tmp_path: Path) -> None:
    async with a_stage(tmp_path, up=False, DISCORD_TOKEN="-") as stage:
        dotenv = tmp_path / ".env"
        dotenv.write_text(f"DISCORD_TOKEN={stage.discord.token}\n")
        await stage.daemon.up()
        thread = await stage.start_thread()
        slow = stage.owner.say(thread, "begun before\n/slow 1")
        await thread.wait_for_typing()
        fresh = stage.discord.rotate_token()
        told = await stage.daemon.until_logged("DISCORD_TOKEN")
        assert told["level"] == "error"
        missed = stage.owner.say(thread, "said meanwhile")
        dotenv.write_text(f"DISCORD_TOKEN={fresh}\n")
        await stage.discord.gateway.ready(identifies=2, timeout=30)
        await answer_to(thread, missed, timeout=30)
        await settled(stage, missed)
        assert answers(thread) == ["begun before", "said meanwhile"]
        await settled(stage, slow)
        assert len(stage.discord.gateway.identifies) <= 4
        assert fresh not in (tmp_path / "logs" / "app.ndjson").read_text()


@pytest.mark.req("D5")
async def test_a_token_that_was_changed_before_the_old_one_is_refused_is_used_at_once(tmp_path: Path) -> None:
    """Discord may let an old session live on for a while after its token was reset."""
    async with a_stage(tmp_path, up=False, DISCORD_TOKEN="-") as stage:
        dotenv = tmp_path / ".env"
        dotenv.write_text(f"DISCORD_TOKEN={stage.discord.token}\n")
        await stage.daemon.up()
        thread = await stage.start_thread()
        fresh = stage.discord.world.token = "fresh.token"
        dotenv.write_text(f"DISCORD_TOKEN={fresh}\n")
        stage.discord.gateway.forget_sessions()
        stage.discord.gateway.close(4004)
        await stage.discord.gateway.ready(identifies=2, timeout=30)
        await answer_to(thread, stage.owner.say(thread, "still here?"), timeout=30)


async def test_a_missing_intent_is_named_and_costs_no_identifies(tmp_path: Path) -> None:
    async with a_stage(tmp_path, up=False) as stage:
        stage.discord.world.application.message_content_intent = False
        await stage.daemon.launch()
        told = await stage.daemon.until_logged("MESSAGE CONTENT")
        assert "Privileged Gateway Intents" in told["message"]
        await stage.daemon.until_logged("MESSAGE CONTENT")
        assert len(stage.discord.gateway.identifies) == 1


# --- restarts


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
        stage.owner.say(stage.place, "not for you")
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


async def test_a_first_direct_message_is_found_although_nobody_knew_the_place(tmp_path: Path) -> None:
    async with a_stage(tmp_path, up=False) as stage:
        said = stage.owner.say(stage.owner.dm, "anybody home?")
        await stage.daemon.up()
        await answer_to(stage.owner.dm, said)


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
        why = await stage.owner.slash(thread, "why", message=str(missed[0].id)).reply()
        assert "skipped: more than FAIRLEAD_CATCH_UP_MESSAGES were missed" in why.content


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
    async with a_stage(tmp_path, up=False, clock=two_days_ago, FAIRLEAD_CATCH_UP_HOURS="24") as stage:
        stale = stage.owner.say(stage.owner.dm, "anybody home?")
        stage.discord.clock.advance(48 * 3600)
        for _ in range(2):
            await stage.daemon.up()
            [skipped] = await stage.daemon.until_journalled("MessageSkipped")
            assert skipped["payload"]["message_id"] == str(stale.id)
            why = await stage.owner.slash(stage.place, "why", message=str(stale.id)).reply()
            assert "skipped: older than FAIRLEAD_CATCH_UP_HOURS" in why.content
            await stage.daemon.kill()
        await stage.daemon.up()
        await answer_to(stage.owner.dm, stage.owner.say(stage.owner.dm, "and now?"))
        assert len(stage.daemon.journal("MessageSkipped")) == 1
        assert answers(stage.owner.dm) == ["and now?"]


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


async def test_an_edit_and_a_deletion_while_nobody_ran_count_for_what_is_still_queued(tmp_path: Path) -> None:
    async with a_stage(tmp_path) as stage:
        thread = await stage.start_thread()
        stage.owner.say(thread, "/hang")
        await thread.wait_for_typing()
        edited = stage.owner.say(thread, "old words")
        deleted = stage.owner.say(thread, "never said")
        stage.owner.say(thread, "the last")
        await stage.daemon.until_journalled("JobEnqueued", times=4)
        await stage.daemon.kill()
        stage.owner.edit(edited, "new words")
        stage.owner.delete(deleted)
        await stage.daemon.up()
        await stage.discord.wait_for(lambda: "the last" in answers(thread), what="the last answer")
        assert answers(thread) == ["new words", "the last"]
        assert len(stage.daemon.journal("JobWithdrawn")) == 1


async def test_discord_away_keeps_no_job_from_starting_that_was_queued_before(tmp_path: Path) -> None:
    async with a_stage(tmp_path) as stage:
        thread = await stage.start_thread()
        stage.owner.say(thread, "/hang")
        await thread.wait_for_typing()
        stage.owner.say(thread, "queued")
        await stage.daemon.until_journalled("JobEnqueued", times=2)
        await stage.daemon.kill()
        await stage.discord.go_down()
        await stage.daemon.launch()
        await stage.daemon.until_journalled("JobCompleted", timeout=40)
        await stage.discord.come_back()
        await stage.discord.wait_for(lambda: answers(thread) == ["queued"], timeout=60, what="the answer")


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
            await stage.discord.wait_for(lambda s=said: len(pieces(thread, s)) == 3, timeout=20, what="all pieces")
            after = stage.owner.say(thread, "and then?")
            await answer_to(thread, after)
            whole = "\n".join(m.content for m in pieces(thread, said))
            assert len(pieces(thread, said)) == 3
            assert whole.count("Every word") == 91


def _is_piece(body: object) -> bool:
    return isinstance(body, dict) and "Every word" in str(body.get("content"))


def pieces(thread: Place, said: Message) -> list[Message]:
    return [m for m in thread.from_bot if m.id > said.id and "Every word" in m.content]


async def test_six_hours_without_discord_cost_nothing_but_time(tmp_path: Path) -> None:
    async with a_stage(tmp_path) as stage:
        thread = await stage.start_thread()
        said = stage.owner.say(thread, "before the storm\n/slow 0.4")
        await thread.wait_for_typing()
        await stage.discord.go_down()
        await stage.daemon.until_journalled("JobCompleted")
        stage.discord.clock.advance(6 * 3600)
        stage.owner.say(thread, "said into the dark")
        await stage.discord.come_back()
        await stage.discord.wait_for(lambda: len(answers(thread)) == 2, timeout=60, what="both answers")
        assert answers(thread) == ["before the storm", "said into the dark"]
        await settled(stage, said, timeout=40)
        assert stage.discord.invalid_requests == 0


async def test_the_moment_discord_is_back_what_was_owed_is_there(tmp_path: Path) -> None:
    async with a_stage(tmp_path) as stage:
        thread = await stage.start_thread()
        said = stage.owner.say(thread, "before the storm\n/slow 0.4")
        await thread.wait_for_typing()
        await stage.discord.go_down()
        await stage.daemon.until_journalled("JobCompleted")
        await stage.daemon.until_journalled("DeliveryDeferred")  # it is known that Discord is away
        await stage.discord.come_back()
        gateway = stage.discord.gateway
        await stage.discord.wait_for(gateway.connected, timeout=60, what="the gateway")
        await answer_to(thread, said, timeout=3)
        assert answers(thread) == ["before the storm"]


async def test_a_second_daemon_on_the_token_is_noticed_and_stops_intake(tmp_path: Path) -> None:
    async with a_stage(tmp_path / "one") as stage:
        from tests.channels.discord.harness import Daemon

        second = Daemon(stage.discord, tmp_path / "two")
        await second.up()
        try:
            stage.owner.say(stage.owner.dm, "who answers?")
            await stage.daemon.until_logged("Another Fairlead sends with this bot's token")
            await second.until_logged("Another Fairlead sends with this bot's token")
            taken = len(stage.daemon.journal("JobEnqueued"))
            stage.owner.say(stage.owner.dm, "and now?")
            reply = await stage.owner.slash(stage.place, "projects").reply()
            assert reply is not None
            assert len(stage.daemon.journal("JobEnqueued")) == taken
        finally:
            await second.kill()


@pytest.mark.req("B10")
async def test_told_to_stop_it_closes_the_gateway_and_leaves_the_queue(tmp_path: Path) -> None:
    async with a_stage(tmp_path) as stage:
        thread = await stage.start_thread()
        stage.owner.say(thread, "/hang")
        await thread.wait_for_typing()
        stage.owner.say(thread, "queued")
        await stage.daemon.until_journalled("JobEnqueued", times=2)
        await stage.daemon.stop()
        await stage.discord.gateway.disconnected()
        await stage.daemon.up()
        await stage.discord.wait_for(lambda: "queued" in answers(thread), what="the queued one's answer")
        assert stage.daemon.journal("JobFailed")[0]["payload"]["error_code"] == "E_SHUTDOWN"
