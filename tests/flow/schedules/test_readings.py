"""What people write for a time, and how it is read."""

import pytest

from fairlead.core.schedules import Timing
from fairlead.errors import Code, FairleadError
from fairlead.flow.schedules.readings import read_when
from fairlead.flow.schedules.times import check_timing

pytestmark = pytest.mark.req("E10")

NOW = "2026-11-17T11:00:00.000Z"
"""A Tuesday; noon in Berlin."""
BERLIN = "Europe/Berlin"


@pytest.mark.parametrize(
    ("words", "cron"),
    [
        ("every minute", "* * * * *"),
        ("every 15 minutes", "*/15 * * * *"),
        ("every hour", "0 * * * *"),
        ("hourly", "0 * * * *"),
        ("every 2 hours", "0 */2 * * *"),
        ("every day at 9", "0 9 * * *"),
        ("Daily at 9:30 PM", "30 21 * * *"),
        ("every weekday at 9", "0 9 * * 1-5"),
        ("weekends at noon", "0 12 * * 0,6"),
        ("every monday and friday at 8:05", "5 8 * * 1,5"),
        ("mondays, thursdays at midnight", "0 0 * * 1,4"),
        ("every month on the 1st at 6am", "0 6 1 * *"),
    ],
)
def test_words_that_recur_are_read_as_cron_and_have_to_be_confirmed(words, cron):
    reading = read_when(words, BERLIN, NOW)
    assert reading.timing == Timing(cron=cron, zone=BERLIN)
    assert not reading.is_exact


@pytest.mark.parametrize(
    ("words", "at"),
    [
        ("in 20 minutes", "2026-11-17T11:20:00.000Z"),
        ("in 2 days", "2026-11-19T11:00:00.000Z"),
        ("today at 17:00", "2026-11-17T16:00:00.000Z"),
        ("at 17:00", "2026-11-17T16:00:00.000Z"),
        ("at 9", "2026-11-18T08:00:00.000Z"),
        ("tomorrow at 8:30", "2026-11-18T07:30:00.000Z"),
        ("friday at 8", "2026-11-20T07:00:00.000Z"),
        ("tuesday at 11", "2026-11-24T10:00:00.000Z"),
        ("tomorrow at 8:30 in America/New_York", "2026-11-18T13:30:00.000Z"),
    ],
)
def test_words_for_one_moment_are_read_in_the_zone_and_have_to_be_confirmed(words, at):
    reading = read_when(words, BERLIN, NOW)
    assert reading.timing.at == at
    assert not reading.is_exact


@pytest.mark.parametrize(
    ("text", "timing"),
    [
        ("0 9 * * 1-5", Timing(cron="0 9 * * 1-5", zone=BERLIN)),
        ("0 9 * * mon-fri Asia/Tokyo", Timing(cron="0 9 * * MON-FRI", zone="Asia/Tokyo")),
        ("@daily", Timing(cron="0 0 * * *", zone=BERLIN)),
        ("2026-12-24 18:00", Timing(at="2026-12-24T17:00:00.000Z", zone=BERLIN)),
        ("once at 2026-12-24T18:00:00Z", Timing(at="2026-12-24T18:00:00.000Z", zone=BERLIN)),
        ("at 2026-12-24 18:00 UTC", Timing(at="2026-12-24T18:00:00.000Z", zone="UTC")),
    ],
)
def test_an_exact_time_needs_no_confirmation(text, timing):
    reading = read_when(text, BERLIN, NOW)
    assert reading.timing == timing
    assert reading.is_exact


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("soon", "cannot be read"),
        ("every 7 minutes", "uneven"),
        ("every day at 25", "cannot be read"),
        ("every day at 13pm", "cannot be read"),
        ("every day at 9 in Mars/Base", "no time zone"),
        ("0 0 30 2 *", "no cron expression that fires"),
        ("0 0 31 2,4,6 *", "no cron expression that fires"),
        ("61 * * * *", "no cron expression that fires"),
        ("*/5 * * * * *", "cannot be read"),
        ("2020-01-01 10:00", "has passed"),
        ("today at 11", "has passed"),
        ("2027-03-28 02:30", "the clocks go forward"),
    ],
)
def test_a_time_that_never_comes_is_refused_with_the_reason(text, words):
    with pytest.raises(FairleadError, match=words) as refusal:
        check_timing(read_when(text, BERLIN, NOW).timing, NOW)
    assert refusal.value.code is Code.E_SCHEDULE_TIME
