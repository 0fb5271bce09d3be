"""Owned tasks: nothing runs without somebody who awaits its end. Knows nothing of what the tasks do."""

import asyncio
from collections.abc import Callable, Coroutine, Generator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self, TypeVar, cast

T = TypeVar("T")


class TaskOwner:
    """`async with TaskOwner("delivery") as owner: owner.start(work(), name="worker")`.

    Leaving the block waits for all tasks, as asyncio.TaskGroup does; `cancel()` asks them all to end.
    A task that dies of an exception cancels the others and ends the block with that exception itself (a
    group only if they died of different things). With `on_crash`, it is reported there and the others go on.
    """

    def __init__(self, name: str, *, on_crash: Callable[[str, Exception], None] | None = None) -> None:
        self.name = name
        self._on_crash = on_crash
        self._group = asyncio.TaskGroup()
        self._tasks: set[asyncio.Task[Any]] = set()
        self.is_closed = False
        """No further task can be started: one died and ends all others, or the block of a `TaskScope` is over."""

    def start(self, work: Coroutine[Any, Any, T], *, name: str) -> asyncio.Task[T | None]:
        """The task gives None instead of a result if it crashed and `on_crash` took the report."""
        full_name = f"{self.name}/{name}"
        guard = self._guard(work, full_name)
        try:
            task = self._group.create_task(guard, name=full_name)
        except RuntimeError:
            guard.close()
            work.close()
            raise
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        # A task cancelled before its first step never entered the guard, which then cannot close the work.
        task.add_done_callback(lambda _: work.close())
        return task

    def cancel(self) -> None:
        for task in tuple(self._tasks):
            task.cancel(f"{self.name} ends")

    async def __aenter__(self) -> Self:
        await self._group.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            await self._group.__aexit__(kind, error, trace)
        except BaseExceptionGroup as group:
            only, *others = _find_distinct(group)
            if others:
                raise
            raise only from only.__cause__

    async def _guard(self, work: Coroutine[Any, Any, T], full_name: str) -> T | None:
        try:
            return await work
        except Exception as crash:  # any crash goes to `on_crash`, or through the group to the owner
            if self._on_crash is None:
                self.is_closed = True
                raise
            self._on_crash(full_name, crash)
            return None


class TaskScope(TaskOwner):
    """Leaving the block ends the tasks instead of waiting until they are done."""

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.is_closed = True
        self.cancel()
        await super().__aexit__(kind, error, trace)


class OwnedTasks:
    """The tasks of an object that outlives any block: the object starts them, and its own end awaits theirs (`join`).

    `async with OwnedTasks("chat") as tasks:` cancels and awaits what is left when the block ends. A fault stays with
    its task: the one who awaits the task gets it, and asyncio reports a fault that nobody took.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._tasks: set[asyncio.Task[Any]] = set()

    def start(self, work: Coroutine[Any, Any, T], *, name: str) -> asyncio.Task[T]:
        task = asyncio.create_task(work, name=f"{self.name}/{name}")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def join(self) -> None:
        """Returns when none of the tasks runs any more. The calling task, if it is one of them, is left out."""
        me = asyncio.current_task()
        while running := {task for task in self._tasks if task is not me and not task.done()}:
            await asyncio.wait(running)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in tuple(self._tasks):
            task.cancel(f"{self.name} ends")
        if self._tasks:
            await run_to_end(self.join())  # a cancelled owner still waits: nothing of it may run on


def _find_distinct(group: BaseExceptionGroup[BaseException]) -> list[BaseException]:
    """The different faults: one fault that many tasks waited for counts once."""
    found: dict[int, BaseException] = {}
    for fault in group.exceptions:
        if isinstance(fault, BaseExceptionGroup):
            found.update({id(one): one for one in _find_distinct(cast("BaseExceptionGroup[BaseException]", fault))})
        else:
            found[id(fault)] = fault
    return list(found.values())


async def run_to_end(work: Coroutine[Any, Any, T] | asyncio.Task[T]) -> T:
    """Finish `work` even if the caller is cancelled meanwhile, however often; then re-raise the cancellation.

    asyncio.shield alone returns at the first cancellation, and the work goes on without an owner.
    """
    task = asyncio.ensure_future(work)
    cancellation: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as error:
            cancellation = error
    if cancellation is None:
        return task.result()
    fault = None if task.cancelled() else task.exception()
    raise cancellation from fault


def result_without_waiting(work: Coroutine[Any, Any, T]) -> T | None:
    """The result of `work` if it comes to its end without waiting for anything; otherwise it is closed, and the caller
    begins again where it can wait."""
    try:
        work.send(None)
    except StopIteration as end:
        return cast("T", end.value)
    work.close()
    return None


class PausableTimeout:
    """`async with PausableTimeout(30) as timer:` raises TimeoutError after 30 s that were not paused.

    Time is `loop.time()`, so a loop with a virtual clock rules it. `seconds=None` never expires.
    """

    def __init__(self, seconds: float | None) -> None:
        self._left = seconds
        self._pauses = 0
        self._entered = False
        self._is_up = False
        self._timeout = asyncio.timeout(None)

    @property
    def is_expired(self) -> bool:
        return self._timeout.expired()

    def remaining(self) -> float | None:
        """Seconds left on the clock, also while it is paused."""
        due = self._timeout.when()
        return self._left if due is None else due - asyncio.get_running_loop().time()

    def expire(self) -> None:
        """The time is up now, or as soon as the block is entered: whatever was left, and also while it is paused."""
        self._schedule(asyncio.get_running_loop().time())
        self._is_up = True

    @contextmanager
    def pause(self) -> Generator[None]:
        """Pause the clock. Pauses may overlap: it runs on when the last one ends."""
        self._pauses += 1
        if self._pauses == 1:
            self._left = self.remaining()
            self._schedule(None)
        try:
            yield
        finally:
            self._pauses -= 1
            if not self._pauses:
                self._run()

    async def __aenter__(self) -> Self:
        await self._timeout.__aenter__()
        self._entered = True
        if self._is_up:
            self._timeout.reschedule(asyncio.get_running_loop().time())
        elif not self._pauses:
            self._run()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._entered = False
        await self._timeout.__aexit__(kind, error, trace)

    def _run(self) -> None:
        if self._left is not None:
            self._schedule(asyncio.get_running_loop().time() + self._left)

    def _schedule(self, due: float | None) -> None:
        # asyncio refuses a due time before the block, after it, and once the time is up.
        if self._entered and not self._is_up and not self.is_expired:
            self._timeout.reschedule(due)
