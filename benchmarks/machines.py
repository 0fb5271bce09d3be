"""Rows about other machines: what the way through NATS costs, how many jobs a second pass, what a runner weighs."""

import asyncio
import json
import os
import socket
import statistics
import sys
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from benchmarks.rows import NotMeasured, Row, at_most, spread_of
from fairlead.api import Client
from fairlead.api.client import ServerAway
from fairlead.api.wire import Done, Failed
from fairlead.core import replies, requests
from fairlead.nats_wire.access import ServerAddress
from fairlead.nats_wire.connection import connect
from fairlead.nats_wire.owned_server import find_server_program

TURNS = 40
MANY, SESSIONS = 100, 20
_MEMORY = "/dev/shm"
_AGENT = """#!/bin/sh
case "$*" in *--version*) echo "codex-cli 0.166.0"; exit;; esac
cat >/dev/null
date +%s%N >>'{notes}.prompt'
echo '{{"type":"thread.started","thread_id":"0199a213-81c0-7800-8aa1-bbab2a035a53"}}'
echo '{{"type":"turn.started"}}'
echo '{{"type":"item.completed","item":{{"id":"item_0","type":"agent_message","text":"done"}}}}'
date +%s%N >>'{notes}.end'
echo '{{"type":"turn.completed","usage":{{"input_tokens":1,"cached_input_tokens":0,"output_tokens":1}}}}'
"""


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class Bench:
    def __init__(self, home: Path, stack: AsyncExitStack) -> None:
        home.mkdir(parents=True)
        self.home = home
        self._stack = stack
        self.http, self.nats = _free_port(), _free_port()
        self.notes = home / "notes"
        program = home / "agent"
        program.write_text(_AGENT.format(notes=self.notes))
        program.chmod(0o755)
        (home / "settings").touch()
        (home / "project").mkdir()
        self.base = {"PATH": "/usr/bin:/bin", "HOME": str(home), "FAIRLEAD_ENV_FILE": str(home / "settings")}
        self.base["CODEX_COMMAND"] = str(program)
        self.end_last: Callable[[], Awaitable[None]] | None = None
        """Ends the process that was started last."""

    async def start(self, *command: str, **environment: str) -> int:
        """Its process id."""
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", *command, cwd=Path.cwd(), env={**self.base, **environment},
            stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL,
        )  # fmt: skip

        async def end() -> None:
            with suppress(ProcessLookupError):
                process.terminate()
            await process.wait()

        self._stack.push_async_callback(end)
        self.end_last = end
        return process.pid

    async def start_daemon(self, **environment: str) -> int:
        pid = await self.start(
            *("fairlead", "up", "--no-chat"),
            STATE_DIR=str(self.home / "state"),
            LOG_DIR=str(self.home / "logs"),
            FAIRLEAD_HTTP_PORT=str(self.http),
            FAIRLEAD_MACHINES="1",
            FAIRLEAD_MACHINES_LISTEN=f"127.0.0.1:{self.nats}",
            FAIRLEAD_TREE_SNAPSHOTS="0",
            PROJECTS=json.dumps([str(self.home / "project")]),
            **environment,
        )
        while True:
            with suppress(ServerAway, FileNotFoundError):
                async with self.client() as client:
                    await client.health()
                    return pid
            await asyncio.sleep(0.05)

    def client(self) -> Client:
        token = (self.home / "state" / "http-token").read_text().strip()
        return Client(f"http://127.0.0.1:{self.http}", token, channel="terminal")

    async def add(self, name: str) -> str:
        async with self.client() as client:
            reply = await client.command(requests.MachineAdd(name), "local")
        assert isinstance(reply, replies.MachineMayJoin)
        return reply.line

    async def join(self, line: str, **environment: str) -> None:
        await self.start("fairlead", "runner", "join", line, **environment)
        async with asyncio.timeout(30):
            while not await asyncio.to_thread((self.home / "runner" / "joined.json").exists):  # noqa: ASYNC110 - a file
                await asyncio.sleep(0.05)

    async def until_there(self, count: int) -> None:
        async with self.client() as client:
            while True:
                reply = await client.command(requests.MachineList(), "local")
                assert isinstance(reply, replies.MachineCatalogue)
                if sum(row.is_there and bool(row.agents) for row in reply.machines) >= count:
                    return
                await asyncio.sleep(0.2)

    def last_note(self, what: str) -> float:
        return int((self.notes.parent / f"{self.notes.name}.{what}").read_text().split()[-1]) / 1e9


