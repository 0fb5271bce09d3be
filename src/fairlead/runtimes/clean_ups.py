"""The clean-up after a turn that has ended: its process leaves while its answer is already on its way. Knows no agent.

A clean-up has an owner: the session's next turn waits for it, because two processes of one session would write the same
files, and so does the end of the runtime. After a crash the sweep at the next start finds what was left.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, aclosing
from typing import Final

from fairlead.core.engine import EngineEvent
from fairlead.kit.tasks import OwnedTasks
from fairlead.observe import log_failure
from fairlead.runtimes.translator import is_end

ANSWER_FIRST_SEC: Final = 0.1
"""A clean-up looks through all processes of the machine. It begins so much later, unless somebody waits for it: the
answer is written and sent before it, and most processes have left by then."""


class _CleanUp:
    """Begins a moment after the end of its turn, or as soon as somebody waits for it."""

    def __init__(self, start: Callable[[], "asyncio.Task[None]"]) -> None:
        self._start = start
        self._task: asyncio.Task[None] | None = None
        self._timer = asyncio.get_running_loop().call_later(ANSWER_FIRST_SEC, self.begin)

    def begin(self) -> "asyncio.Task[None]":
        if self._task is None:
            self._timer.cancel()
            self._task = self._start()
        return self._task


class CleanUps:
    def __init__(self, runtime: str) -> None:
        self._runtime = runtime
        self._tasks = OwnedTasks(f"clean-up of {runtime}")
        self._by_session: dict[str, _CleanUp] = {}

    def are_left(self, session_key: str) -> bool:
        return session_key in self._by_session

    async def until_done(self, session_key: str) -> None:
        """Returns when nothing is left of the session's earlier turns."""
        while (clean_up := self._by_session.get(session_key)) is not None:
            await asyncio.wait({clean_up.begin()})

    async def join(self) -> None:
        """Also of turns that end meanwhile."""
        while left := [clean_up.begin() for clean_up in self._by_session.values()]:
            await asyncio.wait(left)
        await self._tasks.join()

    async def pass_on(
        self, events: AsyncGenerator[EngineEvent], session_key: str, stack: AsyncExitStack
    ) -> AsyncGenerator[EngineEvent]:
        """The events, up to the end of the turn. What `events` still does behind its last event, and leaving `stack`,
        is the clean-up; where the end is not reached, both are done before this is closed."""
        has_ended = False
        try:
            async for event in events:
                if is_end(event):
                    has_ended = True
                    self._start(session_key, events, stack)
                    yield event
                    return
                yield event
        finally:
            if not has_ended:
                await _close(events, stack)

    def _start(self, session_key: str, events: AsyncGenerator[EngineEvent], stack: AsyncExitStack) -> None:
        def start() -> asyncio.Task[None]:
            task = self._tasks.start(self._clean_up(session_key, events, stack), name=session_key)
            task.add_done_callback(forget)
            return task

        def forget(_: object) -> None:
            if self._by_session.get(session_key) is clean_up:
                del self._by_session[session_key]

        self._by_session[session_key] = clean_up = _CleanUp(start)

    async def _clean_up(self, session_key: str, events: AsyncGenerator[EngineEvent], stack: AsyncExitStack) -> None:
        try:
            await _finish(events, stack)
        except Exception as fault:  # the turn has ended well; what is left of its process is swept at the next start
            log_failure("a turn could not be cleaned up", fault, runtime=self._runtime, session_key=session_key)


async def _finish(events: AsyncGenerator[EngineEvent], stack: AsyncExitStack) -> None:
    async with stack, aclosing(events):
        async for _ in events:
            pass


async def _close(events: AsyncGenerator[EngineEvent], stack: AsyncExitStack) -> None:
    async with stack:
        await events.aclose()
