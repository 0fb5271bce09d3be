"""Ticks become jobs, each once: on time, late, during the last run, after a restart and when the clock is set."""

import asyncio

import pytest

from fairlead.core import requests as ask
from fairlead.core import timestamps
from fairlead.core.events import JobEnqueued, MessageSkipped, ScheduleTicked
from fairlead.flow.schedules.checks import CheckResult
from fairlead.testing.clock import EPOCH
from tests.flow.harness import FlowHarness, conversation_ref, run_flow, virtually

pytestmark = pytest.mark.req("E10")

HOUR = 3600.0


def add(when: str, text: str = "look at the build", **more) -> ask.ScheduleAdd:
    return ask.ScheduleAdd(when=when, text=text, zone=more.pop("zone", "UTC"), **more)


def at(clock: str, day: str = "2026-01-05") -> str:
    """A moment of the Monday on which every virtual loop begins at eight."""
    return f"{day}T{clock}:00.000Z"


def ticks(flow: FlowHarness) -> list[tuple[str, str]]:
    return [(t.tick, t.outcome) for t in flow.facts(ScheduleTicked)]


async def wait_until(flow: FlowHarness, moment: str) -> None:
    await asyncio.sleep(timestamps.seconds_between(flow.flow.ledger.now(), moment))
    await flow.flow.ledger.until_all_durable()


def set_clock(flow: FlowHarness, seconds: float) -> None:
    flow.world.clock.offset += seconds  # type: ignore[attr-defined]


@virtually
async def test_a_schedule_fires_at_each_of_its_times_as_an_ordinary_job():
    async with run_flow() as flow:
        await flow.command(add("0 9,10 * * *", "say hello"))
        await wait_until(flow, at("10:30"))
        await flow.quiet()
        jobs = flow.facts(JobEnqueued)
        assert [(j.cause, j.prompt, j.message_id) for j in jobs] == [
            ("schedule", "say hello", f"schedule-1-{at('09:00')}"),
            ("schedule", "say hello", f"schedule-1-{at('10:00')}"),
        ]
        assert [i.prompt for i in flow.agents.invoked] == ["say hello", "say hello"]
        assert flow.texts(conversation_ref("42"))[0].startswith("⏰ Schedule 1: say hello\n")


@virtually
async def test_a_schedule_that_fires_once_is_done_afterwards_and_forgotten_a_week_later():
    async with run_flow() as flow:
        await flow.command(add("2026-01-05 09:00", "say hello"))
        await wait_until(flow, at("12:00"))
        assert ticks(flow) == [(at("09:00"), "ran")]
        assert flow.state.schedules[1].status == "done"
        for day in range(6, 16):
            await wait_until(flow, at("12:00", f"2026-01-{day:02d}"))
            await flow.answered("another day")
        assert not flow.state.schedules


@virtually
async def test_a_tick_while_the_last_run_has_not_ended_is_recorded_as_skipped():
    async with run_flow() as flow:
        await flow.command(add("*/10 * * * *", "/slow 900"))
        await wait_until(flow, at("08:35"))
        assert ticks(flow) == [(at("08:10"), "ran"), (at("08:20"), "overlap"), (at("08:30"), "ran")]
        [skipped] = flow.facts(MessageSkipped)
        assert skipped.message_id == f"schedule-1-{at('08:20')}"
        assert flow.state.schedules[1].skipped == 1


@virtually
async def test_a_schedule_may_let_its_runs_queue():
    async with run_flow() as flow:
        await flow.command(add("*/10 * * * *", "/slow 900", overlap="queue"))
        await wait_until(flow, at("08:25"))
        assert ticks(flow) == [(at("08:10"), "ran"), (at("08:20"), "ran")]


@virtually
@pytest.mark.parametrize(("missed", "outcome"), [("run", "ran"), ("skip", "missed")])
async def test_times_at_which_nobody_ran_count_once_or_not_at_all(missed, outcome):
    async with run_flow() as flow:
        await flow.command(add("0 * * * *", "say hello", missed=missed))
        await wait_until(flow, at("09:30"))
        await flow.quiet()
        disk = flow.disk
    await asyncio.sleep(4 * HOUR)
    async with run_flow(disk=disk, agents=flow.agents) as flow:
        await wait_until(flow, at("14:30"))
        settled = flow.facts(ScheduleTicked)
        assert ticks(flow) == [(at("09:00"), "ran"), (at("13:00"), outcome), (at("14:00"), "ran")]
        assert [t.missed_from for t in settled] == ["", at("10:00"), ""]
        await flow.quiet()
        assert len(flow.agents.invoked) == (3 if missed == "run" else 2)


