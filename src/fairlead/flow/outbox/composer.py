"""The text of an outbox entry, in pieces that its channel can carry. `core/routing.py` decides where they go."""

from collections.abc import Callable

from fairlead.core.events import FileRef, Piece, ThreadOpening
from fairlead.core.state import Job, OpenQuestion, OutboxEntry, State
from fairlead.errors import FairleadError
from fairlead.ports import Blobs, ChannelCapabilities
from fairlead.render.errors import error_sentence
from fairlead.render.job_end import ending_text
from fairlead.render.pieces import ANSWER_FILE, plan_pieces
from fairlead.render.questions import question_text
from fairlead.render.tables import readable_tables
from fairlead.render.thread_start import opening_text, thread_name


class Composer:
    def __init__(self, state: State, blobs: Blobs, language_of: Callable[[str], str]) -> None:
        self._state = state
        self._blobs = blobs
        self._language_of = language_of

    async def compose(self, entry: OutboxEntry, can: ChannelCapabilities) -> tuple[Piece, ...]:
        if entry.opening is not None:
            return self._opening(entry, entry.opening)
        job = self._state.jobs.get(entry.job_id)
        language = self._language_of(job.person if job is not None else "")
        question = self._state.questions.get(entry.question_id)
        if entry.kind == "question" and question is not None:
            return await self._question(question, can, language)
        text = await self._answer(job, language) if job is not None else ""
        return await self._pieces(text, job.files if job is not None else (), can, language)

    def _opening(self, entry: OutboxEntry, opening: ThreadOpening) -> tuple[Piece, ...]:
        text = opening_text(self._state.projects[opening.project], opening.runtime)
        return (Piece(text), Piece("", thread=thread_name(opening.project, entry.owed_at)))

    async def _answer(self, job: Job, language: str) -> str:
        answer = job.answer
        if job.answer_blob:
            answer = await self._long_answer(job, language)
        return ending_text(job, answer, language)

    async def _long_answer(self, job: Job, language: str) -> str:
        """The whole long answer; if somebody removed its file, the excerpt that the state keeps, and why."""
        try:
            return (await self._blobs.get(job.answer_blob)).decode()
        except FairleadError as gone:
            return f"{job.result_excerpt or ''}\n\n{error_sentence(gone, language)}".strip()

    async def _question(self, question: OpenQuestion, can: ChannelCapabilities, language: str) -> tuple[Piece, ...]:
        """The buttons stand under the last piece, so that a person has read the whole question before them."""
        pieces = await self._pieces(question_text(question, language), (), can, language)
        last = pieces[-1]
        return (*pieces[:-1], Piece(last.text, last.files, question.question_id))

    async def _pieces(
        self, text: str, files: tuple[FileRef, ...], can: ChannelCapabilities, language: str
    ) -> tuple[Piece, ...]:
        if not can.tables:
            text = readable_tables(text)
        if not can.text_limit:
            return (Piece(text, files),)
        planned = plan_pieces(text, can.text_limit, can.max_pieces, lang=language)
        if planned.file is not None:
            files = (FileRef(ANSWER_FILE, await self._blobs.put(planned.file), "text/markdown"), *files)
        *first, last = planned.messages or ("",)
        at_once = can.max_files or len(files) or 1
        later = [files[start : start + at_once] for start in range(at_once, len(files), at_once)]
        return (*(Piece(message) for message in first), Piece(last, files[:at_once]), *(Piece("", f) for f in later))
