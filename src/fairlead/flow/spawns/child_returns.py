"""Brings the completions of spawned sessions to the sessions whose agents asked, each as an ordinary message.

1. A completion is owed from the batch of its job's end on (`State.returning`), so no crash loses it.
2. Its message has the id `child-JOB`: if a crash comes between the message and the note that it is there, the message
   is a duplicate, and only the note is written.
3. It holds no slot and no process: with one slot, the child runs, then its parent's next turn.
"""

import asyncio
from collections.abc import Callable
from typing import Final

from fairlead.core import message_ids
from fairlead.core.decide.messages import has_foreign_text
from fairlead.core.decide.spawns import FinishReturn
from fairlead.core.inbound import Inbound
from fairlead.core.state import Job, OutboxEntry, Session
from fairlead.errors import Code, FairleadError
from fairlead.flow.intake.messages import MessageIntake
from fairlead.flow.ledger import Ledger
from fairlead.observe import log_failure
from fairlead.ports import Blobs
from fairlead.render.child_results import child_result

RETRY_SEC: Final = 15.0


class ChildReturns:
    """`redact` takes secrets out of what an agent's program printed."""

    def __init__(self, ledger: Ledger, intake: MessageIntake, blobs: Blobs, redact: Callable[[str], str] = str) -> None:
        self._ledger = ledger
        self._intake = intake
        self._blobs = blobs
        self._redact = redact

    async def run(self) -> None:
        """For ever."""
        while True:
            seen = self._ledger.state.seq
            for entry_id in list(self._ledger.state.returning):
                await self._bring(self._ledger.state.outbox[entry_id])
            if self._ledger.state.returning:
                await asyncio.sleep(RETRY_SEC)
            else:
                await self._ledger.until_changed(seen, concerns=lambda: bool(self._ledger.state.returning))

    async def _bring(self, entry: OutboxEntry) -> None:
        state = self._ledger.state
        try:
            message = await self._message(state.jobs[entry.job_id], state.sessions[entry.asker])
            await self._intake.submit(message)
            await self._ledger.record_durably(FinishReturn(entry.entry_id))
        except FairleadError as refusal:
            log_failure("a completion was not taken by the session that asked", refusal, entry_id=entry.entry_id)
            if refusal.code is not Code.E_DISK_FULL:
                await self._ledger.record_durably(FinishReturn(entry.entry_id, refusal.code, refusal.message))

    async def _message(self, job: Job, asker: Session) -> Inbound:
        """On behalf of the person for whom the task was asked, and who was let in then."""
        return Inbound(
            conversation=asker.conversation,
            session_key=asker.key,
            message_id=message_ids.child_id(job.job_id),
            person=job.person,
            text=self._redact(child_result(job, await self._answer(job))),
            cause="child",
            own_session=True,
            pre_authorised=True,
            foreign=has_foreign_text(job),
        )

    async def _answer(self, job: Job) -> str:
        """The whole long answer; if somebody removed its file, the beginning that the state keeps."""
        if not job.answer_blob:
            return job.answer
        try:
            return (await self._blobs.get(job.answer_blob)).decode()
        except FairleadError:
            return job.result_excerpt or ""
