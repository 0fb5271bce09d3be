"""Rows about Discord, on the loopback Discord: from a frame to the agent, from the agent to an edit."""

import asyncio
import itertools
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from random import Random
from typing import Any, Final

from loopback_discord import LoopbackDiscord

from benchmarks.journal import BY_A_THREAD, append_durably, open_journal
from benchmarks.punctual import Punctual
from benchmarks.rows import Row, at_most, forget_earlier_rows
from fairlead.app import run_daemon
from fairlead.channels.push.job_status import edit_interval
from fairlead.core.engine import EngineEvent, Invocation, TextDelta, ToolEnded, ToolStarted, TurnEnded
from fairlead.kit.files import make_private_directory
from fairlead.runtimes.echo import EchoRuntime
from fairlead.settings import load_settings
from fairlead.store.journal import FileJournal

LEAST_SEC: Final = 1.2
LINES: Final = 8
TIMES: Final = 40
_REST: Final = 0.3
_MOMENT: Final = re.compile(r"at (\d+\.\d{4})")
_BARE: Final = """
import asyncio, os, sys, discord, discord.http, yarl
from discord.gateway import DiscordWebSocket
api, gateway, token = sys.argv[1:]
discord.http.Route.BASE, DiscordWebSocket.DEFAULT_GATEWAY = api, yarl.URL(gateway)
class Client(discord.Client):
    async def on_ready(self):
        print(next(l.split()[1] for l in open("/proc/self/status") if l.startswith("VmRSS")), flush=True)
        os._exit(0)
Client(intents=discord.Intents(guilds=True, guild_messages=True, message_content=True), max_messages=None).run(
    token, log_handler=None)
"""


async def discord_rows(directory: Path) -> list[Row]:
    rows = [await _frame_row(directory / "frame"), await _memory_row(directory / "memory")]
    for sessions in (1, 10, 50):
        rows += await _stream_rows(directory / f"streams-{sessions}", sessions)
    return [*rows, await _calls_row(directory / "calls")]


# --- a frame, and the agent's process


async def _frame_row(home: Path) -> Row:
    """From the moment the frame is in the socket; discord.py's reading of it is part of what is measured."""
    agent = Punctual(home)
    measured: list[float] = []
    floor: list[float] = []
    numbers = itertools.count(1)
    make_private_directory(home / "floor")
    async with open_journal(home / "floor", slow_sec=BY_A_THREAD) as journal, LoopbackDiscord.start() as discord:
        process = _daemon(discord, home)
        try:
            await discord.gateway.ready(timeout=30)
            for _ in range(TIMES):
                measured.append(await _time_spawn_after_message(discord, agent))
                floor.append(await _time_spawn_after_append(journal, numbers, agent))
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait()
    return at_most(
        "gateway frame → agent's process runs",
        statistics.median(measured) * 1e3,
        statistics.median(floor) * 1e3,
        floor_name="bare spawn and a durable append, by a thread",
        unit="ms",
        factor=1.5,
    )


async def _time_spawn_after_append(journal: FileJournal, numbers: Iterator[int], agent: Punctual) -> float:
    before = len(agent.moments())
    began = time.time()
    await append_durably(journal, numbers)
    await agent.spawn_bare({"PATH": "/usr/bin:/bin"})
    taken = agent.moments()[before] - began
    await asyncio.sleep(_REST)
    return taken


async def _time_spawn_after_message(discord: Any, agent: Punctual) -> float:
    """Into a daemon at rest: the job's end and its answer, which Discord's limits may hold back, are waited for."""
    before = len(agent.moments())
    said = discord.owner.say(discord.owner.dm, "hello")
    [session] = discord.gateway.connected()
    frame = session.seq
    ran = await agent.next_moment(before)
    await discord.owner.dm.wait_for_answer(after=said, timeout=30)
    await asyncio.sleep(_REST)
    return ran - session.line.wrote_at[frame]


