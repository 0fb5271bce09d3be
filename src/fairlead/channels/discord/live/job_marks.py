"""The mark on the message that a job is about: taken, then done or failed."""

from collections.abc import Iterable

from fairlead.channels.discord.inbound.inbound_message import discord_message_id
from fairlead.channels.discord.inbound.places import CHANNEL
from fairlead.channels.discord.outbound.message_marks import MessageAddress, MessageMarks
from fairlead.channels.push.marks import MARK_OF_STATE
from fairlead.core.job_states import JobState
from fairlead.core.views import JobView


class JobMarks:
    def __init__(self, marks: MessageMarks) -> None:
        self._marks = marks

    def show(self, job: JobView, state: JobState) -> None:
        """The mark that belongs to this state of the job; a job that no Discord message began gets none."""
        mark = MARK_OF_STATE.get(state)
        message_id = discord_message_id(job)
        if mark is None or job.conversation.channel != CHANNEL or message_id is None:
            return
        self._marks.want(MessageAddress(int(job.conversation.conversation_id), message_id), mark)

    def restore(self, jobs: Iterable[JobView]) -> None:
        """After a reconnect or a restart: for live jobs, and for those that ended while Discord was away."""
        for job in jobs:
            self.show(job, job.state)
