"""Jobs with their texts, as the page of a session shows them. What was rendered of an answer is remembered for a while:
an answer never changes, and several pages may show it."""

import asyncio
from collections.abc import Sequence
from typing import Final

import msgspec

from fairlead.channels.http.console.visit import Visit
from fairlead.core.console_views import BoardQuestion
from fairlead.core.views import JobView, SessionView
from fairlead.errors import FairleadError
from fairlead.render.console.markdown import MOST_RENDERED, render_markdown
from fairlead.render.console.markup import Html, el
from fairlead.render.console.session import ShownTurn

_KEPT_CHARS: Final = 1024 * 1024
_AT_ONCE_CHARS: Final = 2000
"""A longer answer is rendered in a thread, so that nobody else waits for it."""


class RenderedAnswers:
    """The HTML of answers by state directory and job, the least recently used forgotten first."""

    def __init__(self) -> None:
        self._kept: dict[str, Html] = {}
        self._chars = 0

    async def render(self, state_id: str, job: JobView) -> Html:
        name = f"{state_id} {job.job_id}"
        known = self._kept.pop(name, None)
        if known is not None:
            self._kept[name] = known
            return known
        is_short = len(job.answer) <= _AT_ONCE_CHARS
        html = render_markdown(job.answer) if is_short else await asyncio.to_thread(render_markdown, job.answer)
        if not job.is_live and name not in self._kept:
            self._kept[name] = html
            self._chars += len(html)
        while self._chars > _KEPT_CHARS and len(self._kept) > 1:
            self._chars -= len(self._kept.pop(next(iter(self._kept))))
        return html


async def load_turn(visit: Visit, session: SessionView, job: JobView, answers: RenderedAnswers) -> ShownTurn:
    try:
        job = await visit.service.job(job.job_id)
    except FairleadError as problem:  # a full disk, a damaged line: the rest of the page is worth showing
        return ShownTurn(job=job, answer=el("p", str(problem.code), class_="problem"))
    has_answer = bool(job.answer.strip())
    return ShownTurn(
        job=job if len(job.answer) <= MOST_RENDERED else msgspec.structs.replace(job, answer=""),
        answer=await answers.render(visit.view.state_id, job) if has_answer else None,
        is_cut=len(job.answer) > MOST_RENDERED,
        live=visit.feed.turn(job.job_id),
        position=session.queue.index(job.job_id) if job.job_id in session.queue else 0,
        can_be_steered=job.state == "queued" and visit.view.takes_texts(session.session_key),
        questions=_questions_of(visit, session, job),
    )


def _questions_of(visit: Visit, session: SessionView, job: JobView) -> tuple[BoardQuestion, ...]:
    title = visit.view.session_line(session.session_key).title
    return tuple(
        BoardQuestion(question=question, session_id=session.session_id, title=title)
        for question in visit.view.open_questions(job_id=job.job_id)
    )


def find_fetched(visit: Visit, session: SessionView, turns: Sequence[ShownTurn]) -> tuple[str, ...]:
    """The answers that wait for this person to see them here."""
    waiting = set(visit.view.unfetched_jobs(visit.caller_in(session).conversation))
    return tuple(turn.job.job_id for turn in turns if turn.job.job_id in waiting)
