"""Jobs and messages as the journal tells them, also when the state has forgotten them."""

from collections.abc import Sequence
from typing import Final

import msgspec

from fairlead.core import events as e
from fairlead.core.decide.messages import quotation_in, quotation_of
from fairlead.core.fold import apply
from fairlead.core.ids import NO_SESSION, BlobName, JobId, SessionKeyText
from fairlead.core.job_names import find_job_id
from fairlead.core.keys import parse_session_key
from fairlead.core.replies import Step, Story
from fairlead.core.requests import Caller
from fairlead.core.state import Job, Session, State, answer_entry_id
from fairlead.core.visibility import may_see
from fairlead.errors import Code, FairleadError, error
from fairlead.flow.ledger import Ledger
from fairlead.ports import Blobs, History, Recorded

REMEMBERED_PROMPTS: Final = 256
REMEMBERED_LENGTH: Final = 4096
"""A longer prompt is read back from the journal, so that the remembered prompts take a megabyte at most."""


class PastJob(msgspec.Struct, frozen=True):
    """A job with all its texts. `quotation` is the part of the prompt that is not the person's own."""

    job: Job
    prompt: str
    answer: str
    quotation: str = ""


class JobHistory:
    def __init__(self, ledger: Ledger, history: History, blobs: Blobs) -> None:
        self._ledger = ledger
        self._history = history
        self._blobs = blobs
        self._prompts: dict[str, str] = {}

    def note(self, events: Sequence[e.JournalEvent]) -> None:
        """The state drops a prompt when its job ends, and most clients fetch the job right after that: with the prompt
        kept here, nothing has to be read back for them. It is shown to nobody before the end of its job is durable."""
        for event in events:
            self._remember_prompt(event)

    def announce(self, _events: Sequence[e.JournalEvent]) -> None:
        pass  # whoever asks waits for the disk

    def _remember_prompt(self, event: e.JournalEvent) -> None:
        if isinstance(event, e.JobEnqueued | e.JobAmended):
            self._prompts.pop(event.job_id, None)
            if len(event.prompt) <= REMEMBERED_LENGTH:
                self._prompts[event.job_id] = event.prompt
            if len(self._prompts) > REMEMBERED_PROMPTS:
                del self._prompts[next(iter(self._prompts))]

    async def job(self, name: str) -> PastJob:
        """Raises E_JOB_NOT_FOUND for a job that the journal does not know."""
        job_id = find_job_id(self._ledger.state.jobs, name)
        if not job_id.startswith("job_"):
            raise error(Code.E_JOB_NOT_FOUND, f"There is no job {name[:60]!r}.")
        kept = self._ledger.state.jobs.get(job_id)
        if kept is not None and kept.is_live:
            return PastJob(kept, await self._text(kept.prompt, kept.prompt_blob), "", quotation_of(kept))
        if kept is not None and job_id in self._prompts and answer_entry_id(job_id) in self._ledger.state.outbox:
            return await self._from_state(kept, self._prompts[job_id])
        return await self._from_journal(job_id)

    async def _from_state(self, job: Job, prompt: str) -> PastJob:
        """The state has a job's answer as long as it is owed."""
        answer = job.answer
        await self._ledger.until_all_durable()  # nobody is told of an end that a crash could undo
        words, told = await self._text(prompt, job.prompt_blob), await self._text(answer, job.answer_blob)
        return PastJob(job, words, told, quotation_in(prompt, job))

    async def _from_journal(self, job_id: JobId) -> PastJob:
        recorded = [r for r in await self._history.lines_about([job_id]) if _is_about(r.event, job_id)]
        told = _fold_job(recorded, job_id)
        if told is None:
            raise error(Code.E_JOB_NOT_FOUND, f"There is no job {job_id!r}.")
        prompts = [r.event.prompt for r in recorded if isinstance(r.event, e.JobEnqueued | e.JobAmended)]
        prompt = prompts[-1] if prompts else ""
        return PastJob(
            self._ledger.state.jobs.get(job_id, told),
            await self._text(prompt, told.prompt_blob),
            await self._text(told.answer, told.answer_blob),
            quotation_in(prompt, told),
        )

    async def story(self, subject: str, caller: Caller) -> Story:
        """Every step of a job, or of a message. Raises E_MESSAGE_NOT_FOUND, also for a caller who may not see it."""
        subject = find_job_id(self._ledger.state.jobs, subject)
        recorded = await self._history.lines_about([subject, answer_entry_id(JobId(subject))])
        became = [r.event.job_id for r in recorded if isinstance(r.event, e.JobEnqueued)]
        if not subject.startswith("job_") and became:
            job_id = became[-1]
            recorded = await self._history.lines_about([subject, job_id, answer_entry_id(job_id)])
        questions = [r.event.question_id for r in recorded if isinstance(r.event, e.QuestionAsked)]
        if questions:
            recorded += await self._history.lines_about(questions)
        steps = {r.seq: _step(r) for r in recorded}
        sessions = {key for r in recorded if (key := self._session_of(r.event))}
        if not steps or not all(may_see(self._ledger.state, key, caller) for key in sessions):
            raise error(Code.E_MESSAGE_NOT_FOUND, f"The journal has no entry about {subject[:80]!r}.")
        return Story(subject, tuple(steps[seq] for seq in sorted(steps)))

    def _session_of(self, event: e.JournalEvent) -> SessionKeyText:
        if isinstance(event, e.MessageRefused | e.MessageSkipped):
            here = self._ledger.state.session_at(event.conversation, self._ledger.now())
            return here.session_key if here is not None else NO_SESSION
        return getattr(event, "session_key", NO_SESSION)

    async def _text(self, inline: str, blob: BlobName) -> str:
        """The text, or a sentence in its place: the blob of a long text is removed when the state forgets its job."""
        try:
            return (await self._blobs.get(blob)).decode() if blob else inline
        except FairleadError as gone:
            return f"[{gone.message}]"


def _step(recorded: Recorded) -> Step:
    from fairlead.render.story import describe_event, sentence_of  # noqa: PLC0415 - only /why tells stories

    event, (key, fields) = recorded.event, sentence_of(recorded.event)
    words = describe_event(event)
    return Step(recorded.seq, recorded.ts, type(event).__name__, words, key=key, fields=dict(fields))


def _is_about(event: e.JournalEvent, job_id: str) -> bool:
    """Not an event that only mentions the job: a later attempt names the job that it repeats."""
    return getattr(event, "job_id", None) == job_id and not isinstance(event, e.DeliveryOwed | e.QuestionAsked)


def _fold_job(recorded: list[Recorded], job_id: str) -> Job | None:
    """The job's own facts, folded by the very rules that made the state."""
    state = State()
    for r in recorded:
        if isinstance(r.event, e.JobEnqueued):
            key = r.event.session_key
            parsed = parse_session_key(key)
            session_id = parsed.session_id if parsed is not None else key
            state.sessions[key] = Session(
                session_key=key, session_id=session_id, project="", runtime="", conversation=r.event.conversation
            )
        apply(state, r.seq, r.ts, r.event)
    return state.jobs.get(JobId(job_id))