def _daemon(discord: Any, home: Path) -> subprocess.Popen[bytes]:
    project = home / "project"
    project.mkdir(parents=True, exist_ok=True)
    environment = {
        "PATH": f"{home / 'bin'}:/usr/bin:/bin",
        "HOME": str(home),
        "PROJECTS": json.dumps([str(project)]),
        "DISCORD_TOKEN": discord.token,
        "DISCORD_OWNER_ID": str(discord.owner.id),
        "DISCORD_API_BASE": discord.api,
        "DISCORD_GATEWAY_URL": discord.gateway_url,
        "FAIRLEAD_HTTP_PORT": "0",
        "FAIRLEAD_DRAIN_SEC": "0",
    }
    argv = [sys.executable, "-m", "fairlead", "up", "--no-chat"]
    return subprocess.Popen(argv, env=environment, cwd=home, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


async def _memory_row(home: Path) -> Row:
    async with LoopbackDiscord.start() as discord:
        discord.guild()
        process = _daemon(discord, home)
        try:
            await discord.gateway.ready(timeout=30)
            await discord.wait_for(lambda: discord.world.commands[None], timeout=30)
            measured = _rss_kib(process.pid)
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait()
        bare = await asyncio.create_subprocess_exec(
            sys.executable, "-c", _BARE, discord.api, discord.gateway_url, discord.token, stdout=subprocess.PIPE
        )
        out, _ = await bare.communicate()
    return at_most(
        "idle daemon, Discord connected",
        measured / 1024,
        int(out) / 1024,
        floor_name="a bare discord.py client",
        unit="MiB",
        factor=1.5,
    )


def _rss_kib(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmRSS")))


# --- the agent's lines, and the edits that show them


class _Talker(EchoRuntime):
    """Uses tools whose commands are the moments at which they began, as irregularly as agents do."""

    def __init__(self) -> None:
        super().__init__()
        self.moments: dict[str, list[float]] = {}

    async def invoke(self, invocation: Invocation) -> AsyncIterator[EngineEvent]:  # pyright: ignore[reportIncompatibleMethodOverride]
        said = self.moments.setdefault(invocation.job_id, [])
        chance = Random(invocation.job_id)
        await asyncio.sleep(2)
        for number in range(LINES):
            await asyncio.sleep(chance.uniform(0.1, 2.5))
            said.append(round(time.time(), 4))
            yield ToolStarted(f"t{number}", "Bash", {"command": f"at {said[-1]:.4f}"})
        await asyncio.sleep(5)
        yield ToolEnded("t0")
        yield TurnEnded("ok")


class _Chatterer(EchoRuntime):
    """A thousand words, one by one."""

    async def invoke(self, invocation: Invocation) -> AsyncIterator[EngineEvent]:  # pyright: ignore[reportIncompatibleMethodOverride]
        assert invocation.prompt
        for number in range(1000):
            await asyncio.sleep(0.01)
            yield TextDelta(f"word {number} ")
        yield TurnEnded("ok")


async def _stream_rows(home: Path, sessions: int) -> list[Row]:
    interval = edit_interval(sessions, LEAST_SEC)
    forget_earlier_rows()
    async with LoopbackDiscord.start() as discord:
        talker = _Talker()
        lags, _ = await _run_sessions(discord, home, talker, sessions)
        delays = _delays(talker.moments, _shown_moments(discord))
        refused = discord.count(429)
    p99 = _percentile(delays, 99)
    name = f"agent's line → edit, {sessions} at once"
    reach = f"≤ {interval:g} s + 50 ms, no 429"
    rows = [
        Row(
            name=name,
            measured=p99,
            floor=interval,
            floor_name="the edit interval",
            unit="s",
            reach=reach,
            reached=p99 <= interval + 0.05 and refused == 0,
        )
    ]
    if sessions == 50:
        lag = _percentile(lags, 99) * 1e3
        rows.append(
            Row(
                name="event-loop lag p99, 50 streaming",
                measured=lag,
                floor=None,
                floor_name="none",
                unit="ms",
                reach="≤ 20 ms",
                reached=lag <= 20,
            )
        )
    return rows


async def _calls_row(home: Path) -> Row:
    async with LoopbackDiscord.start() as discord:
        _, taken = await _run_sessions(discord, home, _Chatterer(), 1)
        edits = len(discord.calls("PATCH", "/channels/*/messages/*"))
        refused = discord.count(429)
    most = taken / LEAST_SEC + 2
    ok = edits <= most and refused == 0
    return Row(
        name="edits per 1000 deltas",
        measured=edits,
        floor=most,
        floor_name="time ÷ interval",
        unit="/s",
        reach="≤ 1x, no 429",
        reached=ok,
    )


def _shown_moments(discord: Any) -> dict[float, float]:
    """When each line that was shown was first on the wire: in an edit, or in the status as it was first posted."""
    found: dict[float, float] = {}
    shown = (*discord.calls("POST", "/channels/*/messages"), *discord.calls("PATCH", "/channels/*/messages/*"))
    for record in sorted(shown, key=lambda record: record.at):
        for moment in _MOMENT.findall(str(record.body)):
            found.setdefault(float(moment), record.at)
    return found


def _delays(said: dict[str, list[float]], shown: dict[float, float]) -> list[float]:
    """From each line to the edit that shows it, or a newer one of the same job: the newest content wins."""
    delays: list[float] = []
    for moments in said.values():
        for number, moment in enumerate(moments):
            edits = [shown[later] for later in moments[number:] if later in shown]
            delays.append(min(edits, default=float("inf")) - moment)
    return delays


async def _run_sessions(discord: Any, home: Path, runtime: EchoRuntime, sessions: int) -> tuple[list[float], float]:
    """All sessions at once, to the end of their jobs; how late the event loop was meanwhile, and how long it took."""
    project = home / "project"  # not the directory that holds the state: that cannot be a project
    project.mkdir(parents=True)
    guild = discord.guild()
    people = [discord.person(f"p{n}", guild=guild) for n in range(sessions)]
    settings = load_settings().replace(
        state_dir=home / "state",
        log_dir=home / "logs",
        http=False,
        projects=(str(project),),
        global_max_running=sessions,
        drain_sec=0,
        discord_owner_id=str(discord.owner.id),
        allowed_user_ids=tuple(str(p.id) for p in people),
        discord_api_base=discord.api,
        discord_gateway_url=discord.gateway_url,
    )
    os.environ["DISCORD_TOKEN"] = discord.token
    os.environ["DISCORD_OWNER_ID"] = str(discord.owner.id)
    settings = settings.replace(discord_token=load_settings().discord_token)
    async with run_daemon(settings) as daemon:
        daemon.runtimes["echo"].invoke = runtime.invoke  # pyright: ignore[reportAttributeAccessIssue]
        for registered in daemon.flow.ledger.state.projects.values():
            registered.default_runtime = "echo"
        await discord.gateway.ready(timeout=30)
        began = time.perf_counter()
        for person in people:
            person.say(person.dm, "go")
        lags = await _until_over(daemon.flow.ledger.state, sessions)
        taken = time.perf_counter() - began
    return lags, taken


async def _until_over(state: Any, sessions: int) -> list[float]:
    lags: list[float] = []
    while state.account.answered < sessions:
        if state.account.refused or state.account.failed:
            raise RuntimeError(f"A message was not answered, so the row cannot be measured: {state.account}")
        due = time.perf_counter() + 0.01
        await asyncio.sleep(0.01)
        lags.append(time.perf_counter() - due)
    await asyncio.sleep(2 * LEAST_SEC)
    return lags


def _percentile(values: list[float], percent: int) -> float:
    ranked = sorted(values)
    return ranked[min(len(ranked) - 1, len(ranked) * percent // 100)]
