"""The page *Schedules*, and what its buttons do: each is the command of the same name."""

import uuid

from fairlead.channels.http.console.visit import PageContent, Visit, is_about
from fairlead.core import replies as r
from fairlead.core import requests
from fairlead.core.live import JobMoved, LiveEvent
from fairlead.errors import Code, error
from fairlead.render.console.schedules import PATH, TICKS, schedules_page
from fairlead.render.words import say


async def build_schedules(visit: Visit) -> PageContent:
    listed = await visit.command(requests.ScheduleList(TICKS), r.ScheduleCatalogue)
    person = "" if visit.is_owner else visit.login.person
    page = schedules_page(listed.schedules, person, visit.lang, visit.now)
    return PageContent(say(visit.lang, "pages.nav.schedules"), page)


def is_schedule_touched(event: LiveEvent) -> bool:
    """A tick that ran is a job."""
    return isinstance(event, JobMoved) or is_about(event, "schedule")


async def change_schedule(visit: Visit) -> str:
    written = visit.parts["number"]
    if not (written.isascii() and written.isdecimal() and len(written) < 10):
        raise error(Code.E_SCHEDULE_NOT_FOUND, f"There is no schedule {written[:20]!r}.")
    number = int(written)
    match visit.parts["action"]:
        case "pause":
            await visit.command(requests.SchedulePause(number), r.ScheduleShown)
        case "resume":
            await visit.command(requests.ScheduleResume(number), r.ScheduleShown)
        case "confirm":
            await visit.command(requests.ScheduleConfirm(number), r.ScheduleShown)
        case "remove":
            await visit.command(requests.ScheduleRemove(number), r.ScheduleShown)
        case "run":
            await visit.command(requests.ScheduleRun(uuid.uuid4().hex, number), r.ScheduleRan)
        case other:
            raise error(Code.E_INVALID_ARGS, f"There is no action {other[:40]!r} for a schedule.")
    return PATH
