"""What settings change: where commands are registered, under whose name answers come, how strangers are met."""

from pathlib import Path

import aiohttp
import pytest

from tests.channels.discord.answers import answer_to
from tests.channels.discord.commands.test_runner import asked
from tests.channels.discord.harness import Daemon, a_stage

pytestmark = pytest.mark.anyio


@pytest.mark.req("A13")
async def test_strangers_can_be_met_with_silence(tmp_path: Path) -> None:
    async with a_stage(tmp_path, FAIRLEAD_STRANGERS="silent") as stage:
        eve = stage.discord.person("eve")
        asked = eve.slash(stage.text_channel, "projects")
        await stage.daemon.until_logged(str(eve.id))
        await stage.owner.slash(stage.text_channel, "projects").reply()
        assert asked.interaction.callback_type is None


@pytest.mark.req("A13", "C3")
async def test_a_guest_neither_sees_nor_repeats_what_the_owner_said_alone_with_the_agent(tmp_path: Path) -> None:
    async with a_stage(tmp_path, up=False) as stage:
        bob = stage.discord.person("bob")
        stage.daemon.settings["FAIRLEAD_ALLOWED_USER_IDS"] = str(bob.id)
        await stage.daemon.up()
        said = stage.owner.say(stage.owner.dm, "my own words\n/fail E_AGENT_ERROR")
        await stage.owner.dm.wait_for_answer(lambda m: "E_AGENT_ERROR" in m.content, after=said)
        [failed] = [e["payload"]["job_id"] for e in stage.daemon.journal("JobFailed")]
        key = f"agent:fairlead:user:{stage.owner.id}"
        assert (await asked(bob, bob.dm, "why", message=str(said.id))).startswith("E_MESSAGE_NOT_FOUND: ")
        assert (await asked(bob, bob.dm, "why", message=failed)).startswith("E_MESSAGE_NOT_FOUND: ")
        assert (await asked(bob, bob.dm, "retry", job_id=failed)).startswith("E_JOB_NOT_FOUND: ")
        assert (await asked(bob, bob.dm, "session open", session_id=key)).startswith("E_SESSION_NOT_FOUND: ")
        assert await asked(bob, bob.dm, "session list") == "There are no sessions yet. Your first message starts one."
        assert await bob.autocomplete(bob.dm, "retry", "job_id", "").choices() == []
        assert await bob.autocomplete(bob.dm, "session open", "session_id", "").choices() == []
        assert "my own words" in await asked(stage.owner, stage.text_channel, "why", message=str(said.id))
        assert (await asked(stage.owner, stage.text_channel, "retry", job_id=failed)).startswith("Trying again as #")


@pytest.mark.req("C2", "C6")
async def test_the_terminals_user_and_the_owners_direct_messages_are_one_session(tmp_path: Path) -> None:
    async with a_stage(tmp_path) as stage:
        said = stage.owner.say(stage.owner.dm, "on the phone")
        await stage.owner.dm.wait_for_answer(after=said)
        answer = await _say_over_http(stage.daemon, "at the desk")
        assert f"agent:fairlead:user:{stage.owner.id}" in answer
        assert "turn 2 of talk" in answer


async def _say_over_http(daemon: Daemon, text: str) -> str:
    state = daemon.home / "state"
    url = (state / "http-address").read_text().strip()
    headers = {"Authorization": f"Bearer {(state / 'http-token').read_text().strip()}", "Fairlead-Channel": "terminal"}
    async with aiohttp.ClientSession(headers=headers) as web:
        async with web.post(f"{url}/v1/messages", json={"userId": "local", "message": text}) as response:
            return await response.text()


async def test_who_was_never_seen_in_an_interaction_reads_the_language_of_the_server(tmp_path: Path) -> None:
    async with a_stage(tmp_path, up=False) as stage:
        for guild in stage.discord.world.guilds.values():
            guild.locale = "ja"
        await stage.daemon.up()
        for text in ("hello", "/fail E_AGENT_ERROR"):
            said = stage.owner.tell_bot(stage.text_channel, text)
            answer = await stage.text_channel.wait_for_answer(lambda m: "-# job_" not in m.content, after=said)
        assert "エージェントがエラーを報告しました" in answer.content


async def test_a_message_from_a_server_that_is_not_known_yet_is_no_direct_message(tmp_path: Path) -> None:
    async with a_stage(tmp_path, up=False) as stage:
        other = stage.discord.guild("elsewhere")
        stage.discord.world.join(other, stage.owner.user)
        channel = stage.discord.text_channel(other)
        stage.discord.gateway.late_guilds.add(other.id)
        served = stage.text_channel.channel.guild
        assert served is not None
        stage.daemon.settings["DISCORD_GUILD_ID"] = str(served.id)
        await stage.daemon.up()
        stage.owner.tell_bot(channel, "in a server that is not served")
        await answer_to(stage.owner.dm, stage.owner.say(stage.owner.dm, "a direct message"))
        assert channel.from_bot == []
        assert len(stage.daemon.journal("JobEnqueued")) == 1
