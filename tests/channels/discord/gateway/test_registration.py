"""Commands are registered once, and where the settings say."""

from pathlib import Path

import pytest
from loopback_discord import Conversation, Message

from tests.channels.discord.harness import Stage, a_stage

pytestmark = pytest.mark.anyio


def answers(conversation: Conversation) -> list[Message]:
    return [m for m in conversation.from_bot if m.content.startswith("echo")]


async def put_calls(stage: Stage) -> list[str]:
    return [r.path for r in stage.discord.calls("PUT", "/applications/*")]


@pytest.mark.req("A1")
async def test_commands_are_registered_once_and_again_only_when_something_changed(tmp_path: Path) -> None:
    async with a_stage(tmp_path) as stage:
        await stage.daemon.until_logged("commands registered")
        made = await put_calls(stage)
        await stage.daemon.kill()
        await stage.daemon.up()
        await stage.owner.slash(stage.text_channel, "projects").reply()
        assert await put_calls(stage) == made


@pytest.mark.req("A1")
async def test_with_a_guild_id_commands_are_there_alone_and_other_guilds_are_ignored(tmp_path: Path) -> None:
    async with a_stage(tmp_path) as stage:
        world, guild = stage.discord.world, stage.text_channel.channel.guild
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
        said = stage.owner.tell_bot(stage.text_channel, "but here")
        await stage.text_channel.wait_for_answer(lambda m: "but here" in m.content, after=said)
        assert answers(elsewhere) == []
        assert ignored.reactions == {}
        await stage.daemon.kill()
        stage.daemon.settings["DISCORD_GUILD_ID"] = "-"
        await stage.daemon.up()
        await stage.discord.wait_for(lambda: world.commands[None], what="the global commands")
        await stage.discord.wait_for(lambda: world.commands.get(guild.id) == [], what="the guild to be cleared")
