"""Listens for HTTP from the start on, and loads the server when somebody connects: a daemon that is only used over
Discord never does, and its memory stays smaller by the size of a web framework."""

import asyncio
import errno
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import Any, Final, Protocol

from fairlead.errors import Code, error
from fairlead.kit.tasks import TaskOwner
from fairlead.observe import log_failure

_LISTEN_FAULTS: Final = {
    errno.EADDRINUSE: (
        "another program is listening there",
        "Set FAIRLEAD_HTTP_PORT to a free port (0 chooses one), or stop that program.",
    ),
    errno.EACCES: (
        "this user account is not allowed to use that port",
        "Set FAIRLEAD_HTTP_PORT to 1024 or more; a reverse proxy can serve lower ports.",
    ),
    errno.EADDRNOTAVAIL: (
        "this machine has no such address",
        "Set FAIRLEAD_HTTP_HOST to 127.0.0.1, or to an address of this machine.",
    ),
}
_OTHER_FAULT: Final = (
    "the address is not known, or the system refuses it",
    "Set FAIRLEAD_HTTP_HOST to 127.0.0.1 and FAIRLEAD_HTTP_PORT to a free port (0 chooses one).",
)


class LoadedServer(Protocol):
    @property
    def connections(self) -> int:
        """How many connections clients have open now."""
        ...

    def run(self, host: str) -> AbstractAsyncContextManager[Callable[[], asyncio.Protocol]]:
        """Within, what this gives makes the protocol of each new connection; leaving it ends them all."""
        ...


class HttpListener:
    """`async with listener.serve("127.0.0.1", 0) as address:` answers until the block is left."""

    def __init__(self, load: Callable[[], Awaitable[LoadedServer]]) -> None:
        self._load = load
        self._server: LoadedServer | None = None
        self._make_protocol: Callable[[], asyncio.Protocol] | None = None
        self._waiting: dict[WaitingConnection, asyncio.Transport] = {}
        self._is_needed = asyncio.Event()

    @property
    def connections(self) -> int:
        return len(self._waiting) + (0 if self._server is None else self._server.connections)

    @asynccontextmanager
    async def serve(self, host: str, port: int) -> AsyncGenerator[tuple[str, int]]:
        async with AsyncExitStack() as stack:
            owner = await stack.enter_async_context(TaskOwner("http"))
            stack.callback(owner.cancel)
            listening = await self._listen(host, port)
            stack.callback(listening.close)  # before the server ends, clients can no longer connect
            owner.start(self._serve_when_needed(host), name="server")
            bound: tuple[Any, ...] = listening.sockets[0].getsockname()
            yield str(bound[0]), int(bound[1])

    async def _listen(self, host: str, port: int) -> asyncio.Server:
        try:
            return await asyncio.get_running_loop().create_server(self._accept, host, port, backlog=128)
        except OSError as fault:
            why, next_step = _LISTEN_FAULTS.get(fault.errno or 0, _OTHER_FAULT)
            raise error(Code.E_CONFIG, f"HTTP cannot listen on {host}:{port}: {why}.", next_step=next_step) from fault

    def _accept(self) -> asyncio.Protocol:
        return WaitingConnection(self) if self._make_protocol is None else self._make_protocol()

    def wait(self, connection: "WaitingConnection", transport: asyncio.Transport) -> None:
        """Nothing is read from it before the server is there."""
        transport.pause_reading()
        self._waiting[connection] = transport
        self._is_needed.set()

    def leave(self, connection: "WaitingConnection") -> None:
        self._waiting.pop(connection, None)

    async def _serve_when_needed(self, host: str) -> None:
        """For ever. A server that cannot be loaded is no reason to end: the next client has it tried again."""
        while True:
            await self._is_needed.wait()
            try:
                self._server = await self._load()
                break
            except Exception as fault:  # whatever it is, every other channel goes on
                log_failure("HTTP is not served", fault)
                self._turn_away()
            except asyncio.CancelledError:
                self._turn_away()
                raise
        async with self._server.run(host) as make_protocol:
            self._make_protocol = make_protocol
            for connection, transport in tuple(self._waiting.items()):
                _hand_over(transport, make_protocol(), bytes(connection.received))
            self._waiting.clear()
            await asyncio.get_running_loop().create_future()

    def _turn_away(self) -> None:
        self._is_needed.clear()
        for transport in tuple(self._waiting.values()):
            transport.abort()


class WaitingConnection(asyncio.Protocol):
    """A client that came before the server was loaded. Python 3.11.2, which Debian 12 has, reads from it although its
    transport was paused when the connection was made: what came is for the server."""

    def __init__(self, listener: HttpListener) -> None:
        self._listener = listener
        self.received = bytearray()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._listener.wait(self, transport)

    def data_received(self, data: bytes) -> None:
        self.received += data

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's shape
        self._listener.leave(self)


def _hand_over(transport: asyncio.Transport, protocol: asyncio.Protocol, received: bytes) -> None:
    transport.set_protocol(protocol)
    protocol.connection_made(transport)
    if received:
        protocol.data_received(received)
    transport.resume_reading()
