"""Rows about the whole way of a message on Discord, beside a bare bot that does the same and keeps nothing.

Ours and the floor are up at the same time, each on a loopback Discord of its own, and take turns."""

import asyncio
import contextlib
import itertools
import json
import random
import signal
import statistics
import sys
import time
from collections import Counter
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final, Literal

import msgspec
from loopback_discord import LoopbackDiscord

from benchmarks.journal import BY_A_THREAD, append_durably, open_journal
from benchmarks.rows import Row, at_most, paired_at_most, spread_of
from benchmarks.stand_in import StandIn, that_lives_for_a_turn, that_stays
from fairlead.kit.files import make_private_directory

ROUNDS: Final = 40
PAUSE_SEC: Final = 0.25
STARTS: Final = 7
AT_ONCE: Final = 10
AT_ONCE_ROUNDS: Final = 5
WORK_SEC: Final = 0.3
MANY, EACH, PAIRS = 50, 20, 5
IN_VAIN_SEC: Final = 10.0
_SIZES: Final = (20, 20, 20, 300, 1500, 5000)

How = Literal["warm", "spawn"]
Program = Literal["fairlead", "bare bot"]
PROGRAMS: Final[tuple[Program, Program]] = ("fairlead", "bare bot")


class Bridge(msgspec.Struct, frozen=True):
    """A program between a loopback Discord and a stand-in agent."""

    discord: Any
    agent: StandIn
    people: list[Any]
    pid: int
    identified_in: float


@asynccontextmanager
async def bridge(
    home: Path, how: How, program: Program, *, people: int = 0, limited: bool = False
) -> AsyncGenerator[Bridge]:
    """Up and connected. `people` are so many besides the owner; a `limited` Discord takes fifty calls in a second."""
    make_private_directory(home)
    agent = that_stays(home, sys.executable) if how == "warm" else that_lives_for_a_turn(home)
    async with LoopbackDiscord.start() as discord:
        discord.limits.enabled = limited  # most rows are about the programs alone
        guild = discord.guild()
        served = [discord.person(f"p{n}", guild=guild) for n in range(people)]
        argv, environment = _command(discord, home, how, agent, program)
        environment["FAIRLEAD_ALLOWED_USER_IDS"] = ",".join(str(person.id) for person in served)
        began = time.perf_counter()
        with (home / "errors.txt").open("wb") as errors:
            process = await asyncio.create_subprocess_exec(*argv, env=environment, stdout=errors, stderr=errors)
        try:
            await discord.wait_for(lambda: discord.gateway.identifies, timeout=30, what="IDENTIFY")
            identified_in = time.perf_counter() - began
            await discord.gateway.ready(timeout=30)
            yield Bridge(discord=discord, agent=agent, people=served, pid=process.pid, identified_in=identified_in)
        finally:
            process.send_signal(signal.SIGTERM if program == "fairlead" else signal.SIGKILL)
            await process.wait()


def _command(discord: Any, home: Path, how: How, agent: StandIn, program: Program) -> tuple[list[str], dict[str, str]]:
    path = {"PATH": f"{home / 'bin'}:/usr/bin:/bin", "HOME": str(home)}
    if program == "bare bot":
        address = (discord.api, discord.gateway_url, discord.token, str(agent.program))
        repository = str(Path(__file__).parents[1])
        return [sys.executable, "-m", "benchmarks.bare_bot", how, *address], path | {"PYTHONPATH": repository}
    make_private_directory(home / "project")
    return [sys.executable, "-m", "fairlead", "up", "--no-chat"], path | {
        "PROJECTS": json.dumps([str(home / "project")]),
        "DISCORD_TOKEN": discord.token,
        "DISCORD_OWNER_ID": str(discord.owner.id),
        "DISCORD_API_BASE": discord.api,
        "DISCORD_GATEWAY_URL": discord.gateway_url,
        "FAIRLEAD_HTTP_PORT": "0",
        "FAIRLEAD_DRAIN_SEC": "0",
        "FAIRLEAD_MULTI_TURN": "1" if how == "warm" else "0",
    }


