"""The page *Why*: the account, the messages behind its numbers, and the story of one."""

from fairlead.channels.http.console.visit import PageContent, Visit, is_about
from fairlead.core.live import JobMoved, LiveEvent
from fairlead.core.replies import Story
from fairlead.core.requests import Why
from fairlead.render.console.why import OUTCOMES, story_page, why_page
from fairlead.render.words import say


async def build_why(visit: Visit) -> PageContent:
    subject = visit.query.get("subject", "").strip()
    if subject:
        return await _tell_story(visit, subject)
    wanted = visit.query.get("outcome", "")
    shown = visit.view.messages_with(visit.caller, wanted) if wanted in OUTCOMES else None
    counts = visit.view.counts() if visit.is_owner else None
    return PageContent(say(visit.lang, "console.nav.why"), why_page(counts, shown, visit.lang, visit.now))


async def build_story(visit: Visit) -> PageContent:
    return await _tell_story(visit, visit.parts["subject"])


async def _tell_story(visit: Visit, subject: str) -> PageContent:
    story = await visit.command(Why(subject[:200]), Story)
    job = visit.view.recent_job(story.subject)
    session = None if job is None else visit.view.session(job.session_key)
    session_id = "" if session is None else session.session_id
    title = say(visit.lang, "console.nav.why")
    return PageContent(title, story_page(story, session_id, visit.lang, visit.now))


def is_account_touched(event: LiveEvent) -> bool:
    return isinstance(event, JobMoved) or is_about(event, "message")
