"""Watches the jobs and shows on Discord what happens: status, typing, marks, settled questions. Changes no job."""

from fairlead.channels.discord.inbound.places import CHANNEL
from fairlead.channels.discord.live.button_clicks import ButtonClicks
from fairlead.channels.discord.live.job_marks import JobMarks
from fairlead.channels.discord.live.status_message import StatusMessage
from fairlead.channels.discord.outbound.rest import RestCalls
from fairlead.channels.discord.outbound.sent_nonces import SentNonces
from fairlead.channels.push.job_status import JobStatus, edit_interval
from fairlead.core.conversation import ConversationRef
from fairlead.core.live import AgentActed, JobMoved, LiveEvent, QuestionOpened, QuestionSettled
from fairlead.core.views import JobView
from fairlead.kit.tasks import TaskOwner
from fairlead.ports import View
from fairlead.settings import Settings


class DiscordLiveView:
    def __init__(
        self,
        view: View,
        *,
        rest: RestCalls,
        sent_nonces: SentNonces,
        button_clicks: ButtonClicks,
        marks: JobMarks,
        settings: Settings,
        owner: TaskOwner,
    ) -> None:
        self._view = view
        self._rest = rest
        self._sent_nonces = sent_nonces
        self._button_clicks = button_clicks
        self._marks = marks
        self._least_interval_sec = settings.status_edit_min_interval_ms / 1000
        self._tool_aware = settings.tool_aware_streaming
        self._owner = owner
        self._statuses: dict[str, JobStatus] = {}

    async def run(self) -> None:
        """For ever."""
        watch = self._view.watch()
        try:
            async for event in watch:
                self._show(event)
        finally:
            await watch.aclose()

    def _show(self, event: LiveEvent) -> None:
        match event:
            case JobMoved():
                job = self._view.recent_job(event.job_id)
                if job is not None and _is_on_discord(job.conversation):
                    self._marks.show(job, event.state)
                    self._update_status(job, event)
            case AgentActed():
                status = self._statuses.get(event.job_id)
                if status is not None:
                    status.add_event(event.event)
            case QuestionSettled():
                self._owner.start(self._button_clicks.close(event.question), name=event.question.question_id)
            case QuestionOpened():
                pass  # the outbox brings the question

    def _update_status(self, job: JobView, event: JobMoved) -> None:
        status = self._statuses.get(job.job_id)
        if status is not None:
            status.set_state(event.state)
        elif event.state == "running":
            status = self._statuses[job.job_id] = self._make_status(job)
            self._owner.start(self._show_until_end(job.job_id, status), name=job.job_id)

    def _make_status(self, job: JobView) -> JobStatus:
        lang = self._view.language_of(job.person)
        return JobStatus(
            job,
            StatusMessage(job, self._rest, self._sent_nonces, lang=lang),
            lang=lang,
            interval=lambda: edit_interval(len(self._statuses), self._least_interval_sec),
            tool_aware=self._tool_aware,
        )

    async def _show_until_end(self, job_id: str, status: JobStatus) -> None:
        try:
            async with TaskOwner(job_id) as owner:
                owner.start(status.show(), name="status")
                owner.start(status.type(), name="typing")
        finally:
            del self._statuses[job_id]


def _is_on_discord(conversation: ConversationRef) -> bool:
    return conversation.channel == CHANNEL and conversation.conversation_id.isdecimal()
