"""The page *Changes*, of a turn or of its whole session, and the same as a file."""

import asyncio
import uuid
from collections.abc import Sequence

import msgspec
from aiohttp import web

from fairlead.channels.http.console.feed import Happening
from fairlead.channels.http.console.jobs import TEXT_HEADERS
from fairlead.channels.http.console.session import find_head
from fairlead.channels.http.console.visit import Fragment, PageContent, Visit, is_about
from fairlead.core.live import JobMoved
from fairlead.core.replies import ChangesShown
from fairlead.core.requests import SESSION, Changes
from fairlead.core.views import SessionView
from fairlead.errors import Code, error
from fairlead.render.console.changes import ShownChanges, changes_page, quote_line
from fairlead.render.console.diff_lines import read_diff
from fairlead.render.console.markup import Html
from fairlead.render.console.parts import job_path
from fairlead.render.words import say


async def build_changes(visit: Visit) -> PageContent:
    session = _find_session(visit)
    job_id = visit.parts["job_id"]
    changes = ShownChanges(
        head=find_head(visit, session),
        shown=await _ask_changes(visit, session),
        undo=visit.view.turn_undo(job_id),
        own_path=job_path(job_id, "changes") + (f"?scope={SESSION}" if _is_of_session(visit) else ""),
        key=uuid.uuid4().hex,
    )
    # A long diff takes its time to be read and coloured: nobody else waits for it.
    page = await asyncio.to_thread(_render, changes, visit.query.get("quote", ""), visit.lang, visit.now)
    return PageContent(say(visit.lang, "card.changes"), page)


def _render(changes: ShownChanges, quoted: str, lang: str, now: str) -> Html:
    files = read_diff(changes.shown.files, changes.shown.diff)
    shown = msgspec.structs.replace(changes, files=files, quotation=quote_line(files, quoted))
    return changes_page(shown, lang, now)


async def changes_of_files(visit: Visit, seen: Sequence[Happening]) -> Sequence[Fragment]:
    """Looked at again when a turn of this session begins, ends or is undone: a look costs a snapshot."""
    session = _find_session(visit)
    moved = (one.event for one in seen if isinstance(one.event, JobMoved) or is_about(one.event, "turn"))
    if not any(event.session_key == session.session_key for event in moved):
        return ()
    return [(await build_changes(visit)).main]


async def get_diff(visit: Visit) -> web.StreamResponse:
    """As git tells it, for a program or another viewer."""
    shown = await _ask_changes(visit, _find_session(visit))
    return web.Response(body=shown.diff.encode("utf-8", "replace"), headers=TEXT_HEADERS)


def _find_session(visit: Visit) -> SessionView:
    """Of the job in the address. Raises E_JOB_NOT_FOUND, also for a job that the visitor may not see."""
    job = visit.view.recent_job(visit.parts["job_id"])
    session = None if job is None or not visit.sees(job.session_key) else visit.view.session(job.session_key)
    if session is None:
        raise error(
            Code.E_JOB_NOT_FOUND, f"There is no job {visit.parts['job_id'][:60]!r}, or its files are forgotten."
        )
    return session


def _is_of_session(visit: Visit) -> bool:
    return visit.query.get("scope") == SESSION


async def _ask_changes(visit: Visit, session: SessionView) -> ChangesShown:
    request = Changes(visit.parts["job_id"], "session" if _is_of_session(visit) else "turn")
    return await visit.command(request, ChangesShown, visit.caller_in(session))
