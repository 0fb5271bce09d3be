"""The mark on the message that a job is about: queued, taken, then done or failed. Also where no job came of it, and
also when the process ended between the fact and its mark. How a mark is set is the channel's business."""

from collections.abc import Callable
from typing import Final

from fairlead.channels.push.marks import DONE, FAILED, MARK_OF_STATE, PASSING
from fairlead.core.conversation import ConversationRef
from fairlead.core.ids import MessageId
from fairlead.core.job_states import JobState
from fairlead.core.live import AnswerSettled, JobMoved, LiveEvent
from fairlead.core.message_ids import written_message
from fairlead.core.views import JobView, RefusedMessage
from fairlead.ports import View

ENDED_LATELY_SEC: Final = 600.0
LEAST_RESTORED: Final = 20
MOST_RESTORED: Final = 100
"""A mark that stands already costs a call all the same, so a start sets so many again and no more."""
MOST_REFUSED: Final = 10

Marks = tuple[str, ...]
WantMark = Callable[[ConversationRef, MessageId, str, Marks], None]
"""The conversation, the message that somebody wrote there, the mark, and the marks that an earlier process may have
left there. The newest wanted mark wins."""


class JobMarks:
    def __init__(self, channel: str, view: View, want: WantMark) -> None:
        self._channel = channel
        self._view = view
        self._want_mark = want
        self._ended_before: list[JobView] = []
        self._refused_before: list[RefusedMessage] = []

    def note_ends(self) -> None:
        """In a start, before anything is taken: jobs that ended and messages that were refused shortly before this
        process began. The process before it may have ended between the fact and its mark."""
        ended = self._view.jobs_ended_last(self._channel, within_sec=ENDED_LATELY_SEC, at_least=LEAST_RESTORED)
        self._ended_before = ended[-MOST_RESTORED:]
        self._refused_before = self._view.refused_lately(self._channel, most=MOST_REFUSED)

    def follow(self, event: LiveEvent) -> None:
        job = self._view.recent_job(event.job_id)
        if job is None or job.conversation.channel != self._channel:
            return
        if isinstance(event, JobMoved):
            self._show(job, event.state)
        elif isinstance(event, AnswerSettled) and job.state == "success":
            self._want(job, DONE if event.is_delivered else FAILED)

    def refuse(self, conversation: ConversationRef, message_id: MessageId, may_stand: Marks = ()) -> None:
        """No job came of this message."""
        written = written_message(message_id)
        if written is not None:
            self._want_mark(conversation, written, FAILED, may_stand)

    def restore(self) -> None:
        """After a reconnect or a restart: for live jobs, for those that ended while the channel was away, and once for
        those that an earlier process may have left without their mark. What mark that process had set is not known."""
        earlier, self._ended_before = self._ended_before, []
        refused, self._refused_before = self._refused_before, []
        for message in refused:
            self.refuse(message.conversation, message.message_id, PASSING)
        for noted in (*earlier, *self._view.unsettled_jobs(self._channel)):
            job = self._view.recent_job(noted.job_id) or noted
            if job.state == "success" and not job.answer_owed:
                self._want(job, FAILED if job.answer_given_up else DONE, PASSING)
            else:
                self._show(job, "running" if job.state == "success" else job.state, PASSING)

    def _show(self, job: JobView, state: JobState, may_stand: Marks = ()) -> None:
        """The mark that belongs to this state of the job. The mark of success waits for the delivery: it says that the
        person has the answer."""
        mark = MARK_OF_STATE.get(state)
        if mark is not None and mark != DONE:
            self._want(job, mark, may_stand)

    def _want(self, job: JobView, mark: str, may_stand: Marks = ()) -> None:
        """A job that no message began gets no mark."""
        written = written_message(job.message_id)
        if written is not None:
            self._want_mark(job.conversation, written, mark, may_stand)
