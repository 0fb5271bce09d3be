"""Turning on Discord, and having it checked again, against a Discord on loopback."""

import asyncio
import os
import stat
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.channels.discord.setup import needed_permissions
from fairlead.cli.env_file import with_values
from loopback_discord import LoopbackDiscord

pytestmark = pytest.mark.anyio


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
        (tmp_path / ".env").write_text("# mine\nFAIRLEAD_LANG=ja\nDISCORD_OWNER_ID=1\n")
        code, said = await fairlead(tmp_path, discord, "init", said="\n", DISCORD_TOKEN=discord.token)
        assert code == 0, said
        assert discord.token not in said
        assert "permissions=" in said
        assert (tmp_path / ".env").read_text() == (
            f"# mine\nFAIRLEAD_LANG=ja\nDISCORD_OWNER_ID={discord.owner.id}\nDISCORD_TOKEN={discord.token}\n"
            f"DISCORD_APP_ID={discord.world.application.id}\nDISCORD_GUILD_ID={guild.id}\n"
        )
        assert stat.S_IMODE((tmp_path / ".env").stat().st_mode) == 0o600
        code, checked = await fairlead(tmp_path, discord, "doctor")
        assert (code, "it may not: manage_threads. Invite it again: https://" in checked) == (1, True)
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
        assert not (tmp_path / ".env").exists()


@given(st.text(alphabet="AB=#\n x", max_size=60))
def test_lines_that_are_not_asked_for_stay_as_they_are(text: str):
    after = with_values(text, {"TOKEN": "t"})
    assert after.splitlines() == [*text.splitlines(), "TOKEN=t"]
