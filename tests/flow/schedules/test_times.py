"""Ticks: rising, the same from wherever one starts to look, and right in the nights in which the clocks change."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.core import timestamps
from fairlead.core.schedules import Timing
from fairlead.flow.schedules.times import latest_tick, next_tick, show_local, upcoming

pytestmark = pytest.mark.req("E10")

ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "America/Santiago")
CRONS = ("* * * * *", "*/15 * * * *", "0 * * * *", "30 2 * * *", "0 0 * * *", "15 1,2,3 * * *", "0 9 * * 1-5")
moments = st.builds(
    lambda day, second: timestamps.plus(f"2026-{day[0]:02d}-{day[1]:02d}T00:00:00.000Z", second),
    st.sampled_from([(3, 7), (3, 28), (4, 4), (9, 5), (10, 3), (10, 24), (10, 31)]),
    st.integers(0, 3 * 86400),
)


@given(st.sampled_from(CRONS), st.sampled_from(ZONES), moments, st.integers(0, 2 * 86400))
@settings(max_examples=150, deadline=None)
def test_the_ticks_are_the_same_from_wherever_one_looks(cron, zone, start, later):
    timing = Timing(cron=cron, zone=zone)
    from_start = upcoming(timing, start, 100)
    assert all(earlier < after for earlier, after in pairwise((start, *from_start)))
    between = timestamps.plus(start, later)
    if from_start[-1] > between:
        assert next_tick(timing, between) == next(tick for tick in from_start if tick > between)
        passed = [tick for tick in from_start if tick <= between]
        if passed:
            assert latest_tick(timing, passed[0], between) == passed[-1]


def test_a_month_without_a_look_is_found_from_its_end():
    assert latest_tick(Timing("* * * * *"), "2020-01-01T00:00:00.000Z", "2026-01-01T00:00:30.000Z") == (
        "2026-01-01T00:00:00.000Z"
    )
    assert latest_tick(Timing("0 0 29 2 *"), "2020-02-29T00:00:00.000Z", "2026-01-01T00:00:00.000Z") == (
        "2024-02-29T00:00:00.000Z"
    )


def test_an_hour_that_a_day_has_twice_counts_once_for_a_time_and_twice_for_every_hour():
    start = "2026-10-24T23:30:00.000Z"
    assert upcoming(Timing("30 2 * * *", "Europe/Berlin"), start, 2) == [
        "2026-10-25T00:30:00.000Z",
        "2026-10-26T01:30:00.000Z",
    ]
    assert upcoming(Timing("30 * * * *", "Europe/Berlin"), start, 3) == [
        "2026-10-25T00:30:00.000Z",
        "2026-10-25T01:30:00.000Z",
        "2026-10-25T02:30:00.000Z",
    ]


def test_a_moment_is_shown_as_the_clock_on_the_wall_there_shows_it():
    assert show_local("2026-11-18T08:00:00.000Z", "Europe/Berlin") == "Wed 2026-11-18 09:00 +01:00"
    assert show_local("2026-07-01T08:00:00.000Z", "Asia/Kathmandu") == "Wed 2026-07-01 13:45 +05:45"
