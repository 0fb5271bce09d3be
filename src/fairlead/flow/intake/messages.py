"""The way in for messages. Each is cleaned, decided and written before the person sees that it was taken."""

from typing import Final

from fairlead.core.conversation import ConversationRef
from fairlead.core.decide.job_ends import WithdrawJob
from fairlead.core.decide.messages import AmendJob, SkipMessage, Submit, prompt_of, quotation_of
from fairlead.core.ids import BlobName, MessageId
from fairlead.core.inbound import Inbound, clean_inbound, clean_text
from fairlead.core.state import Job
from fairlead.core.steering import read_sign, without_sign
from fairlead.flow.awaited_machines import why_held
from fairlead.flow.ledger import Ledger
from fairlead.machine_ports import NO_MACHINES, OtherMachines
from fairlead.ports import Blobs, Receipt

INLINE_TEXT_BYTES: Final = 256 * 1024
"""Longer texts go to a blob, so that a person can still read the lines of the journal."""


class MessageIntake:
    def __init__(self, ledger: Ledger, blobs: Blobs, machines: OtherMachines = NO_MACHINES) -> None:
        self._machines = machines
        self._ledger = ledger
        self._blobs = blobs

    async def submit(self, inbound: Inbound) -> Receipt:
        self._ledger.check_disk_space()
        inbound = read_sign(clean_inbound(inbound))
        blob = await self._blob_for(prompt_of(inbound), own_words=inbound.text)
        decision = await self._ledger.record_durably(Submit(inbound, blob))
        job = self._ledger.state.jobs.get(decision.job_id)
        if job is None:
            return Receipt(decision.job_id, duplicate=decision.duplicate)
        session = self._ledger.state.sessions[job.session_key]
        is_queued = job.job_id in session.queue
        position = session.queue.index(job.job_id) if is_queued else 0
        held = why_held(self._ledger.state, session, self._machines) if is_queued else ""
        return Receipt(
            job_id=job.job_id,
            session_key=job.session_key,
            position=position,
            duplicate=decision.duplicate,
            held=held,
        )

    async def skip(self, inbound: Inbound, reason: str) -> None:
        self._ledger.check_disk_space()
        await self._ledger.record_durably(SkipMessage(inbound, reason))

    async def amend(self, conversation: ConversationRef, message_id: str, text: str) -> bool:
        """An edited message changes its job while that is still queued."""
        job = self._queued_job(conversation, message_id)
        if job is None:
            return False
        text = without_sign(clean_text(text)) if job.cause == "message" else clean_text(text)
        prompt = quotation_of(job) + text
        if prompt == await self._prompt_of(job):
            return False  # a channel may report a link preview as an edit: no reason to tell a person of a full disk
        self._ledger.check_disk_space()
        # A quotation that is kept beside a blob stays there: a line would not tell where the quotation ends.
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
            # The message is gone, so no refusal can be shown under it, and nobody waits for an answer. If the power
            # fails before the disk has space, the next start asks the channel for the message and finds it gone.
            return bool(self._ledger.apply_now(command).events)
        return bool((await self._ledger.record_durably(command)).events)

    def _queued_job(self, conversation: ConversationRef, message_id: str) -> Job | None:
        job = self._ledger.state.job_of(conversation, MessageId(message_id))
        return job if job is not None and job.state == "queued" else None

    async def _prompt_of(self, job: Job) -> str:
        return (await self._blobs.get(job.prompt_blob)).decode() if job.prompt_blob else job.prompt

    async def _blob_for(self, prompt: str, *, own_words: str, always: bool = False) -> BlobName:
        """Only the person's own words count against the limit, as they do in `decide`: a message that `decide` will
        refuse gets no blob, and a message that it will take never makes a line of the journal too long to read."""
        data = prompt.encode()
        is_refused = len(own_words.encode()) > self._ledger.limits.max_message_bytes
        is_long = len(data) > INLINE_TEXT_BYTES
        return await self._blobs.put(data) if (is_long or always) and not is_refused else BlobName("")
