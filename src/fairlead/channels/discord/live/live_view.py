"""Watches the jobs and shows on Discord what happens: status, typing, marks, settled questions. Changes no job."""

import asyncio
from contextlib import suppress
from typing import Final

from fairlead.channels.discord.inbound.conversations import CHANNEL
from fairlead.channels.discord.inbound.inbound_message import discord_message_id
from fairlead.channels.discord.live.button_clicks import ButtonClicks
from fairlead.channels.discord.live.question_reminders import QuestionReminders
from fairlead.channels.discord.live.queue_notes import QueueNotes
from fairlead.channels.discord.live.status_message import StatusMessage
from fairlead.channels.discord.live.thread_titles import ThreadTitles
from fairlead.channels.discord.outbound.message_marks import MessageAddress
from fairlead.channels.discord.outbound.remarks import Remarks
from fairlead.channels.discord.outbound.rest import RestCalls
from fairlead.channels.discord.outbound.sent_nonces import SentNonces
from fairlead.channels.push.job_marks import JobMarks
from fairlead.channels.push.job_status import JobStatus, edit_interval
from fairlead.core.conversation import ConversationRef
from fairlead.core.engine import TitleFound
from fairlead.core.live import (
    AgentActed,
    AgentSent,
    AnswerSettled,
    JobMoved,
    LiveEvent,
    QuestionOpened,
    QuestionSettled,
    RecordChanged,
    RuleApplied,
    SteeringTold,
)
from fairlead.core.views import JobView
from fairlead.kit.tasks import TaskOwner
from fairlead.ports import View
from fairlead.render.safe_text import quote_inline
from fairlead.render.steering import describe_reason
from fairlead.settings import Settings

POST_WAIT_SEC: Final = 3.0


class DiscordLiveView:
    def __init__(
        self,
        view: View,
        *,
        rest: RestCalls,
        sent_nonces: SentNonces,
        button_clicks: ButtonClicks,
        marks: JobMarks,
        queue_notes: QueueNotes,
        titles: ThreadTitles,
        reminders: QuestionReminders,
        remarks: Remarks,
        settings: Settings,
        owner: TaskOwner,
    ) -> None:
        self._view = view
        self._rest = rest
        self._sent_nonces = sent_nonces
        self._button_clicks = button_clicks
        self._marks = marks
        self._queue_notes = queue_notes
        self._titles = titles
        self._reminders = reminders
        self._remarks = remarks
        self._least_interval_sec = settings.status_edit_min_interval_ms / 1000
        self._tool_aware = settings.tool_aware_streaming
        self._owner = owner
        self._statuses: dict[str, JobStatus] = {}
        self._messages: dict[str, StatusMessage] = {}

    async def run(self) -> None:
        """For ever."""
        watch = self._view.watch()
        try:
            async for event in watch:
                self._show(event)
        finally:
            await watch.aclose()

    def _show(self, event: LiveEvent) -> None:
        self._marks.follow(event)
        match event:
            case JobMoved():
                job = self._view.recent_job(event.job_id)
                if job is not None and _is_on_discord(job.conversation):
                    self._update_status(job, event)
                    self._queue_notes.look_at(job)
                    self._titles.look_at(job, event.state)
            case AgentActed():
                status = self._statuses.get(event.job_id)
                if status is not None:
                    status.add_event(event.event)
                if isinstance(event.event, TitleFound):
                    self._titles.take_title(event.session_key, event.event.title)
            case RuleApplied():
                status = self._statuses.get(event.job_id)
                if status is not None:
                    status.allow_by_rule(event)
            case QuestionSettled():
                question_id = event.question.question_id
                self._owner.start(self._button_clicks.close(event.question), name=question_id)
                self._owner.start(self._reminders.settle(question_id), name=f"settle {question_id}")
            case QuestionOpened():
                self._reminders.watch(event.question)  # the outbox brings the question itself
            case SteeringTold():
                self._tell_that_it_waits(event)
            case AnswerSettled() | AgentSent() | RecordChanged():
                pass  # marks show the first, the outbox brings the second, and the third is for pages

    def _tell_that_it_waits(self, event: SteeringTold) -> None:
        """A text that was meant for the turn that runs, and is not in it. Where no turn ran, it has one of its own."""
        job = self._view.recent_job(event.job_id)
        message_id = None if job is None else discord_message_id(job)
        if job is None or message_id is None or event.reason == "no_turn" or not _is_on_discord(job.conversation):
            return
        address = MessageAddress(int(job.conversation.conversation_id), message_id)
        reason = describe_reason(event.reason, self._view.language_of(job.person), quote_inline(event.detail, 200))
        self._remarks.tell(address, job.person, "status.steer.waits", reason=reason)

    def _update_status(self, job: JobView, event: JobMoved) -> None:
        status = self._statuses.get(job.job_id)
        if status is not None:
            status.set_state(event.state, event.machine_away_since)
        elif event.state == "running":
            status = self._statuses[job.job_id] = self._make_status(job)
            self._owner.start(self._show_until_end(job.job_id, status), name=job.job_id)

    async def until_posted(self, job_id: str) -> None:
        """Before a question of this job is sent: a status that is being posted comes first. Not waited for long."""
        message = self._messages.get(job_id)
        if message is not None:
            with suppress(TimeoutError):
                async with asyncio.timeout(POST_WAIT_SEC):
                    await message.until_posted()

    def _make_status(self, job: JobView) -> JobStatus:
        lang = self._view.language_of(job.person)
        message = self._messages[job.job_id] = StatusMessage(
            job,
            self._rest,
            self._sent_nonces,
            lang=lang,
            is_asking=lambda: bool(self._view.open_questions(job_id=job.job_id)),
        )
        return JobStatus(
            job,
            message,
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
            del self._messages[job_id]


def _is_on_discord(conversation: ConversationRef) -> bool:
    return conversation.channel == CHANNEL and conversation.conversation_id.isdecimal()
