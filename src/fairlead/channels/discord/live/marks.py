"""What became of a message, as a reaction on it: taken, then done or failed.

Marks are wanted state and set again after a restart; the outbox knows nothing of them."""

import asyncio
from typing import Final

from fairlead.channels.discord.inbound.places import CHANNEL
from fairlead.channels.discord.outbound.rest import DELIVERY_ERRORS, RestCalls
from fairlead.channels.push.rate_limit import AGENT_FIRST_SEC, Urgency
from fairlead.core.message_ids import written_message
from fairlead.core.state import Job, JobState, State, answer_entry_id
from fairlead.kit.tasks import TaskOwner
from fairlead.observe import log

TAKEN: Final = "👀"
DONE: Final = "✅"
FAILED: Final = "❌"
_MARK: Final[dict[JobState, str]] = {
    "queued": TAKEN,
    "running": TAKEN,
    "waiting": TAKEN,
    "success": DONE,
    "failed": FAILED,
    "cancelled": FAILED,
    "unknown_after_crash": FAILED,
}


class Marks:
    def __init__(self, rest: RestCalls, owner: TaskOwner) -> None:
        self._rest = rest
        self._owner = owner
        self._wanted: dict[tuple[int, int], str] = {}

    def show(self, job: Job, state: JobState) -> None:
        """The mark that belongs to this state of the job; messages of no Discord person get none."""
        mark = _MARK.get(state)
        message_id = written_message(job.message_id)
        if mark is None or job.conversation.channel != CHANNEL or message_id is None:
            return
        if not message_id.isdecimal():
            return
        self.want(int(job.conversation.conversation_id), int(message_id), mark)

    def want(self, channel_id: int, message_id: int, mark: str) -> None:
        key = (channel_id, message_id)
        if self._wanted.get(key) == mark:
            return
        is_working = key in self._wanted
        self._wanted[key] = mark
        if not is_working:
            self._owner.start(self._set(key, mark), name=f"mark {message_id}")

    def restore(self, state: State) -> None:
        """After a reconnect or a restart: what is live, and what ended while nobody could see it."""
        for job in state.jobs.values():
            if job.is_live or answer_entry_id(job.job_id) in state.outbox:
                self.show(job, job.state)

    async def _set(self, key: tuple[int, int], first: str) -> None:
        channel_id, message_id = key
        shown, due = "", first
        try:
            await asyncio.sleep(AGENT_FIRST_SEC)
            while due != shown:
                shown = due
                await self._rest.until_done(
                    Urgency.MARK,
                    lambda client, mark=shown: (
                        client.get_partial_messageable(channel_id).get_partial_message(message_id).add_reaction(mark)
                    ),
                )
                due = self._wanted[key]
        except DELIVERY_ERRORS as condition:
            log.info("a mark was not set", message_id=str(message_id), message=repr(condition))
        finally:
            del self._wanted[key]
