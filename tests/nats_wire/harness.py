"""A real nats-server on loopback, and both ends of the wire."""

import asyncio
import os
import signal
import socket
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from fairlead.kit.files import REAL_DISK
from fairlead.kit.tasks import OwnedTasks
from fairlead.machine_ports import Arrived, Connected, Wire, WireEvent
from fairlead.nats_wire.access import MachineAccess, NatsKey, ServerAddress, make_key
from fairlead.nats_wire.connection import FAULTS, PING_SEC, connect
from fairlead.nats_wire.daemon_wire import DaemonWire
from fairlead.nats_wire.owned_server import OwnedServer, find_server_program
from fairlead.nats_wire.runner_wire import RunnerWire
from fairlead.nats_wire.server_config import Listeners
from fairlead.nats_wire.server_files import ServerFiles

HASTY_PING_SEC = 0.3
"""A cut cable is noticed soon, so that no test waits long."""


def run(work: Coroutine[Any, Any, Any]) -> Any:
    async def bounded() -> Any:
        async with asyncio.timeout(30):  # a hanging story fails instead of hanging the run
            return await work

    return asyncio.run(bounded())


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Heard:
    """What one end hears, kept for the test."""

    def __init__(self, wire: Wire) -> None:
        self.events: list[WireEvent] = []
        self._wire = wire
        self._more = asyncio.Event()
        self._seen = 0

    async def listen(self) -> None:
        async for event in self._wire.events():
            self.events.append(event)
            self._more.set()

    async def wait_for(self, is_wanted: Callable[[WireEvent], bool]) -> WireEvent:
        """The next event of this kind after the last one that was waited for."""
        while True:
            while self._seen < len(self.events):
                self._seen += 1
                if is_wanted(self.events[self._seen - 1]):
                    return self.events[self._seen - 1]
            self._more.clear()
            await self._more.wait()

    async def connected(self) -> None:
        await self.wait_for(lambda event: isinstance(event, Connected))

    async def frame(self) -> bytes:
        event = await self.wait_for(lambda event: isinstance(event, Arrived))
        assert isinstance(event, Arrived)
        return event.data

    @property
    def frames(self) -> list[bytes]:
        return [event.data for event in self.events if isinstance(event, Arrived)]


class NatsStage:
    def __init__(self, directory: Path, stack: AsyncExitStack, *, websocket: bool = False) -> None:
        program = find_server_program()
        assert program is not None, "the extra `machines` brings nats-server"
        self.port = free_port()
        self.websocket_port = free_port() if websocket else 0
        self.directory = directory
        self.server = OwnedServer(
            ServerFiles(directory, REAL_DISK),
            program,
            Listeners(host="127.0.0.1", port=self.port, websocket=self.websocket_port),
            mark=f"test-{self.port}:nats",
        )
        self.keys: dict[str, NatsKey] = {}
        self._stack = stack
        self.server.write([])

    @property
    def machines(self) -> list[MachineAccess]:
        return [MachineAccess(f"id-{name}", key.public) for name, key in self.keys.items()]

    @property
    def ids(self) -> dict[str, str]:
        return {name: f"id-{name}" for name in self.keys}

    async def start(self) -> None:
        self._tasks = await self._stack.enter_async_context(OwnedTasks("stage"))
        self._serving = self._tasks.start(self.server.run(), name="server")
        await self.answers()

    async def answers(self) -> None:
        """Returns when the server takes connections."""
        while True:
            try:
                async with connect(self.server.address(), name="probe"):
                    return
            except FAULTS:
                await asyncio.sleep(0.02)

    async def kill_server(self) -> None:
        """As a crash would; it is started again by its owner."""
        process = self.server.process
        assert process is not None
        os.kill(process.pid, signal.SIGKILL)
        await process.wait()

    async def add(self, name: str) -> None:
        self.keys[name] = make_key()
        await self.server.allow(self.machines)

    async def remove(self, name: str) -> NatsKey:
        key = self.keys.pop(name)
        await self.server.allow(self.machines)
        return key

    def address_of(self, key: NatsKey, *, port: int = 0, scheme: str = "tls") -> ServerAddress:
        return ServerAddress(
            urls=(f"{scheme}://127.0.0.1:{port or self.port}",), seed=key.seed, certificate=self.server.certificate
        )

    async def daemon(self, *, ping_sec: float = PING_SEC) -> tuple[DaemonWire, Heard]:
        wire = DaemonWire(self.server.address(), self.ids, ping_sec=ping_sec)
        return wire, await self._listen(wire)

    async def runner(
        self, name: str, *, port: int = 0, scheme: str = "tls", ping_sec: float = PING_SEC
    ) -> tuple[RunnerWire, Heard]:
        address = self.address_of(self.keys[name], port=port, scheme=scheme)
        wire = RunnerWire(address, name=name, machine_id=f"id-{name}", ping_sec=ping_sec)
        return wire, await self._listen(wire)

    async def _listen(self, wire: DaemonWire | RunnerWire) -> Heard:
        wire.start()
        self._stack.push_async_callback(wire.aclose)
        heard = Heard(wire)
        self._tasks.start(heard.listen(), name="listening")
        return heard


@asynccontextmanager
async def nats_stage(directory: Path, *names: str, websocket: bool = False) -> AsyncGenerator[NatsStage]:
    async with AsyncExitStack() as stack:
        stage = NatsStage(directory, stack, websocket=websocket)
        await stage.start()
        for name in names:
            await stage.add(name)
        yield stage
