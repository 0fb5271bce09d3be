"""The way in for messages: cleaned, decided, written; only then does the person see that it was taken."""

from typing import Final

from fairlead.core.conversation import ConversationRef
from fairlead.core.decide.job_ends import WithdrawJob
from fairlead.core.decide.messages import AmendJob, SkipMessage, Submit, prompt_of, quotation_of
from fairlead.core.ids import BlobName, MessageId
from fairlead.core.inbound import Inbound, clean_inbound, clean_text
from fairlead.core.state import Job
from fairlead.flow.ledger import Ledger
from fairlead.ports import Blobs, Receipt

INLINE_TEXT_BYTES: Final = 256 * 1024
"""Longer texts go to a blob: a line of the journal stays something a person can read."""


class MessageIntake:
    def __init__(self, ledger: Ledger, blobs: Blobs) -> None:
        self._ledger = ledger
        self._blobs = blobs

    async def submit(self, inbound: Inbound) -> Receipt:
        self._ledger.check_room()
        inbound = clean_inbound(inbound)
        blob = await self._blob_for(prompt_of(inbound), own_words=inbound.text)
        decision = await self._ledger.record_durably(Submit(inbound, blob))
        job = self._ledger.state.jobs.get(decision.job_id)
        if job is None:
            return Receipt(decision.job_id, duplicate=decision.duplicate)
        queue = self._ledger.state.sessions[job.session_key].queue
        position = queue.index(job.job_id) if job.job_id in queue else 0
        return Receipt(job.job_id, job.session_key, position, decision.duplicate)

    async def skip(self, inbound: Inbound, reason: str) -> None:
        self._ledger.check_room()
        await self._ledger.record_durably(SkipMessage(inbound, reason))

    async def amend(self, conversation: ConversationRef, message_id: str, text: str) -> bool:
        """An edited message changes its job while that is still queued."""
        job = self._queued_job(conversation, message_id)
        if job is None:
            return False
        text = clean_text(text)
        prompt = quotation_of(job) + text
        if prompt == await self._prompt_of(job):
            return False  # link previews are edits too, and no reason to speak of a full disk
        self._ledger.check_room()
        # Once beside a blob, a quotation stays there: in a line nothing would tell any more where it ends.
        blob = await self._blob_for(prompt, own_words=text, always=bool(job.prompt_blob and job.prompt))
        decision = await self._ledger.record_durably(AmendJob(job.job_id, text, blob))
        return bool(decision.events)

    async def withdraw(self, conversation: ConversationRef, message_id: str) -> bool:
        """A deleted message takes its job back while that is still queued."""
        job = self._queued_job(conversation, message_id)
        if job is None:
            return False
        command = WithdrawJob(job.job_id, "message deleted")
        if self._ledger.is_stalled:
            # There is no message left to refuse it under, and nobody waits for an answer. Should the power go before
            # there is room, the next start reads the message again and finds it gone.
            return bool(self._ledger.apply_now(command).events)
        return bool((await self._ledger.record_durably(command)).events)

    def _queued_job(self, conversation: ConversationRef, message_id: str) -> Job | None:
        job = self._ledger.state.job_of(conversation, MessageId(message_id))
        return job if job is not None and job.state == "queued" else None

    async def _prompt_of(self, job: Job) -> str:
        return (await self._blobs.get(job.prompt_blob)).decode() if job.prompt_blob else job.prompt

    async def _blob_for(self, prompt: str, *, own_words: str, always: bool = False) -> BlobName:
        """Only the person's own words count against the limit, as they do where it is decided: what will be refused
        there is not kept here, and what will be taken never stands in a line of any length."""
        data = prompt.encode()
        is_refused = len(own_words.encode()) > self._ledger.limits.max_message_bytes
        is_long = len(data) > INLINE_TEXT_BYTES
        return await self._blobs.put(data) if (is_long or always) and not is_refused else BlobName("")
