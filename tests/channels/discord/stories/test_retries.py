"""What insists until Discord does it: it holds up nobody else, survives another client, and ends when it is told to."""

import asyncio
from pathlib import Path

import pytest
from loopback_discord import Fault

from tests.channels.discord.answers import answer_to, answers
from tests.channels.discord.harness import COMMANDS, a_stage
from tests.channels.discord.live.test_button_clicks import question_in

pytestmark = pytest.mark.anyio


async def test_direct_messages_that_cannot_be_opened_keep_no_command_from_being_registered(tmp_path: Path) -> None:
    async with a_stage(tmp_path, up=False) as stage:
        stage.discord.faults.always("POST", "/users/@me/channels", Fault.status(503))
        await stage.daemon.launch()
        await stage.discord.wait_for_call("PUT", COMMANDS)


async def test_a_server_we_were_thrown_out_of_costs_the_other_no_missed_message(tmp_path: Path) -> None:
    async with a_stage(tmp_path) as stage:
        thread = await stage.start_thread()
        await answer_to(thread, stage.owner.say(thread, "before"))
        other = stage.discord.guild("elsewhere")
        stage.discord.world.join(other, stage.owner.user)
        conversation = stage.discord.text_channel(other)
        await stage.owner.slash(conversation, "start", project_name="api").reply()
        await stage.daemon.kill()
        stage.discord.faults.always("GET", f"/guilds/{other.id}/threads/active", Fault.status(403))
        missed = stage.owner.say(thread, "missed")
        await stage.daemon.up()
        await answer_to(thread, missed)
        assert answers(thread) == ["before", "missed"]


async def test_a_reaction_is_read_by_the_client_of_the_day(tmp_path: Path) -> None:
    async with a_stage(tmp_path, FAIRLEAD_REACTION_EMOJI="👍") as stage:
        thread = await stage.start_thread()
        eve = stage.discord.person("eve")
        said = eve.say(thread, "pointed at")
        where = f"/channels/{thread.id}/messages/{said.id}"
        fault = stage.discord.faults.always("GET", where, Fault.status(503))
        stage.owner.react(said, "👍")
        await stage.discord.wait_for_call("GET", where)
        stage.discord.gateway.close(4013)
        await stage.discord.gateway.ready(identifies=2, timeout=60)
        fault.lift()
        await stage.discord.wait_for(lambda: answers(thread), timeout=60, what="the answer")


@pytest.mark.req("A1")
@pytest.mark.parametrize("fault", [Fault.hang, Fault.hang_after_work])
async def test_a_command_whose_acknowledgement_is_never_confirmed_is_answered(tmp_path: Path, fault: type) -> None:
    async with a_stage(tmp_path) as stage:
        stage.discord.faults.next("POST", "/interactions/*/callback", fault())
        reply = await stage.owner.slash(stage.text_channel, "projects").reply(timeout=10)
        assert "api" in str(reply.embeds)


@pytest.mark.req("B10")
async def test_told_to_stop_it_stops_although_much_is_insisted_on(tmp_path: Path) -> None:
    async with a_stage(tmp_path) as stage:
        thread = await stage.start_thread()
        await answer_to(thread, stage.owner.say(thread, "before"))
        await stage.daemon.kill()
        stage.owner.say(thread, "missed")
        for method, where in [
            ("GET", "/channels/*"),
            ("PUT", "/channels/*"),
            ("POST", "/users/@me/channels"),
            ("GET", "/guilds/*"),
            ("PATCH", "/channels/*"),
        ]:
            stage.discord.faults.always(method, where, Fault.status(503))
        await stage.daemon.launch()
        await stage.discord.wait_for_call("GET", "/guilds/*/threads/active", times=4, timeout=60)
        async with asyncio.timeout(8):
            await stage.daemon.stop()


async def test_however_many_sessions_begin_while_discord_tells_nothing_it_is_asked_once_for_all(tmp_path: Path) -> None:
    async with a_stage(tmp_path) as stage:
        dm = stage.owner.dm
        await answer_to(dm, stage.owner.say(dm, "before"))
        where = f"/channels/{dm.id}/messages"
        before = len(stage.discord.calls("GET", where, status=200))
        stage.discord.faults.always("GET", where, Fault.status(503))
        for session in (2, 3, 4):
            stage.discord.gateway.invalidate(resumable=False)
            await stage.discord.gateway.ready(identifies=session, timeout=60)
        stage.discord.faults.clear()
        await answer_to(dm, stage.owner.say(dm, "live"))
        told = len(stage.discord.calls("GET", where, status=200)) - before
        assert told <= 2, "what was being asked for, and once more for all sessions since"


async def test_the_buttons_of_an_expired_question_go_although_the_first_edit_fails(tmp_path: Path) -> None:
    async with a_stage(tmp_path, FAIRLEAD_QUESTION_TIMEOUT_SEC="1") as stage:
        thread = await stage.start_thread()
        asked = await question_in(thread, stage.owner.say(thread, "/ask make"))
        where = f"/channels/{thread.id}/messages/{asked.id}"
        order = stage.discord.faults.next("PATCH", where, Fault.status(503))
        await stage.discord.wait_for(lambda: asked.components == [], what="the buttons to go")
        assert order.struck == 1
