"""A cable between a runner and its server that a test can cut: a TCP proxy that holds back bytes in one direction or in
both. As with a real cable, nothing is closed: what was on its way arrives when the cable is whole again."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import Literal

Direction = Literal["to server", "to client"]
BOTH: tuple[Direction, ...] = ("to server", "to client")


class Cable:
    def __init__(self, port: int) -> None:
        self._server_port = port
        self.port = 0
        self._whole: dict[Direction, asyncio.Event] = {direction: asyncio.Event() for direction in BOTH}
        self._tasks: set[asyncio.Task[None]] = set()
        self.mend()

    def cut(self, *directions: Direction) -> None:
        for direction in directions or BOTH:
            self._whole[direction].clear()

    def mend(self) -> None:
        for whole in self._whole.values():
            whole.set()

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            there, back = await asyncio.open_connection("127.0.0.1", self._server_port)
        except OSError:
            writer.close()
            return
        ways = [self._carry(reader, back, "to server"), self._carry(there, writer, "to client")]
        self._tasks.update(asyncio.create_task(way) for way in ways)

    async def _carry(self, source: asyncio.StreamReader, target: asyncio.StreamWriter, direction: Direction) -> None:
        with suppress(OSError, asyncio.CancelledError):
            while data := await source.read(65536):
                await self._whole[direction].wait()
                target.write(data)
                await target.drain()
        target.close()


@asynccontextmanager
async def cable_to(port: int) -> AsyncGenerator[Cable]:
    cable = Cable(port)
    server = await asyncio.start_server(cable._connect, "127.0.0.1", 0)
    cable.port = server.sockets[0].getsockname()[1]
    try:
        yield cable
    finally:
        server.close()
        for task in cable._tasks:
            task.cancel()
        await asyncio.gather(*cable._tasks, return_exceptions=True)
