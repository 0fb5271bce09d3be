"""Who may call Discord next: never more calls a second than the pace, and the urgent ones first. Knows no call."""

import asyncio
import heapq
from collections import deque
from enum import IntEnum
from itertools import count
from typing import Final

CALLS_PER_SECOND: Final = 40
"""Discord allows 50; the rest is room for what discord.py sends by itself."""


class Urgency(IntEnum):
    """Smaller goes first."""

    ANSWER = 0
    FINAL_STATUS = 1
    MARK = 2
    STATUS = 3
    TYPING = 4
    CATCH_UP = 5


class Governor:
    def __init__(self, calls_per_second: int = CALLS_PER_SECOND) -> None:
        self._most = calls_per_second
        self._granted: deque[float] = deque()
        self._waiting: list[tuple[Urgency, int, asyncio.Future[None]]] = []
        self._numbers = count()
        self._timer: asyncio.TimerHandle | None = None

    async def turn(self, urgency: Urgency) -> None:
        """Returns when it is the caller's turn to make one call."""
        place = asyncio.get_running_loop().create_future()
        heapq.heappush(self._waiting, (urgency, next(self._numbers), place))
        self._let_in()
        await place

    def _let_in(self) -> None:
        loop = asyncio.get_running_loop()
        now = loop.time()
        while self._granted and self._granted[0] <= now - 1.0:
            self._granted.popleft()
        while self._waiting and len(self._granted) < self._most:
            _, _, place = heapq.heappop(self._waiting)
            if not place.done():  # who gave up waiting uses nothing up
                place.set_result(None)
                self._granted.append(now)
        if self._waiting and self._timer is None:
            self._timer = loop.call_at(self._granted[0] + 1.0, self._tick)

    def _tick(self) -> None:
        self._timer = None
        self._let_in()
