"""Jobs that an earlier process left queued: none of them starts before its message was looked at once more.

Reads no message: the channel does, and tells the gate of an edit or a deletion as it would of a live one.
"""

import asyncio
from collections.abc import Mapping
from typing import Final

from fairlead.core.ids import JobId
from fairlead.core.read_models import job_view
from fairlead.flow.ledger import Ledger
from fairlead.observe import log, log_failure
from fairlead.ports import MessageRechecker

PATIENCE_SEC: Final = 10.0
"""A start holds a queued job back at most so long. After that the job runs with the words it has: a channel that is
away for longer reports edits when it catches up."""


class QueuedRecheck:
    def __init__(self, ledger: Ledger, recheckers: Mapping[str, MessageRechecker]) -> None:
        self._ledger = ledger
        self._recheckers = recheckers
        self.held: set[JobId] = set()
        self.held_queues: list[list[JobId]] = []

    def hold(self) -> None:
        """Once, in a start: every job that is queued then was left by an earlier process, and none has started."""
        sessions = self._ledger.state.sessions.values()
        found = [[job_id for job_id in session.queue if self._can_be_rechecked(job_id)] for session in sessions]
        self.held_queues = [queue for queue in found if queue]
        self.held.update(job_id for queue in self.held_queues for job_id in queue)

    def _can_be_rechecked(self, job_id: JobId) -> bool:
        return self._ledger.state.jobs[job_id].conversation.channel in self._recheckers

    async def recheck(self, job_id: JobId) -> None:
        """Afterwards the job says what its message says, or is withdrawn; in any case it is held no longer."""
        job = self._ledger.state.jobs.get(job_id)
        try:
            if job is not None and job.state == "queued":
                async with asyncio.timeout(PATIENCE_SEC):
                    await self._recheckers[job.conversation.channel].recheck(job_view(self._ledger.state, job))
        except TimeoutError:
            log.warning("a queued job goes ahead unread", job_id=job_id, message="its channel is away")
        except Exception as fault:  # a channel that cannot say must not keep a job from running
            log_failure("a queued job goes ahead unread", fault, job_id=job_id)
        finally:
            self.held.discard(job_id)
