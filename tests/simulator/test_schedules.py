"""Schedules in many small worlds: crashes, full disks and clocks that are set; each tick is settled, and runs once."""

import pytest

from fairlead.testing.schedule_people import everybody_and_schedules
from tests.simulator.test_seeds import AT_A_TIME, simulate_all

pytestmark = pytest.mark.req("E10")


@pytest.mark.parametrize("first", range(0, 2 * AT_A_TIME, AT_A_TIME))
def test_every_tick_is_settled_and_runs_once_whatever_happens(first):
    reports, happened = simulate_all(range(first, first + AT_A_TIME), everybody_and_schedules)
    assert sum(r.lives for r in reports) > AT_A_TIME
    for what in ("ticks: ran", "ticks: overlap", "ticks: missed", "ticks: check", "checks", "runs by hand"):
        assert happened[what] > 0, f"{what}: {happened[what]}"
    assert happened["jumps of the clock"] > 3
