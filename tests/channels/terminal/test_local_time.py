"""Moments of the journal in the reader's own time."""

from datetime import UTC, datetime

from fairlead.channels.terminal.local_time import local_time


def test_today_is_a_time_and_another_day_a_date():
    now = datetime(2026, 11, 17, 12, 0, tzinfo=UTC).astimezone()
    ts = "2026-11-17T12:00:05.000Z"
    assert local_time(ts, now) == f"{now:%H:%M}:05"
    earlier = datetime(2026, 11, 10, 12, 0, tzinfo=UTC).astimezone()
    assert local_time("2026-11-10T12:00:05.000Z", now) == f"{earlier:%Y-%m-%d %H:%M}"
