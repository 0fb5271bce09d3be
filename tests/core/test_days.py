"""The owner's days, where clocks change too."""

from datetime import UTC
from zoneinfo import ZoneInfo

import pytest

from fairlead.core.days import Days
from fairlead.core.timestamps import seconds_between

BERLIN = Days(ZoneInfo("Europe/Berlin"))


@pytest.mark.parametrize(
    ("days", "moment", "day", "ends"),
    [
        (Days(UTC), "2026-11-17T23:59:59.999Z", "2026-11-17", "2026-11-18T00:00:00.000Z"),
        (BERLIN, "2026-11-17T22:59:59.999Z", "2026-11-17", "2026-11-17T23:00:00.000Z"),
        (BERLIN, "2026-11-17T23:00:00.000Z", "2026-11-18", "2026-11-18T23:00:00.000Z"),
        (Days(ZoneInfo("Asia/Tokyo")), "2026-11-17T15:00:00.000Z", "2026-11-18", "2026-11-18T15:00:00.000Z"),
    ],
)
def test_a_day_begins_and_ends_at_the_owners_midnight(days: Days, moment: str, day: str, ends: str):
    assert (days.day_of(moment), days.end_of_day(moment)) == (day, ends)


@pytest.mark.parametrize(
    ("began", "hours"), [("2026-03-28T23:00:00.000Z", 23), ("2026-10-24T22:00:00.000Z", 25)], ids=["spring", "autumn"]
)
def test_a_day_on_which_the_clocks_change_is_shorter_or_longer(began: str, hours: int):
    assert seconds_between(began, BERLIN.end_of_day(began)) == hours * 3600
    assert BERLIN.day_of(began) != BERLIN.day_of(BERLIN.end_of_day(began))


def test_a_midnight_that_does_not_exist_is_the_moment_of_the_change():
    cairo = Days(ZoneInfo("Africa/Cairo"))  # on 2026-04-24 the clocks went from 00:00 to 01:00
    assert cairo.end_of_day("2026-04-23T12:00:00.000Z") == "2026-04-23T22:00:00.000Z"
    assert cairo.day_of("2026-04-23T22:00:00.000Z") == "2026-04-24"


def test_without_a_zone_the_machines_own_counts():
    assert Days(None).day_of("2026-11-17T12:00:00.000Z")[:8] == "2026-11-"
