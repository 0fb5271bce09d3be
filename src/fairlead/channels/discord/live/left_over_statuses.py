"""Status messages that the process before this one left behind: they may still say that their jobs run."""

from typing import Final

import discord

from fairlead.channels.discord.inbound.places import CHANNEL
from fairlead.channels.discord.live.status_text import status_text
from fairlead.channels.discord.outbound.rest import DELIVERY_ERRORS, RestCalls
from fairlead.channels.push.job_status import FIRST_AFTER_SEC, StatusContent
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
        self._jobs: list[JobView] = []

    def note(self) -> None:
        """Note the jobs that ended with the process before this one, before any job of this process starts."""
        owed = [job for job in self._view.unsettled_jobs(CHANNEL) if job.answer_owed]
        ended = [job for job in self._view.jobs_ended_last(CHANNEL, within_sec=ENDED_LATELY_SEC) if _had_status(job)]
        by_id = {job.job_id: job for job in (*owed, *ended) if job.conversation.conversation_id.isdecimal()}
        self._jobs = list(by_id.values())

    async def close_all(self) -> None:
        """Make up for the last edit of each. A call that is cancelled leaves the rest to the next one."""
        while self._jobs:
            await self._close(self._jobs[-1])
            self._jobs.pop()

    async def _close(self, job: JobView) -> None:
        """The message is found by the job's id, which every status message bears."""
        channel_id = int(job.conversation.conversation_id)
        text = status_text(StatusContent(job.job_id, job.state), _duration(job), self._view.language_of(job.person))

        async def find_and_edit(client: discord.Client) -> None:
            own = client.user.id if client.user is not None else 0
            async for message in client.get_partial_messageable(channel_id).history(limit=_HISTORY_LIMIT):
                if message.author.id == own and f"-# {job.job_id}" in message.content.splitlines():
                    if message.content[:1] != text[:1]:
                        await message.edit(content=text)
                    return

        try:
            await self._rest.until_done(Urgency.FINAL_STATUS, find_and_edit)
        except DELIVERY_ERRORS as failure:
            log.info("an old status stayed", job_id=job.job_id, message=repr(failure))


def _duration(job: JobView) -> float:
    if not (job.started_at and job.finished_at):
        return 0.0
    return timestamps.seconds_between(job.started_at, job.finished_at)


def _had_status(job: JobView) -> bool:
    """The job ran long enough for a status message. Its answer may have been delivered before that message's last
    edit, and the process may have ended between the two."""
    return bool(job.started_at and job.finished_at) and _duration(job) >= FIRST_AFTER_SEC
