"""Marks on people's messages (reactions): taken, then done or failed. Knows no service's API.

Marks are wanted state, not owed: the newest wanted mark wins, a mark is set again after a restart, and the outbox knows
nothing of them.
"""

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import Final, Generic, TypeVar

from fairlead.channels.push.rate_limit import AGENT_FIRST_SEC
from fairlead.core.job_states import JobState
from fairlead.kit.tasks import TaskOwner
from fairlead.observe import log
from fairlead.ports import DeliveryImpossible

Message = TypeVar("Message", bound=Hashable)

TAKEN: Final = "👀"
DONE: Final = "✅"
FAILED: Final = "❌"
MARK_OF_STATE: Final[dict[JobState, str]] = {
    "queued": TAKEN,
    "running": TAKEN,
    "waiting": TAKEN,
    "success": DONE,
    "failed": FAILED,
    "cancelled": FAILED,
    "unknown_after_crash": FAILED,
}
"""A withdrawn job has none: its message is gone."""


class WantedMarks(Generic[Message]):
    """`set_mark` returns when the mark stands, however long that takes; DeliveryImpossible says that it never can."""

    def __init__(self, set_mark: Callable[[Message, str], Awaitable[None]], owner: TaskOwner) -> None:
        self._set_mark = set_mark
        self._owner = owner
        self._wanted: dict[Message, str] = {}

    def want(self, message: Message, mark: str) -> None:
        if self._wanted.get(message) == mark:
            return
        is_being_set = message in self._wanted
        self._wanted[message] = mark
        if not is_being_set:
            self._owner.start(self._set_until_newest(message, mark), name=f"mark {message}")

    async def _set_until_newest(self, message: Message, first: str) -> None:
        """The first mark is set even if the job has ended meanwhile: people look for it."""
        shown, due = "", first
        try:
            await asyncio.sleep(AGENT_FIRST_SEC)
            while due != shown:
                await self._set_mark(message, due)
                shown, due = due, self._wanted[message]
        except DeliveryImpossible as refused:
            log.info("a mark was not set", message_id=str(message), message=repr(refused))
        finally:
            del self._wanted[message]
