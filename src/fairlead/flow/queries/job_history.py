"""Jobs and messages as the journal tells them, also when the state has forgotten them."""

from collections.abc import Sequence
from typing import Final

import msgspec

from fairlead.core import events as e
from fairlead.core.fold import apply
from fairlead.core.ids import NO_SESSION, BlobName, JobId, SessionKeyText
from fairlead.core.keys import parse_session_key
from fairlead.core.replies import Step, Story
from fairlead.core.requests import Caller
from fairlead.core.state import Job, Session, State, answer_entry_id
from fairlead.core.visibility import may_see
from fairlead.errors import Code, FairleadError, error
from fairlead.flow.ledger import Ledger
from fairlead.ports import Blobs, Journal, Recorded
from fairlead.render.story import in_words

_NAMING: Final = ("message_id", "job_id", "retry_of", "entry_id", "question_id")


class PastJob(msgspec.Struct, frozen=True):
    """A job with all its texts."""

    job: Job
    prompt: str
    answer: str


class JobHistory:
    def __init__(self, ledger: Ledger, journal: Journal, blobs: Blobs) -> None:
        self._ledger = ledger
        self._journal = journal
        self._blobs = blobs

    async def job(self, job_id: str) -> PastJob:
        """Raises E_JOB_NOT_FOUND for what the journal does not know."""
        if not job_id.startswith("job_"):
            raise error(Code.E_JOB_NOT_FOUND, f"{job_id[:60]!r} is no job id.")
        live = self._ledger.state.jobs.get(JobId(job_id))
        if live is not None and live.is_live:
            return PastJob(live, await self._text(live.prompt, live.prompt_blob), "")
        recorded = [r for r in await self._journal.lines_about([job_id]) if _is_about(r.event, job_id)]
        told = _folded(recorded, job_id)
        if told is None:
            raise error(Code.E_JOB_NOT_FOUND, f"There is no job {job_id!r}.")
        prompts = [r.event.prompt for r in recorded if isinstance(r.event, e.JobEnqueued | e.JobAmended)]
        job = live or told
        return PastJob(
            job,
            await self._text(prompts[-1] if prompts else "", told.prompt_blob),
            await self._text(told.answer, told.answer_blob),
        )

    async def story(self, subject: str, caller: Caller) -> Story:
        """Every step of a job, or of the message that became one; for whoever may know of it."""
        recorded = await self._lines_naming([subject, answer_entry_id(JobId(subject))])
        became = [r.event.job_id for r in recorded if isinstance(r.event, e.JobEnqueued)]
        if not subject.startswith("job_") and became:
            job_id = became[-1]
            recorded = await self._lines_naming([subject, job_id, answer_entry_id(job_id)])
        questions = [r.event.question_id for r in recorded if isinstance(r.event, e.QuestionAsked)]
        if questions:
            recorded += await self._lines_naming(questions)
        steps = {r.seq: Step(r.seq, r.ts, type(r.event).__name__, in_words(r.event)) for r in recorded}
        talks = {key for r in recorded if (key := self._talk_of(r.event))}
        if not steps or not all(may_see(self._ledger.state, key, caller) for key in talks):
            raise error(Code.E_MESSAGE_NOT_FOUND, f"The journal has no line about {subject[:80]!r}.")
        return Story(subject, tuple(steps[seq] for seq in sorted(steps)))

    async def _lines_naming(self, names: Sequence[str]) -> list[Recorded]:
        """By what names them alone. The journal finds any word of theirs: with the kind of a fact, or with what
        somebody said, lines would come of which nobody could tell whose talk they are."""
        recorded = await self._journal.lines_about(names)
        return [r for r in recorded if any(getattr(r.event, name, None) in names for name in _NAMING)]

    def _talk_of(self, event: e.JournalEvent) -> SessionKeyText:
        if isinstance(event, e.MessageRefused | e.MessageSkipped):
            here = self._ledger.state.session_at(event.conversation, self._ledger.now())
            return here.session_key if here is not None else NO_SESSION
        return getattr(event, "session_key", NO_SESSION)

    async def _text(self, inline: str, blob: BlobName) -> str:
        """Long texts leave with their job: what is no longer kept is said in their place."""
        try:
            return (await self._blobs.get(blob)).decode() if blob else inline
        except FairleadError as gone:
            return f"[{gone.message}]"


def _is_about(event: e.JournalEvent, job_id: str) -> bool:
    """Not what only mentions it: a later attempt names the job it repeats."""
    return getattr(event, "job_id", None) == job_id and not isinstance(event, e.DeliveryOwed | e.QuestionAsked)


def _folded(recorded: list[Recorded], job_id: str) -> Job | None:
    """The job's own facts, folded by the very rules that made the state."""
    state = State()
    for r in recorded:
        if isinstance(r.event, e.JobEnqueued):
            key = r.event.session_key
            parsed = parse_session_key(key)
            session_id = parsed.session_id if parsed is not None else key
            state.sessions[key] = Session(
                session_key=key, session_id=session_id, project="", tool="", conversation=r.event.conversation
            )
        apply(state, r.seq, r.ts, r.event)
    return state.jobs.get(JobId(job_id))
