"""Limits of an agent's account: shown by /agent usage, and named where a turn failed on one."""

from collections.abc import AsyncIterator

import pytest

from fairlead.core import requests as ask
from fairlead.core.engine import EngineEvent, Invocation, LimitsReported, LimitWindow, TurnEnded, TurnFailed
from fairlead.core.replies import UsageReport
from fairlead.errors import Code
from fairlead.flow.turns.limit_windows import LimitWindows, window_words
from fairlead.render.replies import reply_text
from tests.flow.harness import Agent, run_flow, virtually

pytestmark = pytest.mark.req("B1")

WEEK = LimitWindow(name="week", used=0.4, resets_at="2026-11-20T05:00:00.000Z")
FIVE_HOURS = LimitWindow(name="5h", used=1.0, resets_at="2026-11-18T05:00:00.000Z", is_spent=True)


async def play(invocation: Invocation) -> AsyncIterator[EngineEvent]:
    yield LimitsReported((WEEK,))
    if "hello" in invocation.prompt:
        yield TurnEnded("hi")
        return
    yield LimitsReported((FIVE_HOURS,))
    yield TurnFailed(Code.E_AGENT_ERROR, "API Error: 429")


@virtually
async def test_usage_shows_the_windows_and_a_failure_says_until_when_it_lasts():
    async with run_flow(runtimes=[Agent(play)]) as flow:
        assert (await flow.answered("hello")).state == "success"
        assert "limit week: 40%, resets 2026-11-20T05:00:00.000Z" in reply_text(
            await flow.command(ask.AgentUsage()), "en"
        )
        failed = await flow.answered("work")
        assert (failed.state, failed.error_code) == ("failed", "E_AGENT_ERROR")
        await flow.quiet()
        report = await flow.command(ask.AgentUsage())
        assert isinstance(report, UsageReport)
        assert report.windows == (WEEK, FIVE_HOURS)
        assert any("(5h) is used up until 2026-11-18T05:00Z" in post.text for post in flow.history.posts)


def test_a_schedule_is_offered_where_there_are_schedules():
    assert '/schedule add "2026-11-18T05:00Z"' in window_words(FIVE_HOURS, can_schedule=True)
    assert "/schedule" not in window_words(FIVE_HOURS, can_schedule=False)


def test_the_window_that_lasts_longest_counts_and_one_whose_end_is_unknown_does_not():
    windows = LimitWindows()
    later = LimitWindow(name="month", resets_at="2026-12-01T00:00:00.000Z", is_spent=True)
    windows.note("claude", (WEEK, FIVE_HOURS, later, LimitWindow(name="x", is_spent=True)))
    assert windows.find_spent("claude") == later
    assert windows.find_spent("codex") is None
