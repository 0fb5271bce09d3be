"""A moment of the journal in the time of this terminal. Knows the clock and the time zone, and no words."""

from datetime import datetime

from fairlead.core import timestamps


def local_time(ts: str, now: datetime | None = None) -> str:
    """`14:20:05` today, `2026-11-16 14:20` on another day."""
    moment = timestamps.parse(ts).astimezone()
    today = (now or datetime.now().astimezone()).date()
    return f"{moment:%H:%M:%S}" if moment.date() == today else f"{moment:%Y-%m-%d %H:%M}"