@virtually
async def test_a_restart_on_the_very_second_runs_no_tick_twice():
    async with run_flow() as flow:
        await flow.command(add("0 * * * *", "say hello"))
        await wait_until(flow, at("09:00"))
        await asyncio.sleep(0.05)
        disk = flow.disk
    async with run_flow(disk=disk, agents=flow.agents) as flow:
        await wait_until(flow, at("09:30"))
        assert ticks(flow) == [(at("09:00"), "ran")]
        assert len({i.job_id for i in flow.agents.invoked}) == 1


@virtually
async def test_a_clock_that_is_set_forward_and_back_makes_every_tick_run_once_at_most():
    async with run_flow() as flow:
        await flow.command(add("0 * * * *", "say hello"))
        await wait_until(flow, at("08:30"))
        set_clock(flow, 3 * HOUR)
        await asyncio.sleep(60)
        assert ticks(flow) == [(at("11:00"), "ran")]
        set_clock(flow, -3 * HOUR)
        await wait_until(flow, at("12:30"))
        assert ticks(flow) == [(at(f"{hour}:00"), "ran") for hour in ("11", "09", "10", "12")]


@virtually
async def test_a_clock_that_was_far_ahead_delays_nothing_when_it_is_right_again():
    async with run_flow() as flow:
        await flow.command(add("0 9 * * *", "say hello"))
        await asyncio.sleep(60)
        set_clock(flow, 70 * 365 * 24 * HOUR)
        await asyncio.sleep(60)
        assert flow.state.schedules[1].due > "2095"
        disk, late = flow.disk, len(ticks(flow))
    async with run_flow(disk=disk) as flow:
        assert flow.flow.ledger.now() < "2027"
        await wait_until(flow, at("09:05"))
        assert ticks(flow)[late:] == [(at("09:00"), "ran")]


@virtually
async def test_a_tick_that_cannot_run_is_told_once():
    async with run_flow() as flow:
        await flow.command(add("0 * * * *", project="api", session="own"))
        await flow.command(ask.ProjectRemove("api"))
        await wait_until(flow, at("11:30"))
        await flow.quiet()
        assert [outcome for _, outcome in ticks(flow)] == ["refused"] * 3
        [told] = flow.texts(conversation_ref("42"))
        assert "Schedule 1 did not run at 2026-01-05 09:00 UTC" in told
        assert "E_PROJECT_NOT_FOUND" in told


@virtually
async def test_a_run_in_a_session_of_its_own_leaves_the_conversation_alone():
    async with run_flow() as flow:
        mine = await flow.answered("hello")
        await flow.command(add("0 9 * * *", session="own"))
        await flow.command(add("0 9 * * *", session="fresh"))
        await wait_until(flow, at("09:30", "2026-01-06"))
        await flow.quiet()
        jobs = flow.facts(JobEnqueued)[1:]
        assert {j.session_key for j in jobs} == {"agent:fairlead:schedule:1", "agent:fairlead:schedule:2"}
        assert all(flow.state.sessions[j.session_key].parent_session_key == mine.session_key for j in jobs)
        resumed = [(i.session_key[-1], bool(i.resume_key)) for i in flow.agents.invoked[1:]]
        assert sorted(resumed) == [("1", False), ("1", True), ("2", False), ("2", False)]
        assert len(flow.texts(conversation_ref("42"))) == 5
        assert flow.state.session_at(conversation_ref("42"), flow.flow.ledger.now()).session_key == mine.session_key


class Checks:
    def __init__(self, *results: CheckResult) -> None:
        self.asked: list[tuple[tuple[str, ...], str]] = []
        self._results = list(results)

    async def run(self, argv, directory, mark):
        self.asked.append((argv, directory))
        await asyncio.sleep(5)
        return self._results.pop(0)


