"""The clean-up after a turn that has ended: its process leaves while its answer is already on its way. Knows no agent.

A clean-up has an owner: the session's next turn waits for it, because two processes of one session would write the same
files, and so does the end of the runtime. After a crash the sweep at the next start finds what was left.
"""

import asyncio
from collections.abc import AsyncGenerator, Coroutine
from contextlib import AsyncExitStack, aclosing
from typing import Any

from fairlead.core.engine import EngineEvent
from fairlead.kit.tasks import OwnedTasks
from fairlead.observe import log_failure
from fairlead.runtimes.translator import is_end


class CleanUps:
    def __init__(self, runtime: str) -> None:
        self._runtime = runtime
        self._tasks = OwnedTasks(f"clean-up of {runtime}")
        self._by_session: dict[str, asyncio.Task[None]] = {}

    async def until_done(self, session_key: str) -> None:
        """Returns when nothing is left of the session's earlier turns."""
        while (task := self._by_session.get(session_key)) is not None:
            await asyncio.wait({task})

    async def join(self) -> None:
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
                    self._start(session_key, _finish(events, stack))
                    yield event
                    return
                yield event
        finally:
            if not has_ended:
                await _close(events, stack)

    def _start(self, session_key: str, work: Coroutine[Any, Any, None]) -> None:
        task = self._tasks.start(self._guard(session_key, work), name=session_key)
        self._by_session[session_key] = task

        def forget(_: object) -> None:
            if self._by_session.get(session_key) is task:
                del self._by_session[session_key]

        task.add_done_callback(forget)

    async def _guard(self, session_key: str, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except Exception as fault:  # the turn has ended well; what is left of its process is swept at the next start
            log_failure("a turn could not be cleaned up", fault, runtime=self._runtime, session_key=session_key)


async def _finish(events: AsyncGenerator[EngineEvent], stack: AsyncExitStack) -> None:
    async with stack, aclosing(events):
        async for _ in events:
            pass


async def _close(events: AsyncGenerator[EngineEvent], stack: AsyncExitStack) -> None:
    async with stack:
        await events.aclose()
