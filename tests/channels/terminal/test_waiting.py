"""Why a job waits, or that its machine is away, as the terminal says it."""

import pytest

from fairlead.api import wire as w
from fairlead.channels.terminal.local_time import local_time
from fairlead.channels.terminal.waiting import describe_wait

pytestmark = pytest.mark.req("H8")
SINCE = "2026-01-05T08:00:00.000Z"


def test_a_job_that_waits_for_a_machine_says_for_which_since_when_and_how_to_withdraw_it():
    moved = w.Moved("job_1", "queued", held="machine_away", machine="gpu", machine_away_since=SINCE)
    assert describe_wait(moved, "en") == (
        f"Waiting: gpu is not connected, since {local_time(SINCE)}. /cancel withdraws the message."
    )


def test_a_turn_whose_machine_went_away_goes_on_there():
    moved = w.Moved("job_1", "running", machine="gpu", machine_away_since=SINCE)
    assert describe_wait(moved, "en") == (
        f"gpu is not connected, since {local_time(SINCE)}. The turn goes on there; its answer comes when gpu is back."
    )


def test_nothing_is_said_of_a_job_that_waits_for_its_turn_or_runs():
    assert describe_wait(w.Moved("job_1", "queued", position=2), "en") == ""
    assert describe_wait(w.Moved("job_1", "running", machine="gpu"), "en") == ""
    handed_off = describe_wait(w.Moved("job_1", "queued", held="handed_off"), "en")
    assert handed_off.startswith("Waiting: this session was handed off")