@asynccontextmanager
async def bench(home: Path) -> AsyncGenerator[Bench]:
    async with AsyncExitStack() as stack:
        yield Bench(home, stack)


async def _take_turn(made: Bench, client: Client, project: str, tool: str) -> tuple[float, float]:
    """Seconds from the message to the agent's prompt, and from the agent's last line to the client."""
    began = time.time()
    taken = await client.submit("local", "go", project=project, tool=tool)
    async for event in client.events(taken.job_id):
        if isinstance(event, Done | Failed):
            break
    over = time.time()
    return made.last_note("prompt") - began, over - made.last_note("end")


async def _round_trip(made: Bench) -> float:
    """Of a question through the server, with the way that the daemon has to it."""
    directory = made.home / "state" / "machines"
    address = ServerAddress(
        urls=(f"tls://127.0.0.1:{made.nats}",),
        seed=(directory / "daemon.nk").read_text().strip(),
        certificate=(directory / "server.pem").read_text(),
    )
    async with connect(address, name="asks") as asks, connect(address, name="answers") as answers:
        subscription = await answers.subscribe("bench")  # pyright: ignore[reportUnknownMemberType] - nats-py

        async def answer() -> None:
            async for message in subscription.messages:
                await message.respond(b"yes")

        task = asyncio.create_task(answer())
        await answers.flush()
        times: list[float] = []
        for _ in range(200):
            began = time.perf_counter()
            await asks.request("bench", b"?", timeout=5)
            times.append(time.perf_counter() - began)
        task.cancel()
    return statistics.median(times)


async def latency_rows(home: Path) -> list[Row]:
    async with bench(home) as made:
        await made.start_daemon()
        line = await made.add("gpu")
        runner = {"FAIRLEAD_RUNNER_DIR": str(made.home / "runner")}
        await made.join(line, **runner)
        await made.start("fairlead", "runner", "run", **runner)
        await made.until_there(1)
        pairs: list[tuple[tuple[float, float], tuple[float, float]]] = []
        async with made.client() as client:
            await client.command(requests.ProjectAdd(path=f"gpu:{made.home / 'project'}"), "local")
            for _ in range(TURNS):
                remote = await _take_turn(made, client, "gpu/project", "gpu/codex")
                pairs.append((remote, await _take_turn(made, client, "project", "codex")))
        trip = await _round_trip(made)
    names = ("message → remote agent has the prompt", "remote agent's last line → client")
    rows: list[Row] = []
    for place, name in enumerate(names):
        ours = [remote[place] * 1000 for remote, _ in pairs]
        floors = [(local[place] + trip) * 1000 for _, local in pairs]
        floor_name = f"local + one NATS round trip ({trip * 1000:.2g} ms)"
        row = at_most(
            name, statistics.median(ours), statistics.median(floors), floor_name=floor_name, unit="ms", factor=1.5
        )
        rows.append(msgspec.structs.replace(row, spread=spread_of(ours, floors)))
    return rows


class Throughput(msgspec.Struct, frozen=True):
    """`daemon_ms` is the time of a processor that the daemon's process took for each job."""

    jobs_per_second: float
    daemon_ms: float


class _Ends:
    """The ends of jobs in the journal, counted as it grows."""

    def __init__(self, journal: Path) -> None:
        self._journal = journal
        self._read_to = journal.stat().st_size
        self.count = 0

    def look(self) -> int:
        with self._journal.open("rb") as file:
            file.seek(self._read_to)
            new = file.read()
        whole = new[: new.rfind(b"\n") + 1]
        self._read_to += len(whole)
        self.count += whole.count(b'"type":"JobCompleted"')
        return self.count


async def _measure_jobs(made: Bench, daemon: int, projects: Sequence[tuple[str, str]]) -> Throughput:
    """From the first message to the last answer: SESSIONS sessions in each project, one job in each. The sessions are
    the same in every measurement: what the daemon knows of them costs all alike."""
    ends = await asyncio.to_thread(_Ends, made.home / "state" / "events.ndjson")
    limit = asyncio.Semaphore(64)
    jobs = SESSIONS * len(projects)
    cpu_before, began = await _cpu_seconds(daemon), time.perf_counter()
    async with made.client() as client:

        async def say(user: str, project: str, tool: str) -> None:
            async with limit:
                await client.submit(user, "hello", project=project, tool=tool)

        await asyncio.gather(*(say(f"u{at}-{n}", *place) for n in range(SESSIONS) for at, place in enumerate(projects)))
        while ends.look() < jobs:  # noqa: ASYNC110 - a file
            await asyncio.sleep(0.05)
    took, cpu = time.perf_counter() - began, await _cpu_seconds(daemon) - cpu_before
    return Throughput(jobs / took, cpu * 1000 / jobs)


