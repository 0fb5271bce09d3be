"""HTTP is listened to from the start on, and its server is loaded with the first connection."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path

import pytest

from fairlead.channels.http.listener import HttpListener
from tests.cli.harness import surroundings

pytestmark = pytest.mark.anyio


class ShoutingServer:
    """Sends back in capitals what it is sent."""

    connections = 0

    @asynccontextmanager
    async def run(self, host: str) -> AsyncIterator[Callable[[], asyncio.Protocol]]:
        assert host == "127.0.0.1"
        yield Shouting


class Shouting(asyncio.Protocol):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._transport.write(data.upper())


class Loading:
    """The server comes when the test lets it, or not at all the first time."""

    def __init__(self, *, fails: int = 0) -> None:
        self.is_allowed = asyncio.Event()
        self.times = 0
        self._fails = fails

    async def load(self) -> ShoutingServer:
        self.times += 1
        await self.is_allowed.wait()
        if self.times <= self._fails:
            raise ImportError("a file is missing")
        return ShoutingServer()


class ShoutedAt:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self.writer = writer

    def say(self, words: bytes) -> None:
        self.writer.write(words)

    async def hear(self) -> bytes:
        """Empty when the other side hung up."""
        try:
            return await self._reader.read(100)
        except ConnectionResetError:
            return b""


@asynccontextmanager
async def connected(address: tuple[str, int]) -> AsyncIterator[ShoutedAt]:
    client = ShoutedAt(*await asyncio.open_connection(*address))
    try:
        yield client
    finally:
        client.writer.close()
        with suppress(ConnectionError):
            await client.writer.wait_closed()


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not condition():
            await asyncio.sleep(0.01)


async def test_clients_that_come_while_the_server_is_loaded_are_answered_in_full() -> None:
    loading = Loading()
    listener = HttpListener(loading.load)
    async with listener.serve("127.0.0.1", 0) as address, connected(address) as one, connected(address) as two:
        one.say(b"one")
        two.say(b"two")
        await until(lambda: listener.connections == 2)
        loading.is_allowed.set()
        assert [await one.hear(), await two.hear()] == [b"ONE", b"TWO"]
        async with connected(address) as late:
            late.say(b"me too")
            assert await late.hear() == b"ME TOO"
        assert loading.times == 1


async def test_nothing_is_loaded_before_somebody_connects() -> None:
    loading = Loading()
    listener = HttpListener(loading.load)
    async with listener.serve("127.0.0.1", 0):
        await asyncio.sleep(0)
    assert (listener.connections, loading.times) == (0, 0)


async def test_a_client_that_left_while_the_server_was_loaded_disturbs_nobody() -> None:
    loading = Loading()
    listener = HttpListener(loading.load)
    async with listener.serve("127.0.0.1", 0) as address, connected(address) as patient:
        async with connected(address) as impatient:
            impatient.writer.transport.abort()
        patient.say(b"still here")
        await until(lambda: listener.connections >= 1)
        loading.is_allowed.set()
        assert await patient.hear() == b"STILL HERE"


async def test_a_server_that_cannot_be_loaded_is_tried_again_with_the_next_client() -> None:
    loading = Loading(fails=1)
    loading.is_allowed.set()
    listener = HttpListener(loading.load)
    async with listener.serve("127.0.0.1", 0) as address:
        async with connected(address) as first:
            first.say(b"anybody?")
            assert await first.hear() == b""
        await until(lambda: listener.connections == 0)
        async with connected(address) as second:
            second.say(b"anybody?")
            assert await second.hear() == b"ANYBODY?"


async def test_a_stop_ends_the_clients_that_wait_for_the_server() -> None:
    loading = Loading()
    listener = HttpListener(loading.load)
    async with AsyncExitStack() as stack:
        address = await stack.enter_async_context(listener.serve("127.0.0.1", 0))
        async with connected(address) as client:
            await until(lambda: listener.connections == 1)
            await stack.aclose()
            assert await client.hear() == b""


PROGRAM = """
import asyncio, sys, urllib.request
from fairlead.app import run_daemon
from fairlead.settings import load_settings

async def main():
    async with run_daemon(load_settings()) as daemon:
        before = "aiohttp.web" in sys.modules
        page = await asyncio.to_thread(lambda: urllib.request.urlopen(daemon.http_url + "/v1/health").status)
        print(before, page, "aiohttp.web" in sys.modules)

asyncio.run(main())
"""


def test_a_daemon_without_clients_loads_no_web_framework(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        check=False,
        env=surroundings(tmp_path) | {"FAIRLEAD_HTTP_PORT": "0"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout == "False 200 True\n", done.stderr
