"""Which call goes next: never more calls a second than the service allows, and the urgent ones first. Makes no call."""

import asyncio
import heapq
from enum import IntEnum
from itertools import count
from typing import Final

from fairlead.kit.durations import DurationMeter

AGENT_FIRST_SEC: Final = 0.03
"""Calls that only show that work has begun wait so long: the agent's process is to start before them."""

AT_ONCE: Final = 2
ANSWERS_AT_ONCE: Final = 10
_TINY: Final = 1e-6


class Urgency(IntEnum):
    """Smaller goes first. Messages that nobody has taken yet (`CATCH_UP`) come before everything that is only shown:
    the live messages of their conversation wait behind them."""

    ANSWER = 0
    CATCH_UP = 1
    FINAL_STATUS = 2
    MARK = 3
    STATUS = 4
    TYPING = 5
    TITLE = 6


_UNHURRIED: Final = frozenset({Urgency.TYPING, Urgency.TITLE})


class RateLimit:
    """Calls are spread evenly over the second. Only a few that show something (`at_once`) may leave together, and
    behind them always so many answers (`answers_at_once`), which people wait for; calls that can wait (typing, titles)
    leave one by one, and take nothing from the others. The network delays calls unevenly, so a large burst could
    reach the service together with the calls that left after it, and one of the service's windows would then count
    both: a second sees at most `calls_per_second` + `at_once` + `answers_at_once` calls."""

    def __init__(
        self,
        calls_per_second: int,
        at_once: int = AT_ONCE,
        *,
        answers_at_once: int = ANSWERS_AT_ONCE,
        waits: DurationMeter | None = None,
    ) -> None:
        """`waits` is told how long calls waited that could not leave at once."""
        self._waits = waits
        self._gap = 1.0 / calls_per_second
        self._slack = self._gap * (at_once - 1)
        self._answer_slack = self._slack + self._gap * answers_at_once
        self._due = 0.0
        self._waiting: list[tuple[Urgency, int, asyncio.Future[None]]] = []
        self._numbers = count()
        self._timer: asyncio.TimerHandle | None = None

    async def acquire(self, urgency: Urgency) -> None:
        """Returns when it is the caller's turn to make one call."""
        if not self._waiting and self._may_leave(urgency):
            self._count_call()
            return
        admission = asyncio.get_running_loop().create_future()
        heapq.heappush(self._waiting, (urgency, next(self._numbers), admission))
        self._let_in()
        if admission.done() or self._waits is None:
            await admission
            return
        began = asyncio.get_running_loop().time()
        await admission
        self._waits.note(asyncio.get_running_loop().time() - began)

    def _let_in(self) -> None:
        while self._waiting and self._may_leave(self._waiting[0][0]):
            _, _, admission = heapq.heappop(self._waiting)
            if not admission.done():  # a caller that gave up waiting uses nothing up
                admission.set_result(None)
                self._count_call()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._waiting:  # no call may leave before the most urgent of them
            due = self._due_of(self._waiting[0][0])
            self._timer = asyncio.get_running_loop().call_at(due, self._let_in)

    def _may_leave(self, urgency: Urgency) -> bool:
        return self._due_of(urgency) <= asyncio.get_running_loop().time() + _TINY

    def _count_call(self) -> None:
        self._due = max(self._due, asyncio.get_running_loop().time()) + self._gap

    def _due_of(self, urgency: Urgency) -> float:
        if urgency in _UNHURRIED:
            return self._due
        return self._due - (self._answer_slack if urgency is Urgency.ANSWER else self._slack)
