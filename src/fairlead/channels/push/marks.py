"""Marks on people's messages (reactions): queued, taken, then done or failed. Knows no service's API.

Marks are wanted state, not owed: the newest wanted mark wins, the marks before it are removed, a mark is set again
after a restart, and the outbox knows nothing of them.
"""

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Iterable
from typing import Final, Generic, TypeVar

from fairlead.channels.push.rate_limit import AGENT_FIRST_SEC
from fairlead.core.job_states import JobState
from fairlead.kit.tasks import TaskOwner
from fairlead.observe import log
from fairlead.ports import DeliveryImpossible

Message = TypeVar("Message", bound=Hashable)

QUEUED: Final = "🕓"
TAKEN: Final = "👀"
DONE: Final = "✅"
FAILED: Final = "❌"
STEERED: Final = "↪️"
PASSING: Final = (QUEUED, TAKEN)
"""The marks of a job that is not over."""

MARK_OF_STATE: Final[dict[JobState, str]] = {
    "queued": QUEUED,
    "running": TAKEN,
    "waiting": TAKEN,
    "success": DONE,
    "failed": FAILED,
    "cancelled": FAILED,
    "unknown_after_crash": FAILED,
    "steering": TAKEN,
    "steered": STEERED,
}
"""A withdrawn job has none: its message is gone."""

_REMEMBERED: Final = 2000


class WantedMarks(Generic[Message]):
    """`set_mark` and `clear_mark` return when the mark stands or is gone, however long that takes; DeliveryImpossible
    says that it never can be."""

    def __init__(
        self,
        set_mark: Callable[[Message, str], Awaitable[None]],
        clear_mark: Callable[[Message, str], Awaitable[None]],
        owner: TaskOwner,
    ) -> None:
        self._set_mark = set_mark
        self._clear_mark = clear_mark
        self._owner = owner
        self._wanted: dict[Message, str] = {}
        self._first: dict[Message, str] = {}
        self._standing: dict[Message, set[str]] = {}

    def want(self, message: Message, mark: str, *, may_stand: Iterable[str] = ()) -> None:
        """`may_stand` are marks that an earlier process may have left there."""
        self._marks_on(message).update(may_stand)
        if message in self._wanted:
            self._wanted[message] = mark
            if message in self._first and mark in PASSING:
                self._first[message] = mark
            return
        self._wanted[message] = self._first[message] = mark
        self._owner.start(self._set_until_newest(message), name=f"mark {message}")

    async def _set_until_newest(self, message: Message) -> None:
        """A job that has ended meanwhile is marked as taken first: people look for that."""
        try:
            await asyncio.sleep(AGENT_FIRST_SEC)
            shown = self._first.pop(message)
            await self._set(message, shown)
            while (due := self._wanted[message]) != shown or self._marks_on(message) - {shown}:
                if due != shown:
                    await self._set(message, due)
                    shown = due
                else:
                    await self._clear(message, min(self._marks_on(message) - {shown}))
        except DeliveryImpossible as refused:
            log.info("a mark was not set", message_id=str(message), message=repr(refused))
        finally:
            del self._wanted[message]
            self._first.pop(message, None)

    async def _set(self, message: Message, mark: str) -> None:
        await self._set_mark(message, mark)
        self._marks_on(message).add(mark)

    async def _clear(self, message: Message, mark: str) -> None:
        self._marks_on(message).discard(mark)
        try:
            await self._clear_mark(message, mark)
        except DeliveryImpossible as refused:
            log.debug("a mark was not there", message_id=str(message), message=repr(refused))

    def _marks_on(self, message: Message) -> set[str]:
        if message not in self._standing and len(self._standing) >= _REMEMBERED:
            del self._standing[next(iter(self._standing))]
        return self._standing.setdefault(message, set())
