"""The text of an outbox entry, in pieces that its channel can carry. `core/routing.py` decides where they go."""

from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from fairlead.core import timestamps
from fairlead.core.attention import end_rings, question_rings
from fairlead.core.events import FileRef, Piece, ThreadOpening
from fairlead.core.ids import JobId
from fairlead.core.job_names import short_name
from fairlead.core.job_states import RETRYABLE
from fairlead.core.machines.places import path_there
from fairlead.core.read_models import question_view
from fairlead.core.state import Job, OpenQuestion, OutboxEntry, State
from fairlead.errors import FairleadError
from fairlead.ports import Blobs, ChannelCapabilities
from fairlead.render.durations import duration
from fairlead.render.errors import error_sentence
from fairlead.render.file_notices import describe_undo, describe_worktree
from fairlead.render.job_end import ending_text, small_line
from fairlead.render.pieces import ANSWER_FILE, plan_pieces
from fairlead.render.questions import question_text, reminder_text
from fairlead.render.schedules import notice_text, schedule_head
from fairlead.render.tables import readable_tables
from fairlead.render.thread_start import opening_text, thread_name
from fairlead.render.turn_card import card_lines
from fairlead.render.words import error_line, say

NOBODY: Final = ()
LEAST_TEXT: Final = 200


class _Frame(msgspec.Struct, frozen=True):
    """What stands around the text of a delivery: who is mentioned before its last piece, and a small line below it."""

    mentions: tuple[str, ...] = NOBODY
    head: str = ""
    foot: str = ""

    @property
    def length(self) -> int:
        return len(self.head) + len(self.foot) + 2

    def around(self, text: str) -> str:
        first = f"{self.head} {text}".rstrip() if self.head else text
        return "\n".join(filter(None, (first, self.foot)))


NO_FRAME: Final = _Frame()


