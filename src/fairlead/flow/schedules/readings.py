"""When a schedule fires, as people write it. Exact forms count at once; words are read, and shown back first.

Exact: a cron expression, `@daily` and its like, a date with a time. Words, in English, a fixed set:

    every minute | every 15 minutes | every hour | every 2 hours          every N must divide an hour or a day
    every day | every weekday | every weekend | every monday and friday   each with `at TIME`
    every month on the 1st                                                 with `at TIME`
    at TIME | today at TIME | tomorrow at TIME | friday at TIME            once
    in 20 minutes | in 3 hours | in 2 days                                 once

TIME is `9`, `9:30`, `17:00`, `9am`, `9:30 pm`, `noon` or `midnight`. A time zone may stand at the end of any form:
`every day at 9 in Europe/Berlin`.
"""

import re
from datetime import datetime, timedelta
from typing import Final

import msgspec

from fairlead.core import timestamps
from fairlead.core.schedules import Timing
from fairlead.errors import Code, FairleadError, error
from fairlead.flow.schedules.times import find_zone, in_zone, local_time, read_local

_DAYS: Final = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_DAY_WORD: Final = r"(?:sun|mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?)(?:days?)?"
_MACROS: Final = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
_CRON: Final = re.compile(r"[\d*][\d*,/\-]*(?:\s+[\w*,/\-#]+){4}")
_ZONE: Final = re.compile(r"UTC|[A-Z]\w+(?:/[\w+\-]+)+")
_TIME: Final = re.compile(r"(\d{1,2})(?::(\d{2}))?\s*(am|pm)?")
_EVERY_N: Final = re.compile(r"every\s+(?:(\d+)\s+)?(minute|hour)s?")
_EVERY_DAYS: Final = re.compile(rf"(?:every\s+)?((?:{_DAY_WORD})(?:(?:\s*,\s*|\s+and\s+)(?:{_DAY_WORD}))*)")
_MONTHLY: Final = re.compile(r"(?:every\s+month|monthly)\s+on\s+(?:the\s+)?(\d{1,2})(?:st|nd|rd|th)?")
_IN: Final = re.compile(r"in\s+(\d{1,5})\s+(minute|hour|day)s?")
_SECONDS: Final = {"minute": 60, "hour": 3600, "day": 86400}
_NAMED_DAYS: Final = {
    "every day": "*",
    "daily": "*",
    "every weekday": "1-5",
    "weekdays": "1-5",
    "every weekend": "0,6",
    "weekends": "0,6",
}


class Reading(msgspec.Struct, frozen=True):
    """`is_exact`: it says the moment itself, and nobody has to agree to how it was read."""

    timing: Timing
    is_exact: bool


class TimeOfDay(msgspec.Struct, frozen=True):
    hour: int
    minute: int


def read_when(text: str, zone: str, now: str) -> Reading:
    """Raises E_SCHEDULE_TIME."""
    words, zone = _cut_zone_off(" ".join(text.split()), zone)
    cron = _MACROS.get(words.lower(), words if _CRON.fullmatch(words) else "")
    if cron:
        return Reading(Timing(cron=cron.upper() if any(c.isalpha() for c in cron) else cron, zone=zone), is_exact=True)
    moment = read_local(re.sub(r"(?i)^(?:once\s+)?(?:at|on)\s+|^once\s+", "", words), zone)
    if moment is not None:
        return Reading(Timing(at=moment, zone=zone), is_exact=True)
    found = _read_words(words.lower(), zone, now)
    if found is None:
        raise error(Code.E_SCHEDULE_TIME, f"{text[:60]!r} cannot be read.")
    return Reading(found, is_exact=False)


def _cut_zone_off(words: str, zone: str) -> tuple[str, str]:
    before, _, last = words.rpartition(" ")
    if not before or not _ZONE.fullmatch(last):
        return words, zone
    find_zone(last)
    return re.sub(r"\s+in$", "", before), last


