"""Looking through prompts and answers for words: newest first, a page at a time, and only what the caller may see. A
page costs the same on every journal: it looks a bounded way back, and says how far."""

import asyncio
from typing import Final

from fairlead.core import events as e
from fairlead.core.console_models import session_title
from fairlead.core.console_views import FoundText, TextPage
from fairlead.core.ids import NO_SESSION, BlobName, SessionKeyText
from fairlead.core.requests import Caller
from fairlead.core.visibility import may_see
from fairlead.errors import FairleadError
from fairlead.flow.ledger import Ledger
from fairlead.ports import Blobs, History, TextLine

PAGE_ROWS: Final = 20
STRETCH_BYTES: Final = 1 << 20
MOST_STRETCHES: Final = 8
MOST_BLOBS: Final = 32
"""Long texts that are opened for one page; after that, only their beginning is looked at."""
_AROUND: Final = 120


class TextSearch:
    def __init__(self, ledger: Ledger, history: History, blobs: Blobs) -> None:
        self._ledger = ledger
        self._history = history
        self._blobs = blobs
        self._one_at_a_time = asyncio.Lock()

    async def find(self, caller: Caller, words: str, before: int | None) -> TextPage:
        """All of the words in one text. `before` is where the page before ended."""
        wanted = tuple(words.lower().split())
        if not wanted:
            return TextPage()
        async with self._one_at_a_time:
            return await self._find(caller, wanted, before)

    async def _find(self, caller: Caller, wanted: tuple[str, ...], before: int | None) -> TextPage:
        found: list[FoundText] = []
        since, room = "", MOST_BLOBS
        for _ in range(MOST_STRETCHES):
            stretch = await self._history.texts_before(before, wanted, STRETCH_BYTES)
            before, since = stretch.before, stretch.since or since
            for line in stretch.lines:
                key = await self._session_of(line)
                if not key or not may_see(self._ledger.state, key, caller):
                    continue
                kind, text, blob = _text_of(line.recorded.event)
                if blob and room > 0:
                    room -= 1
                    text = await self._open(blob) or text
                place = _place_in(text, wanted)
                if place is None:
                    continue
                found.append(self._describe(line, key, kind, _cut_around(text, place)))
                if len(found) == PAGE_ROWS:
                    return TextPage(texts=tuple(found), before=line.place, since=line.recorded.ts)
            if not before:
                return TextPage(texts=tuple(found), since=since, is_whole=True)
        return TextPage(texts=tuple(found), before=before or 0, since=since)

    async def _session_of(self, line: TextLine) -> SessionKeyText:
        event = line.recorded.event
        if not isinstance(event, e.JobAmended):
            return getattr(event, "session_key", NO_SESSION)
        job = self._ledger.state.jobs.get(event.job_id)
        if job is not None:
            return job.session_key
        told = (r.event for r in await self._history.lines_about([event.job_id]))
        return next((one.session_key for one in told if isinstance(one, e.JobEnqueued)), NO_SESSION)

    async def _open(self, blob: BlobName) -> str:
        """Empty if it is gone: the blob of a long text is removed when the state forgets its job."""
        try:
            return (await self._blobs.get(blob)).decode(errors="replace")
        except FairleadError:
            return ""

    def _describe(self, line: TextLine, key: SessionKeyText, kind: str, excerpt: str) -> FoundText:
        session = self._ledger.state.sessions.get(key)
        return FoundText(
            job_id=getattr(line.recorded.event, "job_id", ""),
            is_answer=kind == "answer",
            at=line.recorded.ts,
            excerpt=excerpt,
            session_id="" if session is None else session.session_id,
            title=session_title(session),
        )


def _text_of(event: e.JournalEvent) -> tuple[str, str, BlobName]:
    """Which text it is, as much of it as the line has, and the blob with the whole."""
    match event:
        case e.JobEnqueued(prompt=text, prompt_blob=blob) | e.JobAmended(prompt=text, prompt_blob=blob):
            return "prompt", text, blob
        case e.JobCompleted(text=text, excerpt=excerpt, text_blob=blob):
            return "answer", text or excerpt, blob
        case e.JobFailed(text=text):
            return "answer", text, BlobName("")
        case _:
            return "", "", BlobName("")


def _place_in(text: str, wanted: tuple[str, ...]) -> int | None:
    """Where the first of the words stands; None if one of them does not."""
    lowered = text.lower()
    places = [lowered.find(word) for word in wanted]
    return None if min(places) < 0 else min(places)


def _cut_around(text: str, place: int) -> str:
    begin, end = max(0, place - _AROUND), place + 2 * _AROUND
    return f"{'… ' if begin else ''}{text[begin:end]}{' …' if end < len(text) else ''}"
