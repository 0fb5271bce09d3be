"""Arithmetic on journal times: ISO 8601, UTC, milliseconds, fixed width, so that text order is time order.

No clock: every moment comes from the caller.
"""

from datetime import UTC, datetime, timedelta
from typing import Final

_WITHOUT_ZONE: Final = len("2026-01-05T08:00:00.000")


def moment(when: datetime) -> str:
    in_utc = when if when.tzinfo is UTC else when.astimezone(UTC)
    return f"{in_utc.isoformat(timespec='milliseconds')[:_WITHOUT_ZONE]}Z"


def from_epoch(seconds: float) -> str:
    return moment(datetime.fromtimestamp(seconds, UTC))


def parse(ts: str) -> datetime:
    return datetime.fromisoformat(ts)


def to_epoch(ts: str) -> float:
    return parse(ts).timestamp()


def plus(ts: str, seconds: float) -> str:
    return moment(parse(ts) + timedelta(seconds=seconds))


def seconds_between(earlier: str, later: str) -> float:
    return (parse(later) - parse(earlier)).total_seconds()
