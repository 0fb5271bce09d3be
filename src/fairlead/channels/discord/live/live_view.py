"""Watches the jobs and shows on Discord what happens: status, typing, marks, settled questions. Changes nothing."""

import asyncio
from collections.abc import Callable

from fairlead.channels.discord.inbound.places import CHANNEL
from fairlead.channels.discord.live.button_clicks import ButtonClicks
from fairlead.channels.discord.live.marks import Marks
from fairlead.channels.discord.live.status import JobStatus, edit_interval
from fairlead.channels.discord.outbound.rest import RestCalls
from fairlead.channels.discord.outbound.sent_nonces import SentNonces
from fairlead.core.ids import JobId
from fairlead.core.live import AgentActed, JobMoved, LiveEvent, QuestionSettled
from fairlead.core.state import Job
from fairlead.kit.tasks import TaskOwner
from fairlead.observe import log_failure
from fairlead.ports import View


class DiscordLiveView:
    def __init__(
        self,
        view: View,
        rest: RestCalls,
        sent_nonces: SentNonces,
        clicking: ButtonClicks,
        *,
        least_interval_sec: float,
        tool_aware: bool,
    ) -> None:
        self._view = view
        self._rest = rest
        self._sent_nonces = sent_nonces
        self._button_clicks = clicking
        self._least_interval_sec = least_interval_sec
        self._tool_aware = tool_aware
        self._statuses: dict[str, JobStatus] = {}
        self.marks: Marks | None = None

    async def run(self) -> None:
        """For ever. Cancelling it ends every status message's upkeep and every typing."""
        watch = self._view.watch()
        try:
            async with TaskOwner("showing", on_crash=_report) as owner:
                self.marks = Marks(self._rest, owner)
                async for event in watch:
                    self._take(event, self.marks, owner)
        finally:
            await watch.aclose()

    def _take(self, event: LiveEvent, marks: Marks, owner: TaskOwner) -> None:
        job = self._view.state.jobs.get(JobId(event.job_id))
        if isinstance(event, QuestionSettled):
            owner.start(self._button_clicks.settled(event), name=event.question_id)
        if job is None or job.conversation.channel != CHANNEL or not job.conversation.conversation_id.isdecimal():
            return
        match event:
            case JobMoved():
                marks.show(job, event.state)
                self._moved(job, event, owner)
            case AgentActed():
                status = self._statuses.get(job.job_id)
                if status is not None:
                    status.acted(event.event)
            case _:
                pass

    def _moved(self, job: Job, event: JobMoved, owner: TaskOwner) -> None:
        status = self._statuses.get(job.job_id)
        if status is not None:
            status.moved(event.state)
        elif event.state == "running":
            status = self._statuses[job.job_id] = self._new_status(job)
            owner.start(self._keep(job.job_id, status), name=job.job_id)

    def _new_status(self, job: Job) -> JobStatus:
        return JobStatus(
            job,
            self._rest,
            self._sent_nonces,
            lang=self._view.language_of(job.person),
            interval=self._interval(),
            tool_aware=self._tool_aware,
        )

    def _interval(self) -> Callable[[], float]:
        return lambda: edit_interval(len(self._statuses), self._least_interval_sec)

    async def _keep(self, job_id: str, status: JobStatus) -> None:
        try:
            async with TaskOwner(job_id) as owner:
                owner.start(status.show(), name="status")
                owner.start(status.type(), name="typing")
        finally:
            del self._statuses[job_id]


def _report(name: str, fault: Exception) -> None:
    if not isinstance(fault, asyncio.CancelledError):
        log_failure("something was not shown on Discord", fault, what=name)
