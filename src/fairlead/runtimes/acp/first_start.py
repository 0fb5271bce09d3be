"""The first program of an agent starts alone. Knows no process: the code that starts one asks here."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Final

ALONE_SEC: Final = 15.0


class FirstStart:
    """An agent sets up its home at its first start (a database, its settings), and several programs that do so at the
    same time disturb each other. So one goes ahead: the others wait until it has said who it is, or has failed, but
    never for longer than ALONE_SEC. Once one has started well, none waits any more."""

    def __init__(self) -> None:
        self._turn = asyncio.Lock()
        self._is_over = False

    @asynccontextmanager
    async def alone(self) -> AsyncGenerator[None]:
        is_first = not self._is_over and await self._take_turn()
        try:
            yield
        finally:
            if is_first:
                self._turn.release()

    def note_success(self) -> None:
        self._is_over = True

    async def _take_turn(self) -> bool:
        try:
            async with asyncio.timeout(ALONE_SEC):
                await self._turn.acquire()
        except TimeoutError:
            return False
        if self._is_over:
            self._turn.release()
        return not self._is_over
