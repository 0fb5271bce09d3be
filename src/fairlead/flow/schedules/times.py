"""Moments of schedules: the next tick, the latest one, the next few as people read them. All cron arithmetic and all
time zones are here; what cron expressions mean, daylight saving included, is cronsim's business (as Debian's cron does
it): a time that a day skips is taken at the end of the gap, a time that a day has twice is taken the first time, and
an expression with `*` in its minutes or hours follows real time through both.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, tzinfo
from functools import lru_cache
from itertools import islice
from typing import Final

from fairlead.core import timestamps
from fairlead.core.schedules import Timing
from fairlead.errors import Code, error
from fairlead.kit.local_zone import NO_ZONE, load_zone

_LOOK_BACK_SEC: Final = tuple(3600.0 * hours for hours in (1, 24, 24 * 32, 24 * 366, 24 * 366 * 9))
"""How far the latest tick is searched, nearest first: an expression has at most sixty ticks in an hour."""

NEVER: Final = ""


@lru_cache(maxsize=256)
def find_zone(name: str) -> tzinfo:
    """Raises E_SCHEDULE_TIME."""
    try:
        return load_zone(name)
    except NO_ZONE:
        raise error(Code.E_SCHEDULE_TIME, f"There is no time zone {name[:60]!r}.") from None


def check_timing(timing: Timing, now: str) -> str:
    """The first tick after `now`. Raises E_SCHEDULE_TIME for an expression that cannot be read or never fires."""
    find_zone(timing.zone)
    if timing.at:
        if timing.at <= now:
            raise error(Code.E_SCHEDULE_TIME, f"{show_local(timing.at, timing.zone)} has passed.")
        return timing.at
    if len(timing.cron.split()) != 5:
        raise error(Code.E_SCHEDULE_TIME, f"{timing.cron[:60]!r} is no cron expression of five fields.")
    from cronsim import CronSimError  # noqa: PLC0415 - only a schedule needs it

    try:
        first = next_tick(timing, now)
    except CronSimError as fault:
        raise error(Code.E_SCHEDULE_TIME, f"{timing.cron[:60]!r} is no cron expression that fires: {fault}.") from None
    if first == NEVER:
        raise error(Code.E_SCHEDULE_TIME, f"{timing.cron[:60]!r} never fires.")
    return first


def next_tick(timing: Timing, after: str) -> str:
    """The first tick later than `after`, or NEVER."""
    return next(_ticks(timing, after), NEVER)


def upcoming(timing: Timing, after: str, count: int) -> list[str]:
    return list(islice(_ticks(timing, after), count))


def latest_tick(timing: Timing, first: str, until: str) -> str:
    """The latest tick that is not later than `until`; `first` is one. Looks from near to far, so that a month in which
    nobody looked costs no more than an hour."""
    for seconds in _LOOK_BACK_SEC:
        start = timestamps.plus(until, -seconds)
        if start <= first:
            break
        found = _last_until(timing, start, until)
        if found != NEVER:
            return found
    return _last_until(timing, first, until) or first


def _last_until(timing: Timing, after: str, until: str) -> str:
    last = NEVER
    for tick in _ticks(timing, after):
        if tick > until:
            break
        last = tick
    return last


def _ticks(timing: Timing, after: str) -> Iterator[str]:
    """Rising, each later than the one before: in the hour that a day has twice cronsim names times that have been, and
    where the clock goes forward it names the end of the gap once for each time in it."""
    if timing.at:
        if timing.at > after:
            yield timing.at
        return
    from cronsim import CronSim  # noqa: PLC0415 - only a schedule needs it

    last = after
    for local in CronSim(timing.cron, timestamps.parse(after).astimezone(find_zone(timing.zone))):
        tick = timestamps.moment(local)
        if tick > last:
            last = tick
            yield tick


def read_local(text: str, zone: str) -> str | None:
    """A date and a time as people write them, in UTC; None for any other text. A time with an offset means what it
    says. Raises E_SCHEDULE_TIME for a time that this day does not have."""
    if not any(mark in text for mark in "T: "):
        return None
    try:
        local = datetime.fromisoformat(text.strip().upper().replace(" ", "T", 1))
    except ValueError:
        return None
    return timestamps.moment(local) if local.tzinfo is not None else in_zone(local, zone)


def in_zone(local: datetime, zone: str) -> str:
    """A local time in UTC; of one that the day has twice, the first."""
    there = local.replace(tzinfo=find_zone(zone), fold=0)
    if there.astimezone(UTC).astimezone(there.tzinfo).replace(tzinfo=None) != local:
        raise error(Code.E_SCHEDULE_TIME, f"{local:%Y-%m-%d %H:%M} does not exist in {zone}: the clocks go forward.")
    return timestamps.moment(there)


def local_time(now: str, zone: str) -> datetime:
    return timestamps.parse(now).astimezone(find_zone(zone)).replace(tzinfo=None)


def show_local(tick: str, zone: str) -> str:
    """`Wed 2026-11-18 09:00 +01:00`."""
    local = timestamps.parse(tick).astimezone(find_zone(zone))
    offset = local.strftime("%z")
    return f"{local:%a %Y-%m-%d %H:%M} {offset[:3]}:{offset[3:5]}"