# --- one message after another


class Trip(msgspec.Struct, frozen=True):
    """Seconds from the frame in the socket to the answer in the channel, where people see it, and from the agent's last
    line to the answer's POST. Each moment is noted where it happens: this program may get a core only later, when the
    bridge has done what follows."""

    whole: float
    back: float


async def _time_trip(one: Bridge) -> Trip:
    before = len(one.agent.moments())
    dm = one.discord.owner.dm
    said = one.discord.owner.say(dm, "hello")
    [session] = one.discord.gateway.connected()
    frame = session.seq
    answer = await dm.wait_for_answer(_says_done, after=said, timeout=30)
    posted = next(r.at for r in reversed(one.discord.calls("POST", "/channels/*/messages")) if _made(r, answer.id))
    await asyncio.sleep(PAUSE_SEC)
    return Trip(answer.created_at - session.line.wrote_at[frame], posted - one.agent.moments()[before].said_it)


def _says_done(message: Any) -> bool:
    return "done" in message.content


def _says_words(message: Any) -> bool:
    return "word" in message.content


def _made(record: Any, message_id: int) -> bool:
    return f"'id': '{message_id}'" in str(record.answer)


async def _append_once(journal: Any, numbers: Iterator[int]) -> float:
    began = time.perf_counter()
    await append_durably(journal, numbers)
    return time.perf_counter() - began


async def trip_rows(home: Path, how: How) -> list[Row]:
    make_private_directory(home)
    make_private_directory(home / "floor")
    make_private_directory(home / "quick")
    ours: list[Trip] = []
    bare: list[Trip] = []
    appends: list[float] = []
    quick_appends: list[float] = []
    numbers, quick_numbers = itertools.count(1), itertools.count(1)
    async with (
        open_journal(home / "floor", slow_sec=BY_A_THREAD) as journal,
        open_journal(home / "quick", slow_sec=60) as quick_journal,
        bridge(home / "ours", how, "fairlead") as fairlead,
        bridge(home / "bare", how, "bare bot") as bot,
    ):
        for warmed_up in (False, *[True] * ROUNDS):
            trips = await _time_trip(fairlead), await _time_trip(bot)
            appended = await _append_once(journal, numbers), await _append_once(quick_journal, quick_numbers)
            if warmed_up:
                ours.append(trips[0])
                bare.append(trips[1])
                appends.append(appended[0])
                quick_appends.append(appended[1])
    kind = "warm agent" if how == "warm" else "one process per turn"
    back = statistics.median(t.back for t in bare) * 1e3
    quick = statistics.median(quick_appends) * 1e3
    return [
        paired_at_most(
            f"Discord message → answer visible, {kind}",
            [t.whole * 1e3 for t in ours],
            [t.whole * 1e3 for t in bare],
            floor_name="the bare bot",
            unit="ms",
            factor=1.5,
        ),
        paired_at_most(
            f"agent's last line → POST, {kind}",
            [t.back * 1e3 for t in ours],
            [a * 1e3 for a in appends],
            floor_name=f"one durable append by a thread; by the event loop {quick:.3g} ms; the bare bot {back:.3g} ms",
            unit="ms",
            factor=3,
        ),
    ]


# --- many at once


async def _time_burst(one: Bridge) -> list[float]:
    began = time.perf_counter()

    async def answer(person: Any) -> float:
        said = person.say(person.dm, f"work={WORK_SEC}")
        await person.dm.wait_for_answer(_says_done, after=said, timeout=60)
        return time.perf_counter() - began

    return list(await asyncio.gather(*map(answer, one.people)))


