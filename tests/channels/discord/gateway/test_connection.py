"""The gateway connection: lost, refused, resumed, made anew, and closed."""

from pathlib import Path

import pytest
from loopback_discord import Fault

from tests.channels.discord.answers import answer_to, answers, settled
from tests.channels.discord.harness import CHECK_TEXT, Daemon, Stage, a_stage

pytestmark = pytest.mark.anyio


async def test_op7_and_a_dropped_socket_resume_and_nothing_is_missed(stage: Stage) -> None:
    gateway = stage.discord.gateway
    resumes = len([r for r in gateway.resumes if r.outcome == "ready"])
    gateway.reconnect()
    first = stage.owner.say(stage.owner.dm, "during op7")
    await gateway.resumed(times=resumes + 1)
    await answer_to(stage.owner.dm, first)
    gateway.drop()
    second = stage.owner.say(stage.owner.dm, "while the socket was gone")
    await gateway.resumed(times=resumes + 2, timeout=60)
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
        await answer_to(thread, last, timeout=60)
        live = stage.owner.say(thread, "three live")
        await answer_to(thread, live)
        await settled(stage, live)
        assert answers(thread) == ["before", "one while nobody listened", "two while nobody listened", "three live"]
        assert len(stage.discord.gateway.identifies) <= 2


async def test_without_heartbeat_acks_the_connection_is_given_up_and_made_again(tmp_path: Path) -> None:
    async with a_stage(tmp_path, up=False, DISCORD_HEARTBEAT_TIMEOUT_SEC="1") as stage:
        gateway = stage.discord.gateway
        gateway.heartbeat_interval_ms = 250
        await stage.daemon.up()
        silent, heard = gateway.lines[0], gateway.heartbeats
        gateway.acks = False  # nobody hangs up: the socket stays open, and says nothing more
        await stage.discord.wait_for(lambda: gateway.heartbeats > heard + 1, what="heartbeats into the silence")
        await stage.discord.wait_for(lambda: silent not in gateway.lines, what="the silent socket to be given up")
        gateway.acks = True
        await gateway.resumed(timeout=60)
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
        await stage.discord.gateway.ready(timeout=60)
        await answer_to(stage.owner.dm, stage.owner.say(stage.owner.dm, "there you are"))
        assert len(stage.discord.gateway.identifies) == 1


async def test_discord_down_at_the_start_is_no_reason_not_to_start(tmp_path: Path) -> None:
    async with a_stage(tmp_path, up=False) as stage:
        await stage.discord.go_down()
        await stage.daemon.launch()
        await stage.daemon.until_logged("Discord cannot be reached")
        await stage.discord.come_back()
        await stage.discord.gateway.ready(timeout=60)
        await answer_to(stage.owner.dm, stage.owner.say(stage.owner.dm, "good morning"))


@pytest.mark.req("D5", "B14")
async def test_a_rotated_token_is_picked_up_from_the_env_file_and_nothing_is_lost(tmp_path: Path) -> None:
    async with a_stage(tmp_path, up=False, DISCORD_TOKEN="-") as stage:
        dotenv = tmp_path / ".config" / "fairlead" / ".env"
        dotenv.parent.mkdir(parents=True)
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
        await stage.discord.gateway.ready(identifies=2, timeout=60)
        await answer_to(thread, missed, timeout=60)
        await settled(stage, missed)
        assert answers(thread) == ["begun before", "said meanwhile"]
        await settled(stage, slow)
        assert len(stage.discord.gateway.identifies) <= 4
        assert fresh not in (tmp_path / "logs" / "app.ndjson").read_text()


