"""An event loop whose time is virtual: it jumps to the next timer when nothing is ready, and may stop dead at any step.

No selector, no sockets, no threads: work for an executor is done on the loop itself, a moment later. With the same
program it does the same steps in the same order, always.
"""

import asyncio
import contextvars
import heapq
from asyncio import events as asyncio_events
from collections import deque
from collections.abc import Callable, Coroutine, Generator
from itertools import count
from random import Random
from typing import Any, Final, TypeVar

from fairlead.core import timestamps

T = TypeVar("T")

EPOCH: Final = timestamps.to_epoch("2026-01-05T08:00:00.000Z")
"""The wall time at which every virtual loop begins: a Monday morning."""


class PowerLost(Exception):  # noqa: N818 - what happened, not a mistake
    """The loop stopped dead: nothing ran after the step that was asked for."""


class NothingLeft(Exception):  # noqa: N818 - see above
    """Everything waits and no timer is set: without a call from outside, the loop would wait for ever."""


_PROCESS: Final[contextvars.ContextVar["LoopProcess | None"]] = contextvars.ContextVar("process", default=None)


class LoopProcess:
    """Several processes on one virtual loop: every task that a process starts is its own, and `kill` ends them all. The
    caller has cut the process off from the world first: what its tasks still do as they end, nobody sees."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.random = Random(name)
        """What the tasks of a killed process still take from it changes nothing for the others."""
        self._tasks: dict[asyncio.Task[Any], None] = {}

    @staticmethod
    def current() -> "LoopProcess | None":
        return _PROCESS.get()

    def start(self, main: Coroutine[Any, Any, T]) -> "asyncio.Task[T]":
        context = contextvars.copy_context()
        context.run(_PROCESS.set, self)
        return asyncio.get_running_loop().create_task(main, name=self.name, context=context)

    def own(self, task: asyncio.Task[Any]) -> None:
        self._tasks[task] = None
        task.add_done_callback(lambda done: self._tasks.pop(done, None))

    def kill(self) -> None:
        for task in tuple(self._tasks):
            task.cancel(f"{self.name} was killed")


class VirtualLoop(asyncio.AbstractEventLoop):
    """`run` drives a coroutine to its end, in no real time. `steps` counts callbacks; `crash_at` is the last one."""

    def __init__(self, *, start: float = 0.0) -> None:
        self.steps = 0
        self.crash_at: int | None = None
        self.step_limit = 5_000_000
        self.complaints: list[dict[str, Any]] = []
        self._now = start
        self._ready: deque[asyncio.Handle] = deque()
        self._timers: list[tuple[float, int, asyncio.TimerHandle]] = []
        self._timer_numbers = count()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._closed = False
        self._dead = False
        self._running = False

    # --- running -----------------------------------------------------------------------------------------------

    def run(self, main: Coroutine[Any, Any, T]) -> T:
        """The result of `main`. Raises PowerLost, and lets every task lie where it is, when `crash_at` is reached."""
        task = self.create_task(main)
        self._while_running(task.done)
        return task.result()

    def _while_running(self, is_done: Callable[[], bool]) -> None:
        outer = asyncio_events._get_running_loop()  # noqa: SLF001 - the only way to nest, for tests that have a loop
        asyncio_events._set_running_loop(self)  # noqa: SLF001 - documented for implementers of event loops
        self._running = True
        try:
            while not is_done():
                self._step()
        finally:
            self._running = False
            asyncio_events._set_running_loop(outer)  # noqa: SLF001

    def _step(self) -> None:
        if self.crash_at is not None and self.steps >= self.crash_at:
            raise PowerLost(f"at step {self.steps}")
        if self.steps >= self.step_limit:
            raise NothingLeft(f"{self.steps} steps and still not done: something spins")
        if not self._ready:
            self._jump()
        handle = self._ready.popleft()
        if not handle.cancelled():
            self.steps += 1
            handle._run()  # noqa: SLF001 - it reports what goes wrong to call_exception_handler

    def _jump(self) -> None:
        while self._timers and self._timers[0][2].cancelled():
            heapq.heappop(self._timers)
        if not self._timers:
            raise NothingLeft("every task waits, and no timer is set")
        self._now = max(self._now, self._timers[0][0])
        while self._timers and self._timers[0][0] <= self._now:
            self._ready.append(heapq.heappop(self._timers)[2])

    def close_abruptly(self, *, patience: int = 20_000) -> None:
        """After PowerLost: end what is left so that no destructor speaks later. The caller has cut all of it off from
        the world (disk, channels, agents): whatever it still does, nobody sees."""
        self._dead = True
        self.crash_at = None
        self.step_limit = self.steps + patience
        for task in tuple(self._tasks):
            task.cancel("the power is lost")
        try:
            self._while_running(lambda: not self._tasks)
        except NothingLeft:
            _NEVER_COLLECTED.extend(self._tasks)
        self.close()

    # --- what asyncio asks of a loop ---------------------------------------------------------------------------

    def time(self) -> float:
        return self._now

    def call_soon(
        self, callback: Callable[..., object], *args: Any, context: contextvars.Context | None = None
    ) -> asyncio.Handle:
        handle = asyncio.Handle(callback, args, self, context)
        self._ready.append(handle)
        return handle

    def call_soon_threadsafe(
        self, callback: Callable[..., object], *args: Any, context: contextvars.Context | None = None
    ) -> asyncio.Handle:
        return self.call_soon(callback, *args, context=context)

    def call_later(
        self, delay: float, callback: Callable[..., object], *args: Any, context: contextvars.Context | None = None
    ) -> asyncio.TimerHandle:
        return self.call_at(self._now + delay, callback, *args, context=context)

    def call_at(
        self, when: float, callback: Callable[..., object], *args: Any, context: contextvars.Context | None = None
    ) -> asyncio.TimerHandle:
        timer = asyncio.TimerHandle(when=when, callback=callback, args=args, loop=self, context=context)
        heapq.heappush(self._timers, (when, next(self._timer_numbers), timer))
        return timer

    def create_future(self) -> asyncio.Future[Any]:
        return asyncio.Future(loop=self)

    def create_task(
        self,
        coro: Generator[Any, None, T] | Coroutine[Any, Any, T],
        *,
        name: object = None,
        context: contextvars.Context | None = None,
        **_options: Any,
    ) -> asyncio.Task[T]:
        process = _PROCESS.get() if context is None else context.get(_PROCESS)
        task: asyncio.Task[T] = asyncio.Task(
            coro,  # pyright: ignore[reportArgumentType]
            loop=self,
            name=None if name is None else str(name),
            context=context,
        )
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        if process is not None:
            process.own(task)
        return task

    def run_in_executor(self, executor: Any, func: Callable[..., T], *args: Any) -> asyncio.Future[T]:  # noqa: ARG002
        future: asyncio.Future[T] = self.create_future()
        self.call_soon(self._do, future, func, args)
        return future

    @staticmethod
    def _do(future: asyncio.Future[T], func: Callable[..., T], args: tuple[Any, ...]) -> None:
        try:
            result = func(*args)
        except Exception as fault:  # a thread pool gives any exception to the caller that awaits the work
            if not future.done():
                future.set_exception(fault)
        else:
            if not future.done():
                future.set_result(result)

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        if not self._dead:
            self.complaints.append(context)

    def default_exception_handler(self, context: dict[str, Any]) -> None:
        self.call_exception_handler(context)

    def get_debug(self) -> bool:
        return False

    def set_debug(self, enabled: bool) -> None:
        pass

    def is_running(self) -> bool:
        return self._running

    def is_closed(self) -> bool:
        return self._closed

    def close(self) -> None:
        self._closed = True
        self._ready.clear()
        self._timers.clear()

    async def shutdown_asyncgens(self) -> None:
        """The code that opened an async generator closes it."""

    async def shutdown_default_executor(self, timeout: float | None = None) -> None:  # noqa: ASYNC109
        """There is none."""

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """Cancelled timers are dropped when their time comes."""


_NEVER_COLLECTED: Final[list[asyncio.Task[Any]]] = []
"""Tasks that would not end even when cancelled: kept, so that their destructors do not run into somebody's test."""


class VirtualClock:
    """ports.Clock on a loop's time. `offset` lets the wall clock go wrong while the loop's own time goes on."""

    def __init__(self, loop: asyncio.AbstractEventLoop, *, epoch: float = EPOCH) -> None:
        self._loop = loop
        self.offset = epoch

    def now(self) -> str:
        return timestamps.from_epoch(self.offset + self._loop.time())


def run_virtually(main: Coroutine[Any, Any, T]) -> T:
    """Run `main` on a fresh virtual loop and demand that it leaves nothing behind."""
    loop = VirtualLoop()
    try:
        result = loop.run(main)
    finally:
        loop.close_abruptly()
    assert not loop.complaints, loop.complaints
    return result
