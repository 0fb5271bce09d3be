"""Long-lived agent processes: one for each session while there is room; the longest unused idle one goes first.

Knows no agent by name: the caller says which process fits a turn and how another one is started.
"""

import asyncio
import itertools
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar, cast
from weakref import WeakValueDictionary

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

PoolKey = tuple[int, str]
"""The share of a runtime and the key of one of its sessions."""


class ProcessPool:
    """The processes of all runtimes: the limit is for the machine, not for an agent."""

    def __init__(
        self, *, most: int, idle_sec: float, has_room_to_keep: Callable[[int], bool] = lambda _agents: False
    ) -> None:
        """`most` may always be kept; `has_room_to_keep` says whether so many more are welcome just now."""
        self._most = most
        self._has_room_to_keep = has_room_to_keep
        self._idle_sec = idle_sec
        # In the order of their last use: the first was not needed for the longest time.
        self._processes: dict[PoolKey, PooledProcess] = {}
        self._timers: dict[PoolKey, asyncio.TimerHandle] = {}
        self._coming = 0
        self._ending = OwnedTasks("pool")
        self._ending_by_key: dict[PoolKey, asyncio.Task[None]] = {}
        self._locks: WeakValueDictionary[PoolKey, asyncio.Lock] = WeakValueDictionary()
        self._shares = itertools.count(1)

    def number_share(self) -> int:
        """A share of its own for every runtime, also for two of the same name: one may replace the other."""
        return next(self._shares)

    def __len__(self) -> int:
        return len(self._processes)

    def get(self, key: PoolKey) -> PooledProcess | None:
        return self._processes.get(key)

    async def take(
        self, key: PoolKey, *, fits: Callable[[PooledProcess], bool], start: Callable[[OnRest], PooledProcess]
    ) -> PooledProcess | None:
        """A session waits for the end of its own earlier process, and of the one that makes room for it; no session
        waits for what others wait for."""
        async with self._locks.setdefault(key, asyncio.Lock()):
            await self._until_ended(key)
            process = self._processes.pop(key, None)
            self._stop_timer(key)
            if process is None or process.is_dead or not fits(process):
                process = await self._replace(key, process, start)
            if process is not None:
                self._processes[key] = process
            return process

    async def _replace(
        self, key: PoolKey, unfit: PooledProcess | None, start: Callable[[OnRest], PooledProcess]
    ) -> PooledProcess | None:
        self._coming += 1
        try:
            if unfit is not None:
                await self._end(key, unfit)
            elif not await self._make_room():
                return None
            return self._start(key, start)
        finally:
            self._coming -= 1

    async def _end(self, key: PoolKey, process: PooledProcess) -> None:
        ending = self._begin_end(key, process)
        await asyncio.wait({ending})
        ending.result()

    def _begin_end(self, key: PoolKey, process: PooledProcess) -> "asyncio.Task[None]":
        """From now on no turn gets this process."""
        self._ending_by_key[key] = ending = self._ending.start(process.end(), name=key[1])
        ending.add_done_callback(lambda _: self._ending_by_key.pop(key, None))
        return ending

    async def _until_ended(self, key: PoolKey) -> None:
        """A process of this session may still be ending, because its idle time was over or another session needed its
        place: two must not write the same files."""
        ending = self._ending_by_key.get(key)
        if ending is not None:
            await asyncio.wait({ending})

    def rename(self, key: PoolKey, new_key: PoolKey) -> None:
        process = self._processes.get(key)
        if process is None or new_key in self._processes:
            return
        self._stop_timer(key)
        del self._processes[key]
        self._processes[new_key] = process
        self._look_at(new_key, process)

    async def end_all_of(self, share: int) -> None:
        for key in [key for key in self._processes if key[0] == share]:
            self._stop_timer(key)
            self._ending.start(self._processes.pop(key).end(), name=key[1])
        await self._ending.join()

    def _start(self, key: PoolKey, start: Callable[[OnRest], PooledProcess]) -> PooledProcess:
        def on_rest() -> None:
            self._look_at(self._key_of(process, key), process)

        process = start(on_rest)
        return process

    def _key_of(self, process: PooledProcess, first_key: PoolKey) -> PoolKey:
        """The key under which the process stands now: it may have been renamed."""
        if self._processes.get(first_key) is process:
            return first_key
        return next((key for key, one in self._processes.items() if one is process), first_key)

    async def _make_room(self) -> bool:
        """For one that is already counted as coming. False if all are busy."""
        too_many = self._count_too_many()
        if not too_many:
            return True
        idle = [(key, process) for key, process in self._processes.items() if process.is_idle]
        ends = [self._let_go(key, process) for key, process in idle[:too_many]]
        if not ends:
            return False
        await asyncio.wait({ends[0]})
        ends[0].result()
        return True

    def _count_too_many(self) -> int:
        wanted = kept = len(self._processes) + self._coming
        while kept > self._most and not self._has_room_to_keep(kept):
            kept -= 1
        return wanted - kept

    def _let_go(self, key: PoolKey, process: PooledProcess) -> "asyncio.Task[None]":
        self._stop_timer(key)
        del self._processes[key]
        return self._begin_end(key, process)

    def _look_at(self, key: PoolKey, process: PooledProcess) -> None:
        self._stop_timer(key)
        if self._processes.get(key) is not process:
            return
        if process.is_dead:
            del self._processes[key]
        elif not process.is_in_turn:
            loop = asyncio.get_running_loop()
            self._timers[key] = loop.call_later(self._idle_sec, self._end_if_idle, key, process)

    def _end_if_idle(self, key: PoolKey, process: PooledProcess) -> None:
        if process.is_idle:
            self._let_go(key, process)
        else:
            self._look_at(key, process)  # its background commands still run: it gets the same time again

    def _stop_timer(self, key: PoolKey) -> None:
        handle = self._timers.pop(key, None)
        if handle is not None:
            handle.cancel()


class PoolShare(Generic[P]):
    """The processes of one runtime, by session; the other runtimes' are out of its reach."""

    def __init__(self, pool: ProcessPool) -> None:
        self._pool = pool
        self._number = pool.number_share()

    def get(self, session_key: str) -> P | None:
        return cast("P | None", self._pool.get((self._number, session_key)))

    async def take(self, session_key: str, *, fits: Callable[[P], bool], start: Callable[[OnRest], P]) -> P | None:
        """The session's process, a new one if it has none that fits; None if all are busy with other sessions."""
        taken = await self._pool.take(
            (self._number, session_key), fits=lambda process: fits(cast("P", process)), start=start
        )
        return cast("P | None", taken)

    def rename(self, session_key: str, new_key: str) -> None:
        """The process belongs to another session from now on, unless that one has a process already."""
        self._pool.rename((self._number, session_key), (self._number, new_key))

    async def aclose(self) -> None:
        """Returns when none of this runtime's processes is left."""
        await self._pool.end_all_of(self._number)