@pytest.mark.req("D5")
async def test_a_token_that_was_changed_before_the_old_one_is_refused_is_used_at_once(tmp_path: Path) -> None:
    """Discord may let an old session live on for a while after its token was reset."""
    async with a_stage(tmp_path, up=False, DISCORD_TOKEN="-") as stage:
        dotenv = tmp_path / ".config" / "fairlead" / ".env"
        dotenv.parent.mkdir(parents=True)
        dotenv.write_text(f"DISCORD_TOKEN={stage.discord.token}\n")
        await stage.daemon.up()
        thread = await stage.start_thread()
        fresh = stage.discord.world.token = "fresh.token"
        dotenv.write_text(f"DISCORD_TOKEN={fresh}\n")
        stage.discord.gateway.forget_sessions()
        stage.discord.gateway.close(4004)
        await stage.discord.gateway.ready(identifies=2, timeout=60)
        await answer_to(thread, stage.owner.say(thread, "still here?"), timeout=60)


async def test_a_missing_intent_is_named_and_costs_no_identifies(tmp_path: Path) -> None:
    async with a_stage(tmp_path, up=False) as stage:
        stage.discord.world.application.message_content_intent = False
        await stage.daemon.launch()
        told = await stage.daemon.until_logged("MESSAGE CONTENT")
        assert "Privileged Gateway Intents" in told["message"]
        await stage.daemon.until_logged("MESSAGE CONTENT")
        assert len(stage.discord.gateway.identifies) == 1


@pytest.mark.req("A1")
async def test_of_two_daemons_on_one_token_the_first_serves_alone_and_the_owner_is_told(tmp_path: Path) -> None:
    async with a_stage(tmp_path / "one") as stage:
        dm = stage.owner.dm
        await answer_to(dm, stage.owner.say(dm, "before"))
        second = Daemon(stage.discord, tmp_path / "two")
        await second.launch()
        try:
            await second.until_logged("checks again in ten minutes", timeout=60)
            await dm.wait_for_answer(lambda m: "Another Fairlead" in m.content)
            await answer_to(dm, stage.owner.say(dm, "who answers?"))
            thread = await stage.start_thread()
            await answer_to(thread, stage.owner.say(thread, "one thread"))
            assert answers(dm) == ["before", "who answers?"]
            assert len(stage.text_channel.threads()) == 1
            assert second.journal("JobEnqueued") == []
            await stage.discord.wait_for(lambda: "🔎" not in dm.texts, what="the end of the checks")
        finally:
            await second.kill()


@pytest.mark.req("A1")
async def test_a_daemon_that_does_not_know_yet_whether_it_is_alone_takes_nothing(tmp_path: Path) -> None:
    async with a_stage(tmp_path / "one") as stage:
        dm = stage.owner.dm
        await answer_to(dm, stage.owner.say(dm, "before"))
        check = Fault.hang()
        stage.discord.faults.next(
            "POST", f"/channels/{dm.id}/messages", check, when=lambda body: body["content"] == CHECK_TEXT
        )
        second = Daemon(stage.discord, tmp_path / "two")
        await second.launch()
        try:
            await stage.discord.gateway.ready(identifies=2, timeout=60)
            await answer_to(dm, stage.owner.say(dm, "who answers?"))
            thread = await stage.start_thread()
            await answer_to(thread, stage.owner.say(thread, "one thread"))
            check.release()
            await second.until_logged("checks again in ten minutes", timeout=60)
            assert second.journal("JobEnqueued") == second.journal("DeliveryOwed") == []
            assert answers(dm) == ["before", "who answers?"]
            assert len(stage.text_channel.threads()) == 1
        finally:
            await second.kill()


@pytest.mark.req("A1")
async def test_a_command_that_another_daemon_acknowledged_is_not_carried_out(tmp_path: Path) -> None:
    async with a_stage(tmp_path) as stage:
        asked = stage.owner.slash(stage.text_channel, "start", project_name="api")
        asked.interaction.callback_type = 5  # the other daemon was quicker
        await stage.daemon.until_logged("an interaction could not be acknowledged")
        assert stage.text_channel.threads() == []
        assert stage.daemon.journal("DeliveryOwed") == []