@virtually
async def test_a_check_decides_whether_a_schedule_runs():
    checks = Checks(
        CheckResult(passed=False, detail="exit code 1"),
        CheckResult(passed=True, detail="exit code 0"),
        CheckResult(passed=False, detail="nothing was not found"),
        CheckResult(passed=False, detail="nothing was not found"),
    )
    async with run_flow(checks=checks) as flow:
        await flow.command(add("0 * * * *", check="git diff --quiet 'a b'"))
        await wait_until(flow, at("12:30"))
        await flow.quiet()
        assert checks.asked == [(("git", "diff", "--quiet", "a b"), "/srv/api")] * 4
        assert [t.outcome for t in flow.facts(ScheduleTicked)] == ["check", "ran", "check", "check"]
        assert [t.detail for t in flow.facts(ScheduleTicked)][:2] == ["exit code 1", "exit code 0"]
        told = [text for text in flow.texts(conversation_ref("42")) if "did not run" in text]
        assert len(told) == 1
        assert "E_SCHEDULE_CHECK" in told[0]


@virtually
async def test_a_schedule_that_was_removed_while_its_check_ran_does_not_run():
    async with run_flow(checks=Checks(CheckResult(passed=True, detail="exit code 0"))) as flow:
        await flow.command(add("0 * * * *", check="true"))
        await wait_until(flow, at("09:00"))
        await asyncio.sleep(2)
        await flow.command(ask.ScheduleRemove(1))
        await wait_until(flow, at("09:30"))
        assert not flow.facts(JobEnqueued)


@virtually
async def test_a_full_disk_delays_a_tick_and_loses_none():
    async with run_flow() as flow:
        await flow.command(add("0 * * * *"))
        await wait_until(flow, at("08:59"))
        flow.disk.capacity = 0
        waiting = asyncio.ensure_future(flow.say("is anybody there?"))
        await asyncio.sleep(600)
        assert flow.flow.ledger.is_stalled
        assert flow.state.schedules[1].due == at("09:00")
        flow.disk.capacity = None
        await waiting
        await flow.until(lambda: flow.state.schedules[1].runs == 1)


async def due_after(zone: str, cron: str, start: str, days: int) -> list[str]:
    """What a schedule does from `start` on, hour by hour."""
    async with run_flow() as flow:
        set_clock(flow, timestamps.to_epoch(start) - EPOCH - asyncio.get_running_loop().time())
        await flow.command(add(cron, "say hello", zone=zone))
        await asyncio.sleep(days * 24 * HOUR)
        await flow.flow.ledger.until_all_durable()
        return [t.tick for t in flow.facts(ScheduleTicked) if t.outcome == "ran"]


@virtually
async def test_the_night_in_which_the_clocks_go_forward_has_every_tick_once():
    daily = await due_after("Europe/Berlin", "30 2 * * *", "2026-03-27T12:00:00.000Z", 3)
    assert daily == ["2026-03-28T01:30:00.000Z", "2026-03-29T01:00:00.000Z", "2026-03-30T00:30:00.000Z"]


@virtually
async def test_the_night_in_which_the_clocks_go_back_has_every_tick_once():
    daily = await due_after("Europe/Berlin", "30 2 * * *", "2026-10-23T12:00:00.000Z", 3)
    assert daily == ["2026-10-24T00:30:00.000Z", "2026-10-25T00:30:00.000Z", "2026-10-26T01:30:00.000Z"]


@virtually
async def test_a_schedule_of_every_hour_runs_in_each_hour_that_passes():
    hourly = await due_after("America/New_York", "0 * * * *", "2026-11-01T03:30:00.000Z", 1)
    assert hourly[:5] == [f"2026-11-01T0{hour}:00:00.000Z" for hour in (4, 5, 6, 7, 8)]


@virtually
async def test_who_is_told_and_whether_it_rings_is_part_of_the_schedule():
    async with run_flow() as flow:
        await flow.command(add("0 9 * * *", ring="always", tell=("owner",)))
        await wait_until(flow, at("09:30"))
        [job] = flow.facts(JobEnqueued)
        assert (job.ring, job.tell) == ("always", ("42",))


@virtually
async def test_a_tick_whose_time_has_not_come_after_all_is_not_settled():
    """The clock was far ahead when the check began, and right again when it ended."""
    checks = Checks(*(CheckResult(passed=True, detail="exit code 0") for _ in range(2)))
    async with run_flow(checks=checks) as flow:
        await flow.command(add("0 * * * *", check="true"))
        set_clock(flow, 24 * HOUR)
        await flow.until(lambda: bool(checks.asked))
        set_clock(flow, -24 * HOUR)
        await wait_until(flow, at("09:30"))
        assert ticks(flow) == [(at("09:00"), "ran")]