async def burst_row(home: Path) -> Row:
    make_private_directory(home)
    taken: dict[Program, list[float]] = {"fairlead": [], "bare bot": []}
    async with (
        bridge(home / "ours", "warm", "fairlead", people=AT_ONCE) as fairlead,
        bridge(home / "bare", "warm", "bare bot", people=AT_ONCE) as bot,
    ):
        for warmed_up in (False, *[True] * AT_ONCE_ROUNDS):
            for program, one in zip(PROGRAMS, (fairlead, bot), strict=True):
                times = await _time_burst(one)
                taken[program] += times if warmed_up else []
                await asyncio.sleep(PAUSE_SEC)
    measured, floor = (statistics.quantiles(taken[program], n=20)[-1] * 1e3 for program in PROGRAMS)
    return at_most(
        f"{AT_ONCE} conversations at once, {WORK_SEC * 1e3:.0f} ms of work, p95",
        measured,
        floor,
        floor_name="the bare bot",
        unit="ms",
        factor=1.25,
    )


async def throughput_row(home: Path) -> Row:
    """On a Discord with its limits, as there is no other. What a program loses there counts as not answered."""
    make_private_directory(home)
    rates: dict[Program, list[float]] = {"fairlead": [], "bare bot": []}
    lost: Counter[Program] = Counter()
    async with (
        bridge(home / "ours", "warm", "fairlead", people=MANY, limited=True) as fairlead,
        bridge(home / "bare", "warm", "bare bot", people=MANY, limited=True) as bot,
    ):
        for messages in (1, *[EACH // PAIRS] * PAIRS):  # the first round starts the agents, and is not counted
            for program, one in zip(PROGRAMS, (fairlead, bot), strict=True):
                began = time.perf_counter()
                answered = sum(await asyncio.gather(*(_talk(person, messages) for person in one.people)))
                if messages > 1:
                    rates[program].append(answered / (time.perf_counter() - began))
                    lost[program] += MANY * messages - answered
    measured, floor = (statistics.median(rates[program]) for program in PROGRAMS)
    return Row(
        name=f"{MANY} conversations, {EACH} messages each, answered ({lost['fairlead']} lost)",
        measured=measured,
        floor=floor,
        floor_name=f"the bare bot, {lost['bare bot']} lost",
        unit="/s",
        reach="≥ 0.8x, none lost",
        reached=measured >= 0.8 * floor and not lost["fairlead"],
        spread=spread_of(rates["fairlead"], rates["bare bot"]),
    )


async def _talk(person: Any, messages: int) -> int:
    """One message after another, each when the one before is answered, or after a while in vain. How many were."""
    answered = 0
    chance = random.Random(person.id)
    for _ in range(messages):
        said = person.say(person.dm, f"size={chance.choice(_SIZES)}")
        with contextlib.suppress(AssertionError):
            await person.dm.wait_for_answer(_says_words, after=said, timeout=IN_VAIN_SEC)
            answered += 1
    return answered


# --- at rest, and at the start


async def start_and_memory_rows(home: Path) -> list[Row]:
    make_private_directory(home)
    starts: dict[Program, list[float]] = {"fairlead": [], "bare bot": []}
    memory: dict[Program, list[float]] = {"fairlead": [], "bare bot": []}
    for number in range(STARTS):
        for program in PROGRAMS:
            async with bridge(home / f"{program.replace(' ', '-')}-{number}", "warm", program) as one:
                starts[program].append(one.identified_in)
                if program == "fairlead":
                    await one.discord.wait_for(lambda d=one.discord: d.world.commands[None], timeout=30)
                await asyncio.sleep(1)
                memory[program].append(_rss_mib(one.pid))
    return [
        paired_at_most(
            "start → IDENTIFY",
            [each * 1e3 for each in starts["fairlead"]],
            [each * 1e3 for each in starts["bare bot"]],
            floor_name="the bare bot",
            unit="ms",
            factor=1.3,
        ),
        paired_at_most(
            "idle, Discord connected",
            memory["fairlead"],
            memory["bare bot"],
            floor_name="the bare bot",
            unit="MiB",
            factor=1.25,
        ),
    ]


def _rss_mib(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmRSS"))) / 1024


async def round_trip_rows(home: Path) -> list[Row]:
    make_private_directory(home)
    return [
        *await trip_rows(home / "warm", "warm"),
        *await trip_rows(home / "spawn", "spawn"),
        await burst_row(home / "burst"),
        await throughput_row(home / "throughput"),
        *await start_and_memory_rows(home / "starts"),
    ]
