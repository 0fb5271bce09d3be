"""What a daemon holds while nobody asks for anything: the code of an ordinary message, and of nothing else."""

import asyncio
import re
import signal
import sys
from pathlib import Path

import pytest
from benchmarks.stand_in import that_stays
from loopback_discord import LoopbackDiscord

from tests.channels.discord.harness import Daemon, Stage, a_stage
from tests.channels.discord.listing_modules import MODULES_FILE

pytestmark = pytest.mark.anyio

LOADED_WHEN_NEEDED = (
    "(nacl|davey|zipfile|bz2|lzma|aiohttp.web|click|rich|pygments|prompt_toolkit|acp|mcp|nats|cronsim|zoneinfo)",
    "frozenlist._frozenlist",
    r"fairlead\.(runner|machines|nats_wire|api|real_machines|testing)",
    r"fairlead\.channels\.(terminal|http\.server|discord\.commands\.reply_format)",
    r"fairlead\.core\.(shell_commands|machines\.messages)",
    r"fairlead\.flow\.commands\.(?!handlers|parts)\w+",
    r"fairlead\.flow\.schedules\.readings",
    r"fairlead\.git\.(worktree_\w+|worktrees|repositories|person_config|tree_diff|tree_undo|tree_restore|tree_files)",
    r"fairlead\.render\.(replies|story|worktrees|changes|agent_sessions|console)",
    r"fairlead\.render\.words\.(ja|zh_cn|zh_tw)",
    r"fairlead\.render\.words\.(?!commands|cards|languages|en)\w+\.\w+",
    r"fairlead\.runtimes\.(acp\.runtime|codex\.runtime|gemini|install|echo_actions|echo_script)",
)
"""Each was found to be a part of the 60 MiB that an idle daemon once had; docs/design-notes.md has the measurement."""


async def loaded_in(daemon: Daemon) -> set[str]:
    file = daemon.home / MODULES_FILE
    file.unlink(missing_ok=True)
    assert daemon.process is not None
    daemon.process.send_signal(signal.SIGUSR1)
    async with asyncio.timeout(60):
        while not file.exists():
            await asyncio.sleep(0.02)
    return set(file.read_text().splitlines())


def needless(modules: set[str]) -> list[str]:
    return sorted(m for m in modules if any(re.match(rf"{one}(\.|$)", m) for one in LOADED_WHEN_NEEDED))


async def up_with_claude(stage: Stage) -> None:
    that_stays(stage.daemon.home, sys.executable)
    stage.daemon.program = ("tests.channels.discord.listing_modules",)
    stage.daemon.settings["PYTHONPATH"] = str(Path(__file__).parents[4])
    await stage.daemon.up()


async def say_and_hear(discord: LoopbackDiscord, text: str) -> None:
    said = discord.owner.say(discord.owner.dm, text)
    await discord.owner.dm.wait_for_answer(lambda message: "done" in message.content, after=said, timeout=60)


async def test_an_idle_daemon_has_loaded_nothing_that_only_some_people_need(tmp_path: Path):
    async with a_stage(tmp_path, up=False) as stage:
        await up_with_claude(stage)
        assert needless(await loaded_in(stage.daemon)) == []


async def test_an_ordinary_message_finds_everything_loaded(tmp_path: Path):
    async with a_stage(tmp_path, up=False) as stage:
        await up_with_claude(stage)
        before = await loaded_in(stage.daemon)
        await say_and_hear(stage.discord, "hello")
        await say_and_hear(stage.discord, "and again")
        assert await loaded_in(stage.daemon) - before == set()


async def test_the_first_command_loads_what_carries_it_out(tmp_path: Path):
    async with a_stage(tmp_path, up=False) as stage:
        await up_with_claude(stage)
        reply = await stage.owner.slash(stage.owner.dm, "status").reply()
        assert "session" in reply.content
        assert "fairlead.flow.commands.built_in" in await loaded_in(stage.daemon)
