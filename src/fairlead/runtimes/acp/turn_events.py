"""The events of one turn, in their order, and the watchdog over them. Knows no agent."""

import asyncio
from collections.abc import Callable
from typing import Literal

from fairlead.core.engine import EngineEvent


class SilentTooLong(Exception):  # noqa: N818 - says what happened
    """The agent has sent no update for the watchdog's time."""


class TurnEvents:
    """`heard_at` says when the agent sent its last update; while `is_asking`, no silence counts."""

    def __init__(self, *, watchdog_sec: float, heard_at: Callable[[], float], is_asking: Callable[[], bool]) -> None:
        self._watchdog_sec = watchdog_sec
        self._heard_at = heard_at
        self._is_asking = is_asking
        self._queue: asyncio.Queue[EngineEvent | Literal["finished", "look again"]] = asyncio.Queue()

    def put(self, event: EngineEvent) -> None:
        self._queue.put_nowait(event)

    def finish(self) -> None:
        """No event comes after those that were put before."""
        self._queue.put_nowait("finished")

    def look_again(self) -> None:
        """A person is no longer waited for: the watchdog counts from now."""
        self._queue.put_nowait("look again")

    async def next(self) -> EngineEvent | None:
        """None when there are no more. Raises SilentTooLong."""
        while True:
            item = self._queue.get_nowait() if not self._queue.empty() else await self._wait()
            if item == "finished":
                return None
            if item != "look again":
                return item

    async def _wait(self) -> EngineEvent | Literal["finished", "look again"]:
        try:
            async with asyncio.timeout_at(self._due_at):
                return await self._queue.get()
        except TimeoutError:
            due = self._due_at  # an update that is no event has moved it meanwhile
            if due is not None and asyncio.get_running_loop().time() >= due:
                raise SilentTooLong from None
            return "look again"

    @property
    def _due_at(self) -> float | None:
        return None if self._is_asking() else self._heard_at() + self._watchdog_sec
