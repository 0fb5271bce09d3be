"""What settings change: where commands are registered, under whose name answers come, how strangers are met."""

from pathlib import Path

import aiohttp
import pytest
from loopback_discord import Fault, Message, Place, Upload

from tests.channels.discord.commands.test_runner import asked
from tests.channels.discord.harness import Daemon, Stage, a_stage

pytestmark = pytest.mark.anyio


def answers(place: Place) -> list[Message]:
    return [m for m in place.from_bot if m.content.startswith("echo")]


async def put_calls(stage: Stage) -> list[str]:
    return [r.path for r in stage.discord.calls("PUT", "/applications/*")]


@pytest.mark.req("A1")
async def test_commands_are_registered_once_and_again_only_when_something_changed(tmp_path: Path) -> None:
    async with a_stage(tmp_path) as stage:
        await stage.daemon.until_logged("commands registered")
        made = await put_calls(stage)
        await stage.daemon.kill()
        await stage.daemon.up()
        await stage.owner.slash(stage.place, "projects").reply()
        assert await put_calls(stage) == made


@pytest.mark.req("A1")
async def test_with_a_guild_id_commands_are_there_alone_and_other_guilds_are_ignored(tmp_path: Path) -> None:
    async with a_stage(tmp_path) as stage:
        world, guild = stage.discord.world, stage.place.channel.guild
        assert guild is not None
        assert world.commands[None]
        elsewhere = stage.discord.text_channel(stage.discord.guild("elsewhere"))
        world.join(elsewhere.channel.guild, stage.owner.user)  # type: ignore[arg-type]
        await stage.daemon.kill()
        stage.daemon.settings["DISCORD_GUILD_ID"] = str(guild.id)
        await stage.daemon.up()
        await stage.discord.wait_for(lambda: world.commands.get(guild.id), what="the guild's commands")
        assert world.commands[None] == []
        ignored = stage.owner.tell_bot(elsewhere, "not here")
        said = stage.owner.tell_bot(stage.place, "but here")
        await stage.place.wait_for_answer(lambda m: "but here" in m.content, after=said)
        assert answers(elsewhere) == []
        assert ignored.reactions == {}
        await stage.daemon.kill()
        stage.daemon.settings["DISCORD_GUILD_ID"] = "-"
        await stage.daemon.up()
        await stage.discord.wait_for(lambda: world.commands[None], what="the global commands")
        await stage.discord.wait_for(lambda: world.commands.get(guild.id) == [], what="the guild to be cleared")


@pytest.mark.req("A13")
async def test_strangers_can_be_met_with_silence(tmp_path: Path) -> None:
    async with a_stage(tmp_path, FAIRLEAD_STRANGERS="silent") as stage:
        eve = stage.discord.person("eve")
        asked = eve.slash(stage.place, "projects")
        await stage.daemon.until_logged(str(eve.id))
        await stage.owner.slash(stage.place, "projects").reply()
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
        assert "my own words" in await asked(stage.owner, stage.place, "why", message=str(said.id))
        assert (await asked(stage.owner, stage.place, "retry", job_id=failed)).startswith("Trying again as job_")


@pytest.mark.req("D5", "D6")
async def test_under_a_webhook_identity_two_threads_of_one_channel_never_mix_or_leak_into_it(tmp_path: Path) -> None:
    async with a_stage(tmp_path, FAIRLEAD_WEBHOOK_IDENTITY="1") as stage:
        one, two = await stage.start_thread(), await stage.start_thread()
        first = stage.owner.say(one, "in one")
        second = stage.owner.say(two, "in two\n/image")
        answer = await one.wait_for_answer(lambda m: m.content.startswith("echo"), after=first)
        other = await two.wait_for_answer(lambda m: m.content.startswith("echo"), after=second)
        assert answer.webhook_id is not None
        assert answer.author.username == "api · echo"
        assert [a.filename for a in other.attachments] == ["image-1.png"]
        assert [len(answers(p)) for p in (one, two, stage.place)] == [1, 1, 0]
        assert len(stage.discord.world.webhooks) == 1


@pytest.mark.req("D5")
async def test_a_webhook_that_was_deleted_is_made_again(tmp_path: Path) -> None:
    async with a_stage(tmp_path, FAIRLEAD_WEBHOOK_IDENTITY="1") as stage:
        thread = await stage.start_thread()
        said = stage.owner.say(thread, "one")
        await thread.wait_for_answer(lambda m: m.content.startswith("echo"), after=said)
        stage.discord.world.webhooks.clear()
        said = stage.owner.say(thread, "two")
        await thread.wait_for_answer(lambda m: m.content.startswith("echo"), after=said)
        assert len(answers(thread)) == 2


@pytest.mark.req("D5")
async def test_killed_in_the_middle_of_a_webhook_send_the_answer_comes_once(tmp_path: Path) -> None:
    async with a_stage(tmp_path, FAIRLEAD_WEBHOOK_IDENTITY="1") as stage:
        thread = await stage.start_thread()
        await thread.server.wait_for(lambda: thread.channel)
        hold = Fault.hang_after_work()
        stage.discord.faults.next("POST", "/webhooks/*", hold, when=lambda b: "once only" in str(b))
        said = stage.owner.say(thread, "once only")
        await thread.wait_for_answer(lambda m: m.content.startswith("echo"), after=said)
        await stage.daemon.kill()
        hold.release()
        stage.discord.clock.advance(3600)
        await stage.daemon.up()
        said = stage.owner.say(thread, "then this")
        await thread.wait_for_answer(lambda m: "then this" in m.content, after=said)
        assert len([m for m in answers(thread) if "once only" in m.content]) == 1


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
            said = stage.owner.tell_bot(stage.place, text)
            answer = await stage.place.wait_for_answer(lambda m: "-# job_" not in m.content, after=said)
        assert "エージェントがエラーを報告しました" in answer.content


