"""A daemon with its own nats-server, and runners with an agent that notes which prompts it got: real processes on one
computer, each with a directory of its own."""

import asyncio
import json
import os
import shutil
import signal
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from fairlead.api import Client
from fairlead.api.client import ServerAway
from fairlead.api.wire import JobInfo, NewFile
from fairlead.core import replies, requests
from fairlead.core.requests import Request
from tests.nats_wire.harness import free_port
from tests.support import counting_agent

PATIENCE_SEC = 100.0
END_SEC = 60.0
"""A daemon lets its own turns go on for half a minute."""
ENDED = frozenset({"success", "failed", "cancelled", "unknown_after_crash"})


def run(work: Coroutine[Any, Any, Any]) -> Any:
    async def bounded() -> Any:
        async with asyncio.timeout(PATIENCE_SEC):  # a hanging story fails instead of hanging the run
            return await work

    return asyncio.run(bounded())


class Program:
    """One process of Fairlead; what it said is in a file."""

    def __init__(self, process: asyncio.subprocess.Process, said: Path) -> None:
        self.process = process
        self.said = said

    async def end(self, how: signal.Signals = signal.SIGTERM) -> int:
        if self.process.returncode is None:
            with suppress(ProcessLookupError):
                self.process.send_signal(how)
        return await self.process.wait()


