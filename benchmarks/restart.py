"""A restart on Discord: from the command until the daemon reads what Discord sends and its flow takes it."""

import asyncio
import signal
import sys
import time
from pathlib import Path
from typing import Any, Final

from loopback_discord import LoopbackDiscord

from benchmarks.rows import Row, paired_at_most
from fairlead.kit.files import make_private_directory

RESTARTS: Final = 7
CHECK_TEXT: Final = "🔎"
"""The message by which daemons on one token find each other. A daemon posts it when it has read the beginning of its
gateway session, which it does when its workers run: from then on every message is taken."""


async def restart_row(home: Path, large: Path, empty: Path) -> Row:
    """Each daemon is killed, so that Discord could go on with its last session. A snapshot lies beside the million
    lines."""
    make_private_directory(home)
    taken: dict[Path, list[float]] = {large: [], empty: []}
    async with LoopbackDiscord.start() as one, LoopbackDiscord.start() as other:
        for number in range(RESTARTS + 1):
            for state, discord in ((large, one), (empty, other)):
                seconds = await _restart(home, state, discord)
                if number:  # the first start of each registers the commands
                    taken[state].append(seconds * 1e3)
    return paired_at_most(
        "restart → listening on Discord, 1 M events",
        taken[large],
        taken[empty],
        floor_name="an empty journal",
        unit="ms",
        factor=1.5,
    )


async def _restart(home: Path, state: Path, discord: Any) -> float:
    discord.limits.enabled = False
    environment = {
        "PATH": "/usr/bin:/bin",
        "HOME": str(home),
        "STATE_DIR": str(state),
        "LOG_DIR": str(home / "logs"),
        "DISCORD_TOKEN": discord.token,
        "DISCORD_OWNER_ID": str(discord.owner.id),
        "DISCORD_API_BASE": discord.api,
        "DISCORD_GATEWAY_URL": discord.gateway_url,
        "FAIRLEAD_HTTP_PORT": "0",
    }
    before = _checks(discord)
    began = time.perf_counter()
    argv = (sys.executable, "-m", "fairlead", "up", "--no-chat")
    with (home / "errors.txt").open("wb") as errors:
        process = await asyncio.create_subprocess_exec(*argv, env=environment, stdout=errors, stderr=errors)
    try:
        await discord.wait_for(lambda: _checks(discord) > before, timeout=60, what="a daemon that listens")
        seconds = time.perf_counter() - began
        await discord.wait_for(lambda: discord.world.commands[None], timeout=60, what="commands")
    finally:
        process.send_signal(signal.SIGKILL)
        await process.wait()
    return seconds


def _checks(discord: Any) -> int:
    return sum(CHECK_TEXT in str(request.body) for request in discord.calls("POST", "/channels/*/messages"))
