"""Turning on Discord, and having it checked again, against a Discord on loopback."""

import asyncio
import os
import stat
import sys
from pathlib import Path

import pytest
from loopback_discord import LoopbackDiscord

from fairlead.channels.discord.setup import needed_permissions

pytestmark = pytest.mark.anyio


def settings_of(home: Path) -> Path:
    path = home / ".config" / "fairlead" / ".env"
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


async def fairlead(home: Path, discord: LoopbackDiscord, *words: str, said: str = "", **more: str) -> tuple[int, str]:
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "DISCORD_API_BASE": discord.api, **more}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "fairlead", *words, env=environment, cwd=home,
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    out, _ = await process.communicate(said.encode())
    return process.returncode or 0, out.decode()


@pytest.mark.req("A22")
async def test_init_finds_everything_out_by_itself_and_doctor_agrees(tmp_path: Path):
    async with LoopbackDiscord.start() as discord:
        guild = discord.guild("harbour")
        settings_of(tmp_path).write_text("# mine\nFAIRLEAD_LANG=ja\nDISCORD_OWNER_ID=1\n")
        code, said = await fairlead(tmp_path, discord, "init", said="\n", DISCORD_TOKEN=discord.token)
        assert code == 0, said
        assert discord.token not in said
        assert "permissions=" in said
        assert settings_of(tmp_path).read_text() == (
            f"# mine\nFAIRLEAD_LANG=ja\nDISCORD_OWNER_ID={discord.owner.id}\nDISCORD_TOKEN={discord.token}\n"
            f"DISCORD_APP_ID={discord.world.application.id}\nDISCORD_GUILD_ID={guild.id}\n"
        )
        assert stat.S_IMODE(settings_of(tmp_path).stat().st_mode) == 0o600
        code, checked = await fairlead(tmp_path, discord, "doctor")
        assert (code, "it lacks permissions: manage_threads. Invite it again: https://" in checked) == (1, True)
        guild.bot_permissions = needed_permissions().value
        code, checked = await fairlead(tmp_path, discord, "doctor")
        assert code == 0, checked
        assert "MESSAGE CONTENT is on" in checked
        assert discord.token not in checked


@pytest.mark.req("A22")
async def test_a_token_that_discord_refuses_is_said_and_nothing_is_written(tmp_path: Path):
    async with LoopbackDiscord.start() as discord:
        code, said = await fairlead(tmp_path, discord, "init", DISCORD_TOKEN="wrong-token-entirely")
        assert code == 78
        assert "Discord refuses this token" in said
        assert not settings_of(tmp_path).exists()


@pytest.mark.req("A22")
async def test_the_token_may_come_through_a_pipe_and_the_choice_of_all_servers_takes_an_old_one_out(tmp_path: Path):
    async with LoopbackDiscord.start() as discord:
        for name in ("harbour", "lighthouse"):
            discord.guild(name).bot_permissions = needed_permissions(webhook_identity=True).value
        settings_of(tmp_path).write_text("DISCORD_GUILD_ID=42\nFAIRLEAD_WEBHOOK_IDENTITY=1\n")
        code, said = await fairlead(tmp_path, discord, "init", said=f"{discord.token}\nalice\n77\n0\n")
        assert code == 0, said
        assert "Warning" not in said
        assert "alice is not a Discord id" in said
        assert f"permissions={needed_permissions(webhook_identity=True).value}" in said
        lines = settings_of(tmp_path).read_text().splitlines()
        assert lines[:2] == ["DISCORD_GUILD_ID=", "FAIRLEAD_WEBHOOK_IDENTITY=1"]
        assert "DISCORD_OWNER_ID=77" in lines
        code, checked = await fairlead(tmp_path, discord, "doctor")
        assert code == 0, checked


@pytest.mark.req("A22")
async def test_doctor_sees_what_no_longer_fits_the_token_and_who_else_could_read_it(tmp_path: Path):
    async with LoopbackDiscord.start() as discord:
        discord.guild("harbour").bot_permissions = needed_permissions().value
        env = settings_of(tmp_path)
        env.write_text(f"DISCORD_TOKEN={discord.token}\nDISCORD_OWNER_ID={discord.owner.id}\nDISCORD_APP_ID=42\n")
        env.chmod(0o644)
        code, checked = await fairlead(tmp_path, discord, "doctor")
        assert code == 1
        other = discord.world.application.id
        assert f"FAIL DISCORD_APP_ID is 42, but the token belongs to application {other}." in checked
        assert f"chmod 600 {env}" in checked
        env.chmod(0o600)
        env.write_text(env.read_text().replace("=42", "="))
        code, checked = await fairlead(tmp_path, discord, "doctor")
        assert code == 0, checked


@pytest.mark.req("A22")
async def test_an_env_file_that_cannot_be_kept_is_named_and_stays_as_it_is(tmp_path: Path):
    async with LoopbackDiscord.start() as discord:
        settings_of(tmp_path).write_bytes(b"# caf\xe9\n")
        code, said = await fairlead(tmp_path, discord, "init", said="\n", DISCORD_TOKEN=discord.token)
        assert (code, "Traceback" in said) == (78, False)
        assert str(settings_of(tmp_path)) in said
        assert settings_of(tmp_path).read_bytes() == b"# caf\xe9\n"


@pytest.mark.req("A22")
async def test_the_token_may_come_from_a_file_and_never_from_the_command_line(tmp_path: Path):
    async with LoopbackDiscord.start() as discord:
        discord.guild("harbour")
        (tmp_path / "token").write_text(f"{discord.token}\n")
        code, said = await fairlead(tmp_path, discord, "init", "--token-file", str(tmp_path / "token"), said="\n")
        assert code == 0, said
        assert f"DISCORD_TOKEN={discord.token}\n" in settings_of(tmp_path).read_text()
        code, said = await fairlead(tmp_path, discord, "init", "--token", discord.token)
        assert (code, "No such option" in said) == (2, True)


@pytest.mark.req("A22")
async def test_without_answers_it_says_what_is_missing(tmp_path: Path):
    async with LoopbackDiscord.start() as discord:
        code, said = await fairlead(tmp_path, discord, "init")
        assert code == 78
        assert "An answer is missing. Nothing was written. Run it in a terminal" in said
