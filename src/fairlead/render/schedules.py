"""What people read of a schedule besides the replies to its commands: above its answers, and when it could not run."""

from typing import Final

from fairlead.core.message_ids import OfSchedule, parse_message_id
from fairlead.core.schedules import ScheduleNotice
from fairlead.core.state import Job, State
from fairlead.render.safe_text import one_line
from fairlead.render.words import error_line, say

_TEXT: Final = 60


def schedule_head(state: State, job: Job, lang: str) -> str:
    """Nobody wrote just before such an answer: a line says what it answers. Empty for every other job."""
    named = parse_message_id(job.message_id)
    if job.cause != "schedule" or not isinstance(named, OfSchedule):
        return ""
    schedule = state.schedules.get(named.number)
    text = one_line(schedule.terms.text, _TEXT) if schedule is not None else ""
    return say(lang, "reply.schedule.head", number=named.number, text=text) + "\n"


def notice_text(notice: ScheduleNotice, lang: str) -> str:
    why = error_line(lang, notice.code, detail=notice.detail if notice.detail != notice.code else "")
    tick = f"{notice.tick[:16].replace('T', ' ')} UTC"
    return say(lang, "reply.schedule.notice", number=notice.number, tick=tick, why=why)
