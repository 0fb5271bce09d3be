"""Status messages that the process before this one left behind, though their jobs are over, and its notes about the
queue: they are deleted."""

from typing import Final

import discord

from fairlead.channels.discord.inbound.conversations import CHANNEL
from fairlead.channels.discord.outbound.rest import DELIVERY_ERRORS, RestCalls
from fairlead.channels.push.job_status import FIRST_AFTER_SEC
from fairlead.channels.push.rate_limit import Urgency
from fairlead.core import timestamps
from fairlead.core.views import JobView
from fairlead.observe import log
from fairlead.ports import View

ENDED_LATELY_SEC: Final = 60.0
_HISTORY_LIMIT: Final = 50


class LeftOverStatuses:
    def __init__(self, view: View, rest: RestCalls) -> None:
        self._view = view
        self._rest = rest
        self._jobs: dict[int, set[str]] = {}

    def note(self) -> None:
        """Note the jobs that ended with the process before this one, before any job of this process starts."""
        owed = [job for job in self._view.unsettled_jobs(CHANNEL) if job.answer_owed or job.state == "queued"]
        ended = [job for job in self._view.jobs_ended_last(CHANNEL, within_sec=ENDED_LATELY_SEC) if _had_status(job)]
        for job in (*owed, *ended):
            if job.conversation.conversation_id.isdecimal():
                self._jobs.setdefault(int(job.conversation.conversation_id), set()).add(job.job_id)

    async def close_all(self) -> None:
        """Delete each of them. A call that is cancelled leaves the rest to the next one."""
        while self._jobs:
            channel_id = next(iter(self._jobs))
            await self._close(channel_id, self._jobs[channel_id])
            del self._jobs[channel_id]

    async def _close(self, channel_id: int, jobs: set[str]) -> None:
        """The messages are found by the job's id, which every one of them bears."""
        small_lines = {f"-# {job_id}" for job_id in jobs}

        async def find_and_delete(client: discord.Client) -> None:
            own = client.user.id if client.user is not None else 0
            async for message in client.get_partial_messageable(channel_id).history(limit=_HISTORY_LIMIT):
                if message.author.id == own and small_lines & set(message.content.splitlines()):
                    await client.http.delete_message(channel_id, message.id, reason=None)

        try:
            await self._rest.until_done(Urgency.FINAL_STATUS, find_and_delete)
        except DELIVERY_ERRORS as failure:
            log.info("an old status stayed", conversation=str(channel_id), message=repr(failure))


def _duration(job: JobView) -> float:
    if not (job.started_at and job.finished_at):
        return 0.0
    return timestamps.seconds_between(job.started_at, job.finished_at)


def _had_status(job: JobView) -> bool:
    """The job ran long enough for a status message. Its answer may have been delivered before that message
    was deleted, and the process may have ended between the two."""
    return bool(job.started_at and job.finished_at) and _duration(job) >= FIRST_AFTER_SEC
