"""Whatever is restarted and however the clock is set, in the nights in which it changes too: each tick runs once."""

import asyncio
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fairlead.core import timestamps
from fairlead.core.events import JobEnqueued, ScheduleTicked
from fairlead.core.schedules import Timing
from fairlead.flow.schedules.times import upcoming
from fairlead.testing.clock import run_virtually
from fairlead.testing.disk import SimulatedDisk
from tests.flow.harness import run_flow
from tests.flow.schedules.test_ticking import add

pytestmark = pytest.mark.req("E10")

NIGHTS = (
    ("Europe/Berlin", "2026-03-28T22:30:00.000Z"),
    ("Europe/Berlin", "2026-10-24T22:30:00.000Z"),
    ("America/New_York", "2026-03-08T05:30:00.000Z"),
    ("America/New_York", "2026-11-01T04:30:00.000Z"),
    ("Australia/Lord_Howe", "2026-04-04T13:30:00.000Z"),
    ("Australia/Lord_Howe", "2026-10-03T14:00:00.000Z"),
)
CRONS = ("30 * * * *", "15 1,2,3 * * *", "*/20 * * * *", "30 2 * * *")
HOURS = 4
steps = st.lists(
    st.one_of(
        st.tuples(st.just("wait"), st.integers(1, 5400)),
        st.tuples(st.just("restart"), st.integers(0, 3000)),
        st.tuples(st.just("jump"), st.integers(-3000, 3000)),
    ),
    min_size=1,
    max_size=6,
)


class Story:
    """One schedule through all steps, on one disk. `offset` is the wall clock's."""

    def __init__(self, night: tuple[str, str], cron: str, missed: str) -> None:
        self.zone, self.start = night
        self.timing = Timing(cron, self.zone)
        self.missed = missed
        self.disk = SimulatedDisk()
        self.offset = timestamps.to_epoch(self.start)
        self.facts: list[Any] = []

    async def live(self, todo: list[tuple[str, int]]) -> None:
        """Until the next restart, whose pause is the rest of this step."""
        async with run_flow(disk=self.disk) as flow:
            flow.world.clock.offset = self.offset  # type: ignore[attr-defined]
            if not flow.state.schedules:
                await flow.command(add(self.timing.cron, "hello", zone=self.zone, missed=self.missed))
            while todo and todo[0][0] != "restart":
                what, seconds = todo.pop(0)
                if what == "jump":
                    self.offset += seconds
                    flow.world.clock.offset = self.offset  # type: ignore[attr-defined]
                await asyncio.sleep(seconds if what == "wait" else 60)
            await flow.quiet()
            self.facts = flow.facts(JobEnqueued, ScheduleTicked)
        if todo:
            await asyncio.sleep(todo.pop(0)[1])

    async def tell(self, todo: list[tuple[str, int]]) -> None:
        while todo:
            await self.live(todo)
        await self.live([("wait", 3600 * HOURS)])


def run_story(night: tuple[str, str], cron: str, missed: str, todo: list[tuple[str, int]]) -> Story:
    story = Story(night, cron, missed)
    run_virtually(story.tell(list(todo)))
    return story


@given(st.sampled_from(NIGHTS), st.sampled_from(CRONS), st.sampled_from(("run", "skip")), steps)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_each_tick_runs_once_at_most_and_only_ticks_run(night, cron, missed, todo):
    story = run_story(night, cron, missed, todo)
    jobs = [fact.message_id for fact in story.facts if isinstance(fact, JobEnqueued)]
    assert len(jobs) == len(set(jobs))
    known = set(upcoming(story.timing, timestamps.plus(story.start, -86400), 400))
    assert {job.removeprefix("schedule-1-") for job in jobs} <= known


@given(st.sampled_from(NIGHTS), st.sampled_from(CRONS), st.lists(st.integers(60, 5400), max_size=4))
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_with_a_clock_that_is_right_every_tick_is_settled_whatever_is_restarted(night, cron, lives):
    todo = [step for seconds in lives for step in (("wait", seconds), ("restart", 0))]
    story = run_story(night, cron, "run", todo)
    ran = [fact.tick for fact in story.facts if isinstance(fact, ScheduleTicked) and fact.outcome == "ran"]
    assert ran == upcoming(story.timing, story.start, len(ran))
    assert upcoming(story.timing, story.start, len(ran) + 1)[-1] > timestamps.plus(story.start, 3600 * HOURS)
