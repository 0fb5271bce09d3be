"""Ending jobs that somebody no longer wants: queued ones at once, running ones by asking their turn."""

from collections.abc import Sequence

from fairlead.core.decide.job_ends import CancelQueued
from fairlead.core.ids import JobId
from fairlead.core.replies import JobsCancelled
from fairlead.errors import FairleadError
from fairlead.flow.ledger import Ledger
from fairlead.flow.turns.scheduler import Scheduler


async def cancel_jobs(
    ledger: Ledger, scheduler: Scheduler, job_ids: Sequence[JobId], person: str, reason: str = ""
) -> JobsCancelled:
    stopping: list[JobId] = []
    cancelled: list[JobId] = []
    for job_id in job_ids:
        if scheduler.cancel(job_id, person, reason):
            stopping.append(job_id)
            continue
        if ledger.is_stalled:
            continue  # the cancellation could not be written, and after a restart the job would run after all
        try:
            await ledger.record_durably(CancelQueued(job_id, person, reason))
        except FairleadError:
            continue  # the job has ended meanwhile
        cancelled.append(job_id)
    if not stopping and not cancelled:
        ledger.check_disk_space()
    return JobsCancelled(tuple(stopping), tuple(cancelled))
