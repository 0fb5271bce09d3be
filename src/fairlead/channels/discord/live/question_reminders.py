"""Reminds the owner, by a direct message with a link, of a question that is still open after a while. The outbox sends
the reminder; when the question is settled, the reminder goes."""

import asyncio
import time
from typing import Any, Final

import msgspec

from fairlead.channels.discord.inbound.conversations import CHANNEL, DiscordConversations, guild_of, link_to
from fairlead.channels.discord.live.button_clicks import ButtonClicks
from fairlead.channels.discord.outbound.rest import DELIVERY_ERRORS, RestCalls
from fairlead.channels.push.rate_limit import Urgency
from fairlead.core import timestamps
from fairlead.core.conversation import ConversationRef
from fairlead.core.keys import parse_session_key
from fairlead.core.views import QuestionView
from fairlead.errors import FairleadError
from fairlead.kit.tasks import TaskOwner
from fairlead.observe import log, log_failure
from fairlead.ports import Gate, View

NEVER: Final = 0.0


class _Sent(msgspec.Struct, frozen=True):
    channel_id: int
    message_id: int


class QuestionReminders:
    """`after_sec` is how long a question may be open; NEVER turns reminders off."""

    def __init__(
        self,
        gate: Gate,
        view: View,
        *,
        rest: RestCalls,
        conversations: DiscordConversations,
        button_clicks: ButtonClicks,
        owner_id: str,
        after_sec: float,
        tasks: TaskOwner,
    ) -> None:
        self._gate = gate
        self._view = view
        self._rest = rest
        self._conversations = conversations
        self._button_clicks = button_clicks
        self._owner_id = owner_id
        self._after_sec = after_sec if owner_id.isdecimal() else NEVER
        self._tasks = tasks
        self._waiting: dict[str, asyncio.Task[None]] = {}
        self._sent: dict[str, _Sent] = {}

    def restore(self) -> None:
        """Questions that an earlier process asked and that still take responses."""
        for question in self._view.open_questions():
            self.watch(question)

    def watch(self, question: QuestionView) -> None:
        job = self._view.recent_job(question.job_id)
        is_here = job is not None and job.conversation.channel == CHANNEL
        if self._after_sec == NEVER or not is_here or question.reminded or question.question_id in self._waiting:
            return
        assert job is not None
        task = self._tasks.start(self._remind_later(question, job.conversation), name=f"remind {question.question_id}")
        self._waiting[question.question_id] = task
        task.add_done_callback(lambda _: self._waiting.pop(question.question_id, None))

    async def _remind_later(self, question: QuestionView, asked_in: ConversationRef) -> None:
        await asyncio.sleep(timestamps.to_epoch(question.asked_at) + self._after_sec - time.time())
        try:
            opened: Any = await self._rest.until_done(
                Urgency.ANSWER, lambda client: client.http.start_private_message(int(self._owner_id))
            )
            there = self._conversations.ref(int(opened["id"]))
            if there.address != asked_in.address:  # in the direct messages themselves the question stands already
                await self._gate.remind(question.question_id, there, self._link(question, asked_in))
        except DELIVERY_ERRORS as failure:
            log.info("the owner was not reminded", question_id=question.question_id, message=repr(failure))
        except FairleadError as refusal:
            log_failure("the owner was not reminded", refusal, question_id=question.question_id)

    def _link(self, question: QuestionView, asked_in: ConversationRef) -> str:
        """To the message itself where this process sent it, else to its conversation, whose newest message it is."""
        bound = self._view.conversation(asked_in)
        guild_id = guild_of(parse_session_key(question.session_key if bound is None else bound.session_key))
        return link_to(guild_id, asked_in.conversation_id, self._button_clicks.find_message(question.question_id))

    def note_sent(self, question_id: str, channel_id: int, message_id: int) -> None:
        self._sent[question_id] = _Sent(channel_id, message_id)
        question = self._view.question(question_id)
        if question is None or not question.takes_responses:  # it was settled while the reminder was on its way
            self._tasks.start(self.settle(question_id), name=f"settle {question_id}")

    async def settle(self, question_id: str) -> None:
        waiting = self._waiting.get(question_id)
        if waiting is not None:
            waiting.cancel()
        sent = self._sent.pop(question_id, None)
        if sent is None:
            return
        try:
            await self._rest.until_done(
                Urgency.STATUS,
                lambda client: client.http.delete_message(sent.channel_id, sent.message_id, reason=None),
            )
        except DELIVERY_ERRORS as failure:
            log.info("a reminder stayed", question_id=question_id, message=repr(failure))
