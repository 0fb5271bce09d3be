"""Long-lived agent processes: one for each session, at most so many, the longest unused idle one goes first.

Knows no agent by name: the caller says which process fits a turn and how another one is started.
"""

import asyncio
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from fairlead.kit.tasks import OwnedTasks


class PooledProcess(Protocol):
    @property
    def is_dead(self) -> bool: ...

    @property
    def is_in_turn(self) -> bool: ...

    @property
    def is_idle(self) -> bool:
        """Nothing is lost if the process ends now: no turn, no background command, no open question."""
        ...

    async def end(self) -> None:
        """Returns when nothing of the process runs any more."""
        ...


P = TypeVar("P", bound=PooledProcess)

OnRest = Callable[[], None]
"""A process calls it whenever it has come to rest or died."""


class ProcessPool(Generic[P]):
    def __init__(self, *, most: int, idle_sec: float) -> None:
        self._most = most
        self._idle_sec = idle_sec
        # In the order of their last use: the first was not needed for the longest time.
        self._processes: dict[str, P] = {}
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._ending = OwnedTasks("pool")
        self._one_at_a_time = asyncio.Lock()

    def get(self, session_key: str) -> P | None:
        return self._processes.get(session_key)

    def __len__(self) -> int:
        return len(self._processes)

    async def take(self, session_key: str, *, fits: Callable[[P], bool], start: Callable[[OnRest], P]) -> P | None:
        """The session's process, a new one if it has none that fits; None if all are busy with other sessions."""
        async with self._one_at_a_time:
            process = self._processes.pop(session_key, None)
            self._stop_timer(session_key)
            if process is not None and (process.is_dead or not fits(process)):
                await process.end()
                process = None
            if process is None:
                if not await self._make_room():
                    return None
                process = self._start(session_key, start)
            self._processes[session_key] = process
        return process

    async def aclose(self) -> None:
        for handle in self._timers.values():
            handle.cancel()
        for session_key, process in self._processes.items():
            self._ending.start(process.end(), name=session_key)
        await self._ending.join()

    def _start(self, session_key: str, start: Callable[[OnRest], P]) -> P:
        def on_rest() -> None:
            self._look_at(session_key, process)

        process = start(on_rest)
        return process

    async def _make_room(self) -> bool:
        if len(self._processes) < self._most:
            return True
        for session_key, process in self._processes.items():
            if process.is_idle:
                self._stop_timer(session_key)
                del self._processes[session_key]
                await process.end()
                return True
        return False

    def _look_at(self, session_key: str, process: P) -> None:
        self._stop_timer(session_key)
        if self._processes.get(session_key) is not process:
            return
        if process.is_dead:
            del self._processes[session_key]
        elif not process.is_in_turn:
            loop = asyncio.get_running_loop()
            self._timers[session_key] = loop.call_later(self._idle_sec, self._end_if_idle, session_key, process)

    def _end_if_idle(self, session_key: str, process: P) -> None:
        if process.is_idle:
            self._ending.start(process.end(), name=session_key)
        else:
            self._look_at(session_key, process)  # its background commands still run: it gets the same time again

    def _stop_timer(self, session_key: str) -> None:
        handle = self._timers.pop(session_key, None)
        if handle is not None:
            handle.cancel()