def _read_words(words: str, zone: str, now: str) -> Timing | None:
    return _read_interval(words, zone) or _read_recurring(words, zone) or _read_once(words, zone, now)


def _read_interval(words: str, zone: str) -> Timing | None:
    found = _EVERY_N.fullmatch(words)
    if found is None:
        return Timing(cron="0 * * * *", zone=zone) if words == "hourly" else None
    count, unit = int(found[1] or 1), found[2]
    whole = 60 if unit == "minute" else 24
    if count == 0 or whole % count:
        raise _build_uneven(count, unit, whole)
    step = "*" if count == 1 else f"*/{count}"
    return Timing(cron=f"{step} * * * *" if unit == "minute" else f"0 {step} * * *", zone=zone)


def _build_uneven(count: int, unit: str, whole: int) -> FairleadError:
    fits = ", ".join(str(n) for n in range(1, whole + 1) if whole % n == 0)
    return error(Code.E_SCHEDULE_TIME, f"Every {count} {unit}s is uneven. These are even: {fits}.")


def _read_recurring(words: str, zone: str) -> Timing | None:
    what, at, time_words = words.rpartition(" at ")
    time = _read_time(time_words) if at else None
    if time is None:
        return None
    what = what.strip()
    monthly = _MONTHLY.fullmatch(what)
    if monthly is not None:
        return Timing(cron=f"{time.minute} {time.hour} {int(monthly[1])} * *", zone=zone)
    days = _NAMED_DAYS.get(what) or _read_days(what)
    return Timing(cron=f"{time.minute} {time.hour} * * {days}", zone=zone) if days else None


def _read_days(what: str) -> str:
    """`every monday and friday`, or `mondays`. One day alone without an s is a single day: see `_read_once`."""
    found = _EVERY_DAYS.fullmatch(what)
    if found is None or (not what.startswith("every") and not what.endswith("s")):
        return ""
    numbers = {_DAYS.index(word[:3]) for word in re.split(r"\s*,\s*|\s+and\s+", found[1])}
    return ",".join(map(str, sorted(numbers)))


def _read_once(words: str, zone: str, now: str) -> Timing | None:
    soon = _IN.fullmatch(words)
    if soon is not None:
        return Timing(at=timestamps.plus(now, int(soon[1]) * _SECONDS[soon[2]]), zone=zone)
    day, at, time_words = words.removeprefix("once ").rpartition("at ")
    time = _read_time(time_words) if at else None
    there = local_time(now, zone)
    if time is None:
        return None
    moment = there.replace(hour=time.hour, minute=time.minute, second=0, microsecond=0)
    days_ahead = _days_ahead(day.strip(), there, is_past=moment <= there)
    return None if days_ahead is None else Timing(at=in_zone(moment + timedelta(days=days_ahead), zone), zone=zone)


def _days_ahead(day: str, there: datetime, *, is_past: bool) -> int | None:
    """A time alone, or a weekday, is the next one; `today` that has passed is refused later, as passed."""
    if day in {"today", "tomorrow"}:
        return int(day == "tomorrow")
    if not day:
        return int(is_past)
    if re.fullmatch(_DAY_WORD, day) is None:
        return None
    ahead = (_DAYS.index(day[:3]) - there.isoweekday()) % 7
    return 7 if ahead == 0 and is_past else ahead


def _read_time(words: str) -> TimeOfDay | None:
    named = {"noon": TimeOfDay(12, 0), "midnight": TimeOfDay(0, 0)}.get(words.strip())
    found = _TIME.fullmatch(words.strip())
    if named is not None or found is None:
        return named
    hour, minute, half = int(found[1]), int(found[2] or 0), found[3]
    if half is not None and not 1 <= hour <= 12:
        return None
    if half is not None:
        hour = hour % 12 + (12 if half == "pm" else 0)
    return TimeOfDay(hour, minute) if hour < 24 and minute < 60 else None
