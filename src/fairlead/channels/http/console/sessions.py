"""The list of sessions."""

from fairlead.channels.http.console.visit import PageContent, Visit, is_about
from fairlead.core.live import JobMoved, LiveEvent
from fairlead.render.console.sessions import sessions_page
from fairlead.render.words import say

_SHOWN = 50
_LONGEST_WORDS = 200


async def build_sessions(visit: Visit) -> PageContent:
    words = visit.query.get("q", "")[:_LONGEST_WORDS]
    found = visit.view.find_sessions(visit.caller, words, after=visit.query.get("after", "")[:400], limit=_SHOWN)
    page = sessions_page(found, words, visit.lang, visit.now)
    return PageContent(say(visit.lang, "console.nav.sessions"), page)


def is_list_touched(event: LiveEvent) -> bool:
    return isinstance(event, JobMoved) or is_about(event, "session")