class Composer:
    """`redact` takes secrets out of what an agent's program printed."""

    def __init__(
        self,
        state: State,
        blobs: Blobs,
        language_of: Callable[[str], str],
        redact: Callable[[str], str] = str,
    ) -> None:
        self._state = state
        self._blobs = blobs
        self._language_of = language_of
        self._redact = redact

    def needs_disk(self, entry: OutboxEntry) -> bool:
        """Whether `compose` reads a long answer."""
        job = self._state.jobs.get(entry.job_id)
        return entry.kind == "answer" and job is not None and bool(job.answer_blob)

    async def compose(
        self,
        entry: OutboxEntry,
        can: ChannelCapabilities,
        undelivered: Sequence[JobId] = (),
        *,
        is_bound: bool = True,
    ) -> tuple[Piece, ...]:
        """`undelivered` names jobs whose answers were given up where this entry goes: a line at its head says so. Where
        the entry's session is not bound, another one is talked to there, and a line says whose words these are."""
        if entry.opening is not None:
            return self._opening(entry, entry.opening, can)
        if entry.kind == "link":
            return self._link(entry, can)
        if entry.notice is not None:
            language = self._language_of(entry.notice.person)
            return await self._pieces(notice_text(entry.notice, language), (), can, language)
        if entry.worktree is not None:
            language = self._language_of(entry.worktree.person)
            return await self._pieces(describe_worktree(entry.worktree, language), (), can, language)
        if entry.undo is not None:
            language = self._language_of(entry.undo.person)
            return await self._pieces(describe_undo(entry.undo, language), (), can, language)
        job = self._state.jobs.get(entry.job_id)
        language = self._language_of(job.person if job is not None else "")
        head = _undelivered_line(undelivered, language)
        if job is not None and not is_bound and job.session_key in self._state.spawns:
            head += say(language, "status.from_spawned", session=job.session_id) + "\n"
        question = self._state.questions.get(entry.question_id)
        if entry.kind == "reminder" and question is not None:
            return self._reminder(entry, question, can)
        if entry.kind == "question" and question is not None:
            return await self._question(question, job, can, language, head)
        if entry.kind == "sent":
            return await self._pieces(head + entry.text, entry.files, can, language)
        if job is None:
            return await self._pieces(head, (), can, language)
        if entry.kind == "card":
            return await self._card(job, can, language, head)
        return await self._end(job, can, language, head + schedule_head(self._state, job, language))

    def _opening(self, entry: OutboxEntry, opening: ThreadOpening, can: ChannelCapabilities) -> tuple[Piece, ...]:
        """A fork names what it was forked from."""
        task = "" if opening.spawn is None else opening.spawn.task
        text = opening_text(self._state.projects[opening.project], opening.runtime, task, opening.branch)
        if opening.fork is not None:
            text += f" · ⑂ {can.thread_link(opening.fork.forked_from.rpartition(':')[2])}"
        return (Piece(text), Piece("", thread=thread_name(opening.project, entry.owed_at)))

    def _link(self, entry: OutboxEntry, can: ChannelCapabilities) -> tuple[Piece, ...]:
        """In the language of the person who was last answered there."""
        session = self._state.sessions.get(entry.session_key)
        job_id = (session.running_job_id or session.last_job_id) if session is not None else None
        last = self._state.jobs.get(job_id or JobId(""))
        language = self._language_of("" if last is None else last.person)
        if entry.error_code:
            return (Piece(say(language, "status.not_spawned", error=error_line(language, entry.error_code))),)
        return (Piece(say(language, "status.spawned", link=can.thread_link(entry.link))),)

    def _reminder(self, entry: OutboxEntry, question: OpenQuestion, can: ChannelCapabilities) -> tuple[Piece, ...]:
        """For the owner, in the owner's language: who asked may be somebody else."""
        owner = self._state.owner_id
        accounts = can.mentions.accounts_of(owner) if can.mentions is not None else NOBODY
        elapsed = duration(timestamps.seconds_between(question.asked_at, entry.owed_at))
        machine = question_view(self._state, question).machine
        text = reminder_text(question, elapsed, entry.link, self._language_of(owner), machine)
        mention = " ".join(map(can.mentions.text_of, accounts)) if can.mentions is not None else ""
        return (Piece(f"{mention} {text}".strip(), mentions=accounts),)

    async def _end(self, job: Job, can: ChannelCapabilities, language: str, head: str) -> tuple[Piece, ...]:
        """A failure begins with the mention, so that its notification says what happened. Below an answer the mention
        is small: the answer is what the person wants to read first."""
        is_failure = job.state in RETRYABLE
        has_button = can.buttons and is_failure and job.cause != "agent"
        text = head + await self._answer(job, language, has_retry_button=has_button)
        mentions, mention = (
            self._mention(job, can) if can.mentions and end_rings(can.mentions.rule, job) else (NOBODY, "")
        )
        is_small = bool(can.small_print) and not is_failure
        small = small_line(job, mention if is_small else "", language) if can.small_print else ""
        lines = [*self._card_lines(job, language), *([small] if small else [])] if can.small_print else []
        frame = _Frame(mentions, "" if is_small else mention, "\n".join(f"{can.small_print}{line}" for line in lines))
        *before, last = await self._pieces(text, job.files, can, language, frame)
        has_card = can.buttons and bool(can.small_print) and bool(self._card_lines(job, language))
        card = job.job_id if has_card else ""
        retries = job.job_id if has_button or (has_card and job.is_retryable) else ""
        return (*before, msgspec.structs.replace(last, retries=retries, card=card))

    def _card_lines(self, job: Job, language: str) -> list[str]:
        """What the turn changed; nothing for a turn that changed nothing, or of which that is not known yet."""
        if job.tree is None or job.tree.changed is None or job.is_live:
            return []
        return card_lines(job.tree.changed, job.report, language, shared_with=job.tree.shared_with)

    async def _card(self, job: Job, can: ChannelCapabilities, language: str, head: str) -> tuple[Piece, ...]:
        """Behind the answer, where it was not known in time what had changed."""
        lines = (short_name(job.job_id), *self._card_lines(job, language))
        text = head + "\n".join(f"{can.small_print}{line}" for line in lines)
        pieces = await self._pieces(text, (), can, language)
        card = job.job_id if can.buttons else ""
        has_retry = card and job.state == "success" and job.is_retryable  # below a failure the button is there already
        return (*pieces[:-1], msgspec.structs.replace(pieces[-1], card=card, retries=card if has_retry else ""))

    def _mention(self, job: Job, can: ChannelCapabilities) -> tuple[tuple[str, ...], str]:
        """The accounts of those who shall hear of it, mostly the person who asked, and the text that mentions them."""
        if can.mentions is None:
            return NOBODY, ""
        accounts = tuple(a for person in job.tell or (job.person,) for a in can.mentions.accounts_of(person))
        return accounts, " ".join(map(can.mentions.text_of, accounts))

    async def _answer(self, job: Job, language: str, *, has_retry_button: bool) -> str:
        answer = job.answer
        if job.answer_blob:
            answer = await self._long_answer(job, language)
        text = ending_text(job, answer, language, has_retry_button=has_retry_button)
        return self._redact(_without_project_path(text, job)) if job.state in RETRYABLE else text

    async def _long_answer(self, job: Job, language: str) -> str:
        """The whole long answer; if somebody removed its file, the excerpt that the state keeps, and why."""
        try:
            return (await self._blobs.get(job.answer_blob)).decode()
        except FairleadError as gone:
            return f"{job.result_excerpt or ''}\n\n{error_sentence(gone, language)}".strip()

    async def _question(
        self, question: OpenQuestion, job: Job | None, can: ChannelCapabilities, language: str, head: str
    ) -> tuple[Piece, ...]:
        """The buttons stand under the last piece, so that a person has read the whole question before them."""
        frame = NO_FRAME
        if job is not None and can.mentions is not None and question_rings(can.mentions.rule, job.ring):
            frame = _Frame(*self._mention(job, can))
        text = head + question_text(question, language, job.project_path if job is not None else "")
        pieces = await self._pieces(text, (), can, language, frame)
        return (*pieces[:-1], msgspec.structs.replace(pieces[-1], question_id=question.question_id))

    async def _pieces(
        self,
        text: str,
        files: tuple[FileRef, ...],
        can: ChannelCapabilities,
        language: str,
        frame: _Frame = NO_FRAME,
    ) -> tuple[Piece, ...]:
        if not can.tables:
            text = readable_tables(text)
        if not can.text_limit:
            return (Piece(frame.around(text), files, mentions=frame.mentions),)
        room = max(can.text_limit - frame.length, LEAST_TEXT) if frame.head or frame.foot else can.text_limit
        planned = plan_pieces(text, room, can.max_pieces, lang=language)
        if planned.file is not None:
            files = (FileRef(ANSWER_FILE, await self._blobs.put(planned.file), "text/markdown"), *files)
        *first, last = planned.messages or ("",)
        at_once = can.max_files or len(files) or 1
        later = [files[start : start + at_once] for start in range(at_once, len(files), at_once)]
        ringing = Piece(frame.around(last), files[:at_once], mentions=frame.mentions)
        return (*(Piece(message) for message in first), ringing, *(Piece("", f) for f in later))


def _without_project_path(text: str, job: Job) -> str:
    """What a program printed names its files by their full paths, and everybody in the conversation reads it."""
    path = path_there(job.project_path)
    return text.replace(f"{path}/", "").replace(path, job.project) if len(path) > 1 else text


def _undelivered_line(jobs: Sequence[JobId], language: str) -> str:
    return say(language, "status.undelivered", jobs=", ".join(jobs), job=jobs[-1]) + "\n" if jobs else ""
