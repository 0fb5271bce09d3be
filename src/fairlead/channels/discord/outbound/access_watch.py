"""Whether something waits because Discord refused it for lack of a right, and when that may have changed."""

import asyncio
from collections.abc import Callable
from typing import Final

LOOK_GAP_SEC: Final = 5.0
"""Servers may change often; what was refused is tried only once in so long a time, because Discord counts refusals."""


class AccessWatch:
    """`came_back` makes the outbox try again what it holds back."""

    def __init__(self, came_back: Callable[[], None]) -> None:
        self._came_back = came_back
        self._was_refused = False
        self._next_look = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def note_refusal(self) -> None:
        self._was_refused = True

    def note_change(self) -> None:
        """A channel, a thread, a role or our own membership is not what it was."""
        if not self._was_refused or self._timer is not None:
            return
        loop = asyncio.get_running_loop()
        self._timer = loop.call_at(max(loop.time(), self._next_look), self._look)

    def _look(self) -> None:
        self._timer = None
        self._was_refused = False
        self._next_look = asyncio.get_running_loop().time() + LOOK_GAP_SEC
        self._came_back()
