"""A real Fairlead for one test: real files in a directory of the test's own, a real socket, the real echo agent."""

import asyncio
import io
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import aiohttp

from fairlead.api import Client
from fairlead.api import wire as w
from fairlead.app import Daemon, run_daemon
from fairlead.kit.files import REAL_DISK, Disk
from fairlead.settings import Settings
from tests.support.settings import make_settings

PATIENCE_SEC = 60.0


class Heard(NamedTuple):
    id: str
    name: str
    data: dict[str, Any]


class DaemonHarness:
    """A daemon that runs in the test's own process, and a client of its HTTP API that has its token."""

    def __init__(self, daemon: Daemon, http: aiohttp.ClientSession) -> None:
        self.flow = daemon.flow
        self.runtimes = daemon.runtimes
        self.token = daemon.token
        self.url = daemon.http_url
        self.http = http

    async def ask(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        headers: dict[str, str] | None = None,
        data: bytes | None = None,
    ) -> tuple[int, Any]:
        headers = dict(headers or {})
        if body is not None:
            data = json.dumps(body).encode()
            headers["Content-Type"] = "application/json"
        sent = None if data is None else io.BytesIO(data)
        async with self.http.request(method, self.url + path, headers=headers, data=sent) as response:
            content = await response.read()
            return response.status, json.loads(content) if response.content_type == "application/json" else content

    async def get(self, path: str, **more: Any) -> tuple[int, Any]:
        return await self.ask("GET", path, **more)

    async def post(self, path: str, body: object = None, **more: Any) -> tuple[int, Any]:
        return await self.ask("POST", path, body, **more)

    async def say(self, user: str, message: str, key: str | None = None, **more: Any) -> tuple[int, Any]:
        headers = {w.KEY_HEADER: key} if key else {}
        return await self.post("/v1/messages", {"userId": user, "message": message, **more}, headers=headers)

    async def begin(self, user: str, message: str, key: str | None = None, **more: Any) -> str:
        """Say something without waiting for the answer; the job's id."""
        headers = {w.KEY_HEADER: key} if key else {}
        body = {"userId": user, "message": message, **more}
        status, accepted = await self.post("/v1/messages?wait=0", body, headers=headers)
        assert status == 202, accepted
        return accepted["job_id"]

    @asynccontextmanager
    async def listening(self, job_id: str, last_id: str = "") -> AsyncGenerator[AsyncGenerator[Heard]]:
        headers = {w.ACK_HEADER: w.MANUAL, **({"Last-Event-ID": last_id} if last_id else {})}
        async with self.http.get(f"{self.url}/v1/jobs/{job_id}/events", headers=headers) as response:
            assert response.content_type == "text/event-stream"
            yield heard_in(response)

    async def until(self, job_id: str, name: str, **fields: Any) -> Heard:
        """The first event of this name with these fields."""
        async with self.listening(job_id) as events:
            async for heard in events:
                if heard.name == name and fields.items() <= heard.data.items():
                    return heard
        raise AssertionError(f"{job_id} ended without {name} {fields}")


async def heard_in(response: aiohttp.ClientResponse) -> AsyncGenerator[Heard]:
    block: dict[str, str] = {}
    async for line in response.content:
        name, colon, value = line.decode().rstrip("\n").partition(": ")
        if colon and name:
            block[name] = value
        elif "data" in block:
            yield Heard(block["id"], block["event"], json.loads(block["data"]))
            block = {}


def settings_in(directory: Path, **more: Any) -> Settings:
    project = directory / "proj"
    project.mkdir(exist_ok=True)
    given = {
        "STATE_DIR": directory / "state",
        "LOG_DIR": directory / "logs",
        "PROJECTS": (str(project),),
        "FAIRLEAD_HTTP_PORT": 0,
        "FAIRLEAD_DRAIN_SEC": 0,
    }
    return make_settings(**{**given, **more})


@asynccontextmanager
async def run_daemon_in(
    directory: Path, *, disk: Disk = REAL_DISK, patience_sec: float = PATIENCE_SEC, **more: Any
) -> AsyncGenerator[DaemonHarness]:
    async with run_daemon(settings_in(directory, **more), disk=disk) as daemon:
        headers = {"Authorization": f"Bearer {daemon.token}"}
        async with aiohttp.ClientSession(headers=headers) as http, asyncio.timeout(patience_sec):
            yield DaemonHarness(daemon, http)


@asynccontextmanager
async def a_client(daemon: DaemonHarness, *, channel: str = "terminal", url: str = "") -> AsyncGenerator[Client]:
    async with Client(url or daemon.url, daemon.token, channel=channel) as client:
        yield client


async def write_files(daemon: DaemonHarness, user: str, *orders: str) -> str:
    """The agent asks for each file, and is allowed to write it."""
    job_id = await daemon.begin(user, "\n".join(f"/write {order}" for order in orders))
    async with daemon.listening(job_id) as events:
        async for heard in events:
            if heard.name == "question" and heard.data["status"] == "open":
                await daemon.post(f"/v1/questions/{heard.data['question_id']}", {"verdict": "allow"})
    return job_id
