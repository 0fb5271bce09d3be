"""Which call goes next: never more calls a second than the service allows, and the urgent ones first. Makes no call."""

import asyncio
import heapq
from enum import IntEnum
from itertools import count
from typing import Final

AGENT_FIRST_SEC: Final = 0.03
"""Calls that only show that work has begun wait so long: the agent's process is to start before them."""

AT_ONCE: Final = 4
_TINY: Final = 1e-6


class Urgency(IntEnum):
    """Smaller goes first."""

    ANSWER = 0
    FINAL_STATUS = 1
    MARK = 2
    STATUS = 3
    TYPING = 4
    CATCH_UP = 5


class RateLimit:
    """Calls are spread evenly over the second; only a few (`at_once`) may leave together. The network delays calls
    unevenly, so a large burst could reach the service together with the calls that left after it, and one of the
    service's windows would then count both."""

    def __init__(self, calls_per_second: int, at_once: int = AT_ONCE) -> None:
        self._gap = 1.0 / calls_per_second
        self._slack = self._gap * (at_once - 1)
        self._due = 0.0
        self._waiting: list[tuple[Urgency, int, asyncio.Future[None]]] = []
        self._numbers = count()
        self._timer: asyncio.TimerHandle | None = None

    async def acquire(self, urgency: Urgency) -> None:
        """Returns when it is the caller's turn to make one call."""
        admission = asyncio.get_running_loop().create_future()
        heapq.heappush(self._waiting, (urgency, next(self._numbers), admission))
        self._let_in()
        await admission

    def _let_in(self) -> None:
        loop = asyncio.get_running_loop()
        while self._waiting and self._due - self._slack <= loop.time() + _TINY:
            _, _, admission = heapq.heappop(self._waiting)
            if not admission.done():  # a caller that gave up waiting uses nothing up
                admission.set_result(None)
                self._due = max(self._due, loop.time()) + self._gap
        if self._waiting and self._timer is None:
            self._timer = loop.call_at(self._due - self._slack, self._tick)

    def _tick(self) -> None:
        self._timer = None
        self._let_in()