async def _rss_kib(pid: int) -> int:
    text = await asyncio.to_thread(Path(f"/proc/{pid}/status").read_text)
    return next(int(line.split()[1]) for line in text.splitlines() if line.startswith("VmRSS"))


async def _cpu_seconds(pid: int) -> float:
    """That the process has taken so far, in the kernel too."""
    text = await asyncio.to_thread(Path(f"/proc/{pid}/stat").read_text)
    fields = text.rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def many_rows(home: Path) -> list[Row]:
    """The journals of the runners lie in memory where that can be had: in life they are on a hundred other disks."""
    async with bench(home) as made:
        daemon = await made.start_daemon(FAIRLEAD_GLOBAL_MAX_RUNNING="64", FAIRLEAD_MAX_QUEUE_PER_SESSION="50")
        await made.add("m0")
        alone = await _rss_kib(daemon)
        with TemporaryDirectory(dir=_MEMORY if os.path.isdir(_MEMORY) else None) as elsewhere:  # noqa: ASYNC240, PTH112 - once
            for number in range(MANY):
                (Path(elsewhere) / f"{number:03}.line").write_text(await made.add(f"m{number}"))
            await made.start("benchmarks.many_runners", elsewhere)
            await made.until_there(MANY)
            await asyncio.sleep(6)  # a beat of each
            with_all = await _rss_kib(daemon)
            async with made.client() as client:
                for number in range(MANY):
                    await client.command(requests.ProjectAdd(path=f"m{number}:{made.home / 'project'}"), "local")
            here = [("project", "echo")] * MANY
            there = [(f"m{number}/project", f"m{number}/echo") for number in range(MANY)]
            await _measure_jobs(made, daemon, here)  # makes the sessions
            remote = await _measure_jobs(made, daemon, there)
            local = await _measure_jobs(made, daemon, here)
            assert made.end_last is not None
            await made.end_last()
    each = (with_all - alone) / MANY
    return [
        Row(
            name=f"{MANY} runners x {SESSIONS} sessions, jobs (all on this machine)",
            measured=remote.jobs_per_second,
            floor=local.jobs_per_second,
            floor_name="the same jobs here",
            unit="/s",
            reach="≥ 0.7x",
            reached=remote.jobs_per_second >= 0.7 * local.jobs_per_second,
        ),
        Row(
            name=f"{MANY} runners x {SESSIONS} sessions, jobs for each second of the daemon's own processor time",
            measured=1000 / remote.daemon_ms,
            floor=1000 / local.daemon_ms,
            floor_name="the same jobs here",
            unit="/s",
            reach="≥ 0.7x",
            reached=local.daemon_ms >= 0.7 * remote.daemon_ms,
        ),
        Row(
            name="daemon's RSS for each runner",
            measured=each,
            floor=None,
            floor_name="-",
            unit="KiB",
            reach="≤ 200 KiB",
            reached=each <= 200,
        ),
    ]


async def idle_row(home: Path) -> Row:
    async with bench(home) as made:
        await made.start_daemon()
        line = await made.add("gpu")
        runner = {"FAIRLEAD_RUNNER_DIR": str(made.home / "runner")}
        await made.join(line, **runner)
        pid = await made.start("fairlead", "runner", "run", **runner)
        await made.until_there(1)
        bare = await made.start(
            *("fairlead", "up", "--no-chat"),
            STATE_DIR=str(made.home / "bare"),
            LOG_DIR=str(made.home / "bare-logs"),
            FAIRLEAD_HTTP="0",
        )
        await asyncio.sleep(5)
        return at_most(
            "a runner, idle", await _rss_kib(pid) / 1024, await _rss_kib(bare) / 1024,
            floor_name="`fairlead up` without channels", unit="MiB", factor=1.2,
        )  # fmt: skip


async def machine_rows(home: Path) -> list[Row | NotMeasured]:
    if find_server_program() is None or not os.path.exists("/proc/self/status"):  # noqa: ASYNC240, PTH110 - once
        return [NotMeasured("other machines", "install the extra `machines`, on Linux")]
    rows: list[Row | NotMeasured] = [*await latency_rows(home / "latency")]
    rows += [await idle_row(home / "idle"), *await many_rows(home / "many")]
    return rows