# --- files that come in


async def submitted(stage: Stage, *files: Upload) -> str:
    said = stage.owner.say(stage.owner.dm, "look", files=list(files))
    return (await stage.owner.dm.wait_for_answer(after=said)).content


@pytest.mark.req("E8")
async def test_a_redirect_is_not_followed(stage: Stage) -> None:
    stage.discord.faults.next("GET", "/attachments/*", Fault.redirect("http://127.0.0.1:1/secret"))
    assert "with a.png" not in await submitted(stage, Upload("a.png", b"\x89PNG", "image/png"))
    await stage.daemon.until_logged("a redirect is not followed")


@pytest.mark.req("E8")
async def test_a_file_that_claims_or_is_too_much_is_refused_and_said(stage: Stage) -> None:
    huge = Upload("huge.png", b"x" * 10, "image/png", claimed_size=21 * 1024 * 1024)
    assert "with huge.png" not in await submitted(stage, huge)
    told = await stage.owner.dm.wait_for_answer(lambda m: "huge.png" in m.content)
    assert "too large" in told.content
    liar = Upload("liar.png", b"x" * (20 * 1024 * 1024 + 1), "image/png", claimed_size=10)
    assert "with liar.png" not in await submitted(stage, liar)


@pytest.mark.req("E8")
async def test_an_address_that_expired_is_read_anew(tmp_path: Path) -> None:
    async with a_stage(tmp_path, FAIRLEAD_GLOBAL_MAX_RUNNING="1") as stage:
        thread = await stage.start_thread()
        stage.owner.say(thread, "/hang")
        await thread.wait_for_typing()
        said = stage.owner.say(stage.owner.dm, "look", files=[Upload("late.png", b"\x89PNG", "image/png")])
        await stage.daemon.until_journalled("JobEnqueued", times=2)
        stage.discord.clock.advance(2 * 24 * 3600)
        await stage.owner.slash(thread, "cancel").reply()
        answer = await stage.owner.dm.wait_for_answer(after=said)
        assert "with late.png" in answer.content


@pytest.mark.req("E8", "A18")
async def test_a_file_that_is_gone_fails_the_job_with_its_code(tmp_path: Path) -> None:
    async with a_stage(tmp_path, FAIRLEAD_GLOBAL_MAX_RUNNING="1") as stage:
        thread = await stage.start_thread()
        stage.owner.say(thread, "/hang")
        await thread.wait_for_typing()
        said = stage.owner.say(stage.owner.dm, "look", files=[Upload("gone.png", b"\x89PNG", "image/png")])
        await stage.daemon.until_journalled("JobEnqueued", times=2)
        stage.discord.world.attachments.clear()
        await stage.owner.slash(thread, "cancel").reply()
        answer = await stage.owner.dm.wait_for_answer(lambda m: "E_ATTACHMENT_GONE" in m.content, after=said)
        assert "gone.png" in answer.content


@pytest.mark.req("E8")
async def test_two_files_of_one_name_are_two_files_and_a_long_name_in_any_script_is_kept_short(stage: Stage) -> None:
    """`message.txt` is what Discord calls every long paste; three bytes a character are more than a disk takes."""
    long = "\u6e2f" * 120 + ".txt"
    files = [Upload(name, data, "text/plain") for name, data in (("message.txt", b"one"), ("message.txt", b"two"))]
    await submitted(stage, *files, Upload(long, b"three", "text/plain"))
    stored = stage.daemon.journal("AttachmentsStored")[-1]["payload"]["attachments"]
    assert [Path(each["path"]).read_bytes() for each in stored] == [b"one", b"two", b"three"]
    assert stored[2]["path"].endswith("\u6e2f.txt")


@pytest.mark.req("E8")
async def test_what_is_past_the_limit_for_all_files_together_is_told_as_that(stage: Stage) -> None:
    megabyte = 1024 * 1024
    files = [Upload(f"{n}.bin", b"x" * 18 * megabyte, "application/x-thing") for n in (1, 2, 3)]
    await submitted(stage, *files)
    told = await stage.owner.dm.wait_for_answer(lambda m: m.content.startswith("3.bin"))
    assert "18.0 MiB" in told.content
    assert "together may have 50.0 MiB" in told.content


@pytest.mark.req("E9")
async def test_a_picture_whose_file_somebody_removed_does_not_take_the_answer_with_it(stage: Stage) -> None:
    order = stage.discord.faults.always("POST", "/channels/*/messages", Fault.status(503))
    plans = len(stage.daemon.journal("DeliveryPlanned"))
    said = stage.owner.say(stage.owner.dm, "words with it\n/image")
    await stage.daemon.until_journalled("DeliveryPlanned", times=plans + 1)
    for blob in (stage.daemon.home / "state" / "blobs").iterdir():
        blob.unlink()
    order.lift()
    answer = await stage.owner.dm.wait_for_answer(lambda m: "words with it" in m.content, after=said, timeout=20)
    assert "image-1.png" in answer.embeds[0]["description"]
