"""The limits of the account as Claude tells them, in the shape that its SDK documents."""

import json
from typing import Any

import pytest

from fairlead.core.engine import LimitsReported, LimitWindow
from fairlead.runtimes.claude import wire
from fairlead.runtimes.claude.limits import read_limits
from fairlead.runtimes.claude.translate import ClaudeTranslator
from fairlead.runtimes.claude.turn_router import TurnRouter

SPENT = {"status": "rejected", "resetsAt": 1_800_000_000, "rateLimitType": "five_hour", "utilization": 1.02}


def line_of(info: Any) -> bytes:
    return json.dumps({"type": "rate_limit_event", "rate_limit_info": info, "session_id": "s", "uuid": "u"}).encode()


def test_a_line_about_a_limit_becomes_a_window():
    window = LimitWindow(name="5h", used=1.02, resets_at="2027-01-15T08:00:00.000Z", is_spent=True)
    assert ClaudeTranslator(None).feed(line_of(SPENT)) == [LimitsReported((window,))]
    [told] = read_limits({"status": "allowed", "rateLimitType": "seven_day"})
    assert told == LimitsReported((LimitWindow(name="week"),))


@pytest.mark.parametrize("info", [None, [], "x", {}, {"rateLimitType": 7}, {"rateLimitType": ""}], ids=str)
def test_a_line_that_says_nothing_is_left_out_and_fails_no_turn(info: Any):
    assert ClaudeTranslator(None).feed(line_of(info)) == []


def test_values_that_cannot_be_are_left_out():
    info = {**SPENT, "resetsAt": 1e30, "utilization": "much", "rateLimitType": "x" * 99}
    assert read_limits(info) == [LimitsReported((LimitWindow(name="x" * 40, is_spent=True),))]


def test_it_belongs_to_the_job_that_waits_also_before_its_turn_has_begun():
    router = TurnRouter()
    assert router.route(wire.RateLimit(SPENT)) == "agent turn"
    router.expect("prompt")
    assert router.route(wire.RateLimit(SPENT)) == "job"
