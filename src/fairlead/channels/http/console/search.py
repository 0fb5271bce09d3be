"""The page *Search*."""

from fairlead.channels.http.console.visit import PageContent, Visit
from fairlead.core.console_views import SessionPage
from fairlead.errors import Code, error
from fairlead.render.console.search import search_page
from fairlead.render.words import say

_SESSIONS_SHOWN = 5
_LONGEST_WORDS = 200


async def build_search(visit: Visit) -> PageContent:
    words = visit.query.get("q", "")[:_LONGEST_WORDS]
    before = visit.query.get("before", "")
    place = int(before) if before.isascii() and before.isdecimal() and len(before) < 16 else None
    if visit.service.vitals.is_stalled and words.strip():  # what was said last is not on disk: the search would wait
        raise error(Code.E_DISK_FULL)
    texts = await visit.view.find_texts(visit.caller, words, before=place)
    found = SessionPage()
    if words.strip() and place is None:
        found = visit.view.find_sessions(visit.caller, words, limit=_SESSIONS_SHOWN)
    return PageContent(say(visit.lang, "console.nav.search"), search_page(words, found, texts, visit.lang, visit.now))
