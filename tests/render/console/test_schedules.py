"""The page *Schedules*: buttons for whoever may press them, and words of others as text."""

import pytest

from fairlead.core.replies import ScheduleRow
from fairlead.render.console.schedules import schedules_page

pytestmark = pytest.mark.req("G9")

NOW = "2026-11-18T07:00:00.000Z"


def row(**more: object) -> ScheduleRow:
    given = {
        "number": 3,
        "status": "active",
        "cron": "0 9 * * *",
        "zone": "Asia/Tokyo",
        "text": "look",
        "person": "ann",
        "session": "here",
        "missed": "run",
        "overlap": "skip",
        "ring": "usual",
    }
    return ScheduleRow(**{**given, **more})  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    ("status", "actions"),
    [
        ("proposed", ["confirm", "remove"]),
        ("active", ["run", "pause", "remove"]),
        ("paused", ["run", "resume", "remove"]),
        ("done", ["remove"]),
    ],
)
def test_a_schedule_has_the_buttons_of_its_status(status: str, actions: list[str]):
    page = schedules_page((row(status=status),), "", "en", NOW)
    assert [part.split('"')[0] for part in page.split('action="/console/schedules/3/')[1:]] == actions


def test_somebody_elses_schedule_has_no_buttons():
    assert "<form" in schedules_page((row(),), "ann", "en", NOW)
    assert "<form" not in schedules_page((row(),), "ben", "en", NOW)


def test_ticks_outcomes_and_checks_are_shown_and_nothing_of_them_runs():
    shown = row(
        text="<script>x</script>",
        next=("2026-11-19T00:00:00.000Z",),
        next_local=("Thu 2026-11-19 09:00 +09:00",),
        last_tick="2026-11-18T00:00:00.000Z",
        last_outcome="refused",
        last_detail="<b>queue</b>",
        check=("test", "-f", "a b"),
    )
    page = schedules_page((shown,), "", "en", NOW)
    assert "<script" not in page
    assert "<b>" not in page
    expected = ("Next (Asia/Tokyo):", "Thu 2026-11-19 09:00 +09:00", "did not run", "$ test -f 'a b'")
    assert [word for word in expected if word not in page] == []
