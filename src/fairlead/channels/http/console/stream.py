"""The live changes of one page, as server-sent events: elements to replace, text to append, and, where something was
missed, the word to fetch the page again. Knows the feed and the page's own description, no page by name.

    event: swap       data: ["<li id=…>…</li>", …]   each element replaces the one with its id
    event: text       data: {"id", "at", "n", "text"}  append the text to this element, behind `at` characters
    event: attention  data: {"title", "body", "path"}  something needs the person
    event: gap        fetch the page again
    event: gone       the login has ended

The id of each event is the place in the feed up to which the page is right from then on.
"""

import asyncio
import math
from collections.abc import Callable, Sequence
from typing import Final

import msgspec
from aiohttp import web

from fairlead.channels.http.console.feed import Happening
from fairlead.channels.http.console.visit import Fetched, Fragment, Page, TextGrowth, Visit
from fairlead.channels.http.sse import EVENT_STREAM_HEADERS
from fairlead.core.job_names import short_name
from fairlead.core.live import AgentActed, JobMoved, QuestionOpened, QuestionSettled
from fairlead.errors import FairleadError
from fairlead.render.console.layout import nav_badge
from fairlead.render.console.markup import Html, join
from fairlead.render.console.parts import session_path
from fairlead.render.safe_text import one_line
from fairlead.render.words import error_what, say

HEARTBEAT_SEC: Final = 15.0
_GATHER_SEC: Final = 0.008
"""What happens within so short a time is sent together."""
_ENCODER: Final = msgspec.json.Encoder()


async def send_changes(visit: Visit, page: Page, is_served: Callable[[], bool]) -> web.StreamResponse:
    response = web.StreamResponse(headers=EVENT_STREAM_HEADERS)
    if visit.http.method == "HEAD":
        return web.Response(headers=EVENT_STREAM_HEADERS)
    await response.prepare(visit.http)
    place = visit.http.headers.get("Last-Event-ID") or visit.http.query.get("since", "")
    try:
        await response.write(b"retry: 1000\n: listening\n\n")
        await _send_all(response, visit, page, is_served, visit.feed.number_of(place))
    except ConnectionError:
        pass  # the page was closed
    return response


async def _send_all(
    response: web.StreamResponse, visit: Visit, page: Page, is_served: Callable[[], bool], number: int | None
) -> None:
    feed, due = visit.feed, _Due(page.every_sec)
    while is_served():
        if due.is_reached():
            frame = await _page_frame(visit, page, feed.name_of(number or 0))
            await response.write(frame or b": not now\n\n")
        happenings = None if number is None else feed.after(number)
        if happenings is None or number is None:
            await response.write(_frame("gap", b"{}", feed.place()))
            return
        if happenings:
            number = happenings[-1].number
            frames, fetched = await _frames_of(visit, page, happenings, feed.name_of(number))
            if frames:
                await response.write(frames)
            await visit.acknowledge(fetched)
        elif await feed.wait_beyond(number, min(HEARTBEAT_SEC, due.remaining_sec())):
            await asyncio.sleep(_GATHER_SEC)
        elif not due.is_near():
            await response.write(b"event: beat\nid: %s\ndata: {}\n\n" % feed.name_of(number).encode())
    await response.write(_frame("gone", b"{}", ""))


class _Due:
    """When a page of measurements is built again; never, for any other."""

    def __init__(self, every_sec: float) -> None:
        self._every_sec = every_sec or math.inf
        self._at = asyncio.get_running_loop().time() + self._every_sec

    def remaining_sec(self) -> float:
        return max(0.0, self._at - asyncio.get_running_loop().time())

    def is_near(self) -> bool:
        return self.remaining_sec() <= 0.0

    def is_reached(self) -> bool:
        """Whether it is time; if so, the next time is so much later."""
        if not self.is_near():
            return False
        self._at = asyncio.get_running_loop().time() + self._every_sec
        return True


async def _page_frame(visit: Visit, page: Page, place: str) -> bytes:
    """Nothing while the page cannot be built: it is tried again, and says so if it is fetched."""
    try:
        content = await page.build(visit)
    except FairleadError:
        return b""
    return _frame("swap", _ENCODER.encode([str(content.main)]), place)


async def _frames_of(visit: Visit, page: Page, happenings: Sequence[Happening], place: str) -> tuple[bytes, list[str]]:
    """The events, and the jobs whose answers the person gets with them."""
    seen = [one for one in happenings if visit.sees(one.event.session_key)]
    if not seen:
        return b"", []
    try:
        fragments = [*await _fragments_of(visit, page, seen), *_badge(visit, seen)]
    except FairleadError:
        return _frame(
            "gap", b"{}", place
        ), []  # what the page shows is gone: the browser fetches the page again, which says so
    described = [*_describe_fragments(fragments), *(("attention", one) for one in _attention(visit, seen))]
    before = visit.feed.name_of(happenings[0].number - 1)
    # A connection may break between two of them: only behind the last one is the page right up to `place`.
    places = [*[before] * (len(described) - 1), place]
    frames = b"".join(_frame(name, data, at) for (name, data), at in zip(described, places, strict=False))
    return frames, [one.job_id for one in fragments if isinstance(one, Fetched)]


async def _fragments_of(visit: Visit, page: Page, seen: Sequence[Happening]) -> Sequence[Fragment]:
    if page.changes is not None:
        return await page.changes(visit, seen)
    if page.is_touched is not None and any(page.is_touched(one.event) for one in seen):
        return [(await page.build(visit)).main]
    return ()


def _badge(visit: Visit, seen: Sequence[Happening]) -> list[Html]:
    if not any(isinstance(one.event, QuestionOpened | QuestionSettled | JobMoved) for one in seen):
        return []
    count = sum(visit.sees(question.session_key) for question in visit.view.open_questions())
    return [nav_badge(visit.lang, count)]


def _attention(visit: Visit, seen: Sequence[Happening]) -> list[bytes]:
    """For a notification of the browser: a question, or a failure."""
    found: list[bytes] = []
    for event in (one.event for one in seen if not isinstance(one.event, AgentActed)):
        session = visit.view.session(event.session_key)
        path = session_path(session.session_id) if session is not None else "/"
        match event:
            case QuestionOpened():
                title = say(visit.lang, "console.notify.question")
                body = one_line(event.question.title or event.question.detail, 160)
                found.append(_ENCODER.encode({"title": title, "body": body, "path": path}))
            case JobMoved(state="failed"):
                title = say(visit.lang, "console.notify.failed")
                body = error_what(visit.lang, event.error_code, job=short_name(event.job_id))
                found.append(_ENCODER.encode({"title": title, "body": body, "path": path}))
            case _:
                pass
    return found


def _describe_fragments(fragments: Sequence[Fragment]) -> list[tuple[str, bytes]]:
    """Elements that follow each other go in one event; text in its order among them."""
    described: list[tuple[str, bytes]] = []
    elements: list[str] = []

    def end_elements() -> None:
        if elements:
            described.append(("swap", _ENCODER.encode(elements)))
            elements.clear()

    for fragment in fragments:
        if isinstance(fragment, TextGrowth):
            end_elements()
            described.append(("text", _ENCODER.encode(fragment)))
        elif fragment is not None and not isinstance(fragment, Fetched):
            elements.append(str(join(fragment)))
    end_elements()
    return described


def _frame(name: str, data: bytes, place: str) -> bytes:
    return b"id: %s\nevent: %s\ndata: %s\n\n" % (place.encode(), name.encode(), data)
