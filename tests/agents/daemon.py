"""Fairlead itself in a process of its own, with a real CLI behind it: started, killed, started again."""

import asyncio
import json
import signal
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fairlead.api import Client
from fairlead.api.wire import Done, Failed, JobInfo, QuestionInfo

from .environment import AgentName, agent_environment, prepare_home
from .model_server import ModelServer

PATIENCE = 180  # seconds: a test that waits longer has failed
BOT_TOKEN = "a-discord-token-nobody-may-see"


class Daemon:
    """`fairlead up` as a user runs it, in front of one CLI and the model server."""

    def __init__(self, name: AgentName, home: Path, server: ModelServer, **settings: str) -> None:
        prepare_home(name, home, server)
        own = {"FAIRLEAD_RUNTIME_ENVIRONMENT": "LOOPBACK_API_KEY", "GEMINI_CLI_MODEL": "gemini-2.5-flash"}
        self._surround(name, home, agent_environment(name, home, server) | own | settings)

    def _surround(self, name: str, home: Path, settings: dict[str, str]) -> None:
        """`name` is the agent's, as people choose it."""
        self.name = name
        self.home = home
        self.project = home / "project"
        self.project.mkdir(parents=True, exist_ok=True)
        self.environment = {
            "STATE_DIR": str(home / "state"),
            "LOG_DIR": str(home / "logs"),
            "PROJECTS": json.dumps([str(self.project)]),
            "FAIRLEAD_HTTP_PORT": "0",
            "FAIRLEAD_IDENTITIES": json.dumps({"alice": ["http:alice", "terminal:alice"]}),
            **settings,
        }
        self._process: asyncio.subprocess.Process | None = None
        self.url = ""

    async def start(self) -> None:
        self._process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "fairlead", "up", "--no-chat",
            env=self.environment, cwd=self.project, stdout=asyncio.subprocess.PIPE,
        )  # fmt: skip
        assert self._process.stdout is not None
        while b"projects" not in (line := await self._process.stdout.readline()):
            assert line, "the daemon ended before it was up"
            if b"HTTP" in line:
                self.url = line.split()[2].decode()

    async def end(self, number: signal.Signals = signal.SIGTERM) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.send_signal(number)
            await process.wait()

    @asynccontextmanager
    async def client(self, channel: str = "http") -> AsyncIterator[Client]:
        token = (self.home / "state" / "http-token").read_text().strip()
        async with Client(self.url, token, channel=channel) as client:
            yield client

    async def say(self, text: str, user: str = "alice", channel: str = "http") -> JobInfo:
        """The job, once it has ended."""
        async with self.client(channel) as client:
            accepted = await client.submit(user, text, tool=self.name)
            return await ended(client, accepted.job_id)

    def facts(self, kind: str) -> list[dict[str, Any]]:
        """The payloads of one kind of fact in the journal, oldest first."""
        whole, _, _being_written = (self.home / "state" / "events.ndjson").read_text().rpartition("\n")
        lines = map(json.loads, whole.splitlines())
        return [line["payload"] for line in lines if line["type"] == kind]

    async def until(self, holds: Callable[[], bool]) -> None:
        """Looks again whenever something was written."""
        journal = self.home / "state" / "events.ndjson"
        async with asyncio.timeout(PATIENCE):
            while True:
                size = journal.stat().st_size
                if holds():
                    return
                await grown(journal, size)

    async def question(self, client: Client, user: str = "alice") -> QuestionInfo:
        """The first question that is open: asked for again whenever something happened in the journal."""
        journal = self.home / "state" / "events.ndjson"
        async with asyncio.timeout(PATIENCE):
            while True:
                size = journal.stat().st_size
                open_now = await client.questions(user)
                if open_now:
                    return open_now[0]
                await grown(journal, size)


async def ended(client: Client, job_id: str) -> JobInfo:
    async for event in client.events(job_id):
        if isinstance(event, Done | Failed):
            break
    return await client.job(job_id)


async def grown(path: Path, size: int) -> None:
    """Returns when `path` exists and is longer than `size`: looked at a hundred times a second."""
    while not path.exists() or path.stat().st_size <= size:
        await asyncio.sleep(0.01)