class Site:
    """`address` is what runners dial, if it is not the server itself: a cable that the test can cut."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.http_port, self.nats_port = free_port(), free_port()
        self.notes = home / "notes"
        self._programs: list[Program] = []
        self.runners: dict[str, Program] = {}
        self.base = {"PATH": "/usr/bin:/bin", "HOME": str(home), "FAIRLEAD_ENV_FILE": str(home / "settings")}
        (home / "settings").touch()
        self.address = f"127.0.0.1:{self.nats_port}"
        self.daemon: Program | None = None
        self.agent = ""
        """Another agent than the one that counts."""
        self.more: dict[str, str] = {}
        self.runner_more: dict[str, str] = {}
        """Further variables of the daemon, and of runners."""
        self.launcher: tuple[str, ...] = (sys.executable, "-m", "fairlead")
        self.runner_launcher = self.launcher
        self.give_accounts: Callable[[Path], Awaitable[None]] | None = None
        """What the operator of a server that is not the daemon's does with the file of accounts."""

    @property
    def accounts_file(self) -> Path:
        return self.home / "state" / "machines" / "accounts.conf"

    # --- processes

    def daemon_environment(self) -> dict[str, str]:
        return {
            **self.base,
            "STATE_DIR": str(self.home / "state"),
            "LOG_DIR": str(self.home / "logs"),
            "FAIRLEAD_HTTP_PORT": str(self.http_port),
            "FAIRLEAD_MACHINES": "1",
            "FAIRLEAD_MACHINES_LISTEN": f"127.0.0.1:{self.nats_port}",
            "FAIRLEAD_MACHINES_ADDRESS": self.address,
            **self.more,
        }

    def home_of(self, name: str) -> Path:
        """The home directory of the person on this machine."""
        home = self.home / f"{name}-home"
        home.mkdir(exist_ok=True)
        return home

    def runner_environment(self, name: str) -> dict[str, str]:
        directory = self.home / name
        return {
            **self.base,
            "HOME": str(self.home_of(name)),
            "FAIRLEAD_RUNNER_DIR": str(directory),
            "CODEX_COMMAND": str(self.agent or counting_agent.write_program(directory, self.notes)),
            **self.runner_more,
        }

    async def start(self, name: str, environment: dict[str, str], *command: str) -> Program:
        said = self.home / f"{name}.out"
        launcher = self.runner_launcher if command[0] == "runner" else self.launcher
        with said.open("ab") as output:
            process = await asyncio.create_subprocess_exec(
                *launcher, *command, cwd=self.home, env=environment,
                stdin=asyncio.subprocess.DEVNULL, stdout=output, stderr=output,
            )  # fmt: skip
        program = Program(process, said)
        self._programs.append(program)
        return program

    async def start_daemon(self) -> Program:
        self.daemon = await self.start("daemon", self.daemon_environment(), "up", "--no-chat")
        while True:
            assert self.daemon.process.returncode is None, self.daemon.said.read_text()
            with suppress(ServerAway, FileNotFoundError):
                async with self.client() as client:
                    await client.health()
                    return self.daemon
            await asyncio.sleep(0.05)

    async def add(self, name: str) -> None:
        """A machine with a project, whose runner has joined and is not running yet."""
        (self.home / name).mkdir(mode=0o700, exist_ok=True)
        (self.home / f"{name}-project").mkdir(exist_ok=True)
        reply = await self.ask(requests.MachineAdd(name))
        assert isinstance(reply, replies.MachineMayJoin)
        if self.give_accounts is not None:
            await self.give_accounts(Path(reply.accounts_file))
        joined = await self.start(f"join-{name}", self.runner_environment(name), "runner", "join", reply.line)
        assert await joined.process.wait() == 0, joined.said.read_text()

    async def start_runner(self, name: str, directory: str = "") -> Program:
        runner = await self.start(f"runner-{name}", self.runner_environment(directory or name), "runner", "run")
        self.runners[name] = runner
        return runner

    async def bring_up(self, name: str) -> Program:
        """Added, running, and with a project."""
        await self.add(name)
        runner = await self.start_runner(name)
        await self.presence(name, is_there=True)
        await self.ask(requests.ProjectAdd(path=f"{name}:{self.home / f'{name}-project'}"))
        return runner

    def server_pid(self) -> int:
        config = str(self.home / "state" / "machines" / "server.json")
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            with suppress(OSError):
                if config in path.read_bytes().decode(errors="replace"):
                    return int(path.parent.name)
        raise AssertionError("there is no server")

    def kill_server(self, *, wipe: bool) -> None:
        os.kill(self.server_pid(), signal.SIGKILL)
        if wipe:
            shutil.rmtree(self.home / "state" / "machines" / "store" / "jetstream", ignore_errors=True)

    async def close(self) -> None:
        """A program that does not end when it is asked to is a failure, and holds nothing up."""
        stubborn: list[str] = []
        for program in reversed(self._programs):
            try:
                async with asyncio.timeout(END_SEC):
                    await program.end()
            except TimeoutError:
                stubborn.append(program.said.read_text()[-3000:])
                await program.end(signal.SIGKILL)
        assert stubborn == []

    # --- the daemon

    def client(self) -> Client:
        token = (self.home / "state" / "http-token").read_text().strip()
        return Client(f"http://127.0.0.1:{self.http_port}", token, channel="terminal")

    async def ask(self, request: Request) -> replies.Reply:
        async with self.client() as client:
            return await client.command(request, "local")

    async def machine(self, name: str) -> replies.MachineRow:
        reply = await self.ask(requests.MachineList())
        assert isinstance(reply, replies.MachineCatalogue)
        return next(row for row in reply.machines if row.name == name)

    async def presence(self, name: str, *, is_there: bool) -> replies.MachineRow:
        while True:
            row = await self.machine(name)
            if row.is_there == is_there and not row.problem:
                return row
            await asyncio.sleep(0.05)

    async def say(self, machine: str, text: str, *, user: str = "local", files: Sequence[NewFile] = ()) -> str:
        async with self.client() as client:
            accepted = await client.submit(
                user, text, project=f"{machine}/{machine}-project", tool=f"{machine}/codex", files=files
            )
            return accepted.job_id

    async def job(self, job_id: str) -> JobInfo:
        async with self.client() as client:
            return await client.job(job_id)

    async def end_of(self, job_id: str) -> JobInfo:
        while True:
            with suppress(ServerAway):
                job = await self.job(job_id)
                if job.state in ENDED:
                    return job
            await asyncio.sleep(0.05)

    # --- the agent's own word

    def prompts(self, what: str = "begun") -> list[str]:
        lines = self.notes.read_text().splitlines() if self.notes.exists() else []
        return [note["key"] for line in lines if (note := json.loads(line))["what"] == what]

    async def until_begun(self, key: str) -> None:
        while key not in self.prompts():
            await asyncio.sleep(0.02)

    def runner_facts(self, name: str, kind: str) -> list[dict]:
        """Those of the runner's own journal."""
        lines = (self.home / name / "runner.ndjson").read_bytes().split(b"\n")[:-1]
        return [fact["payload"] for line in lines if (fact := json.loads(line))["type"] == kind]

    async def until(self, is_so: Callable[[], object]) -> None:
        while not is_so():
            await asyncio.sleep(0.02)

    def gate(self, key: str) -> Path:
        """What a turn waits for: `until {gate}`."""
        return self.home / f"gate-{key}"

    def journal(self, kind: str) -> list[dict]:
        lines = (self.home / "state" / "events.ndjson").read_bytes().splitlines()
        return [fact["payload"] for line in lines if (fact := json.loads(line))["type"] == kind]


@asynccontextmanager
async def site(home: Path, kind: type[Site] = Site) -> AsyncGenerator[Site]:
    made = kind(home)
    try:
        yield made
    finally:
        for program in made._programs:
            if program.process.returncode is None and sys.exc_info()[0] is not None:
                print(program.said.name, program.said.read_text()[-3000:])
        await made.close()
