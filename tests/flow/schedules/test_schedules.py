"""Making and changing schedules: the commands of people, and the way of agents."""

import asyncio

import pytest

from fairlead.core import requests as ask
from fairlead.core.events import JobEnqueued, ScheduleTicked
from fairlead.core.limits import Limits
from fairlead.errors import Code
from tests.flow.commands.harness import refused
from tests.flow.harness import FlowHarness, conversation_ref, run_flow, virtually
from tests.flow.schedules.test_ticking import add, at, ticks, wait_until

pytestmark = pytest.mark.req("E10")

FRIEND = "7"


def open_to_friends() -> Limits:
    return Limits(allowed_people=(FRIEND,), schedules_for="allowed")


async def as_friend(flow: FlowHarness, request: ask.Request):
    return await flow.gate.command(request, flow.caller(FRIEND, pre_authorised=False))


@virtually
async def test_a_time_in_words_is_shown_back_and_counts_when_it_is_confirmed():
    async with run_flow() as flow:
        shown = await flow.command(add("every weekday at 9", zone="Europe/Berlin"))
        assert (shown.done, shown.schedule.cron, shown.schedule.zone) == ("proposed", "0 9 * * 1-5", "Europe/Berlin")
        assert shown.schedule.next_local == (
            "Mon 2026-01-05 09:00 +01:00" if flow.flow.ledger.now() < at("08:00") else "Tue 2026-01-06 09:00 +01:00",
            *shown.schedule.next_local[1:],
        )
        assert len(shown.schedule.next) == 3
        await wait_until(flow, at("12:00", "2026-01-06"))
        assert ticks(flow) == []
        confirmed = await flow.command(ask.ScheduleConfirm())
        assert (confirmed.done, confirmed.schedule.status) == ("confirmed", "active")
        await wait_until(flow, at("12:00", "2026-01-07"))
        assert ticks(flow) == [(at("08:00", "2026-01-07"), "ran")]
        assert await refused(flow.command(ask.ScheduleConfirm())) is Code.E_SCHEDULE_NOT_FOUND


@virtually
async def test_a_schedule_is_paused_resumed_run_by_hand_and_removed():
    async with run_flow() as flow:
        await flow.command(add("0 * * * *"))
        assert (await flow.command(ask.SchedulePause(1))).schedule.status == "paused"
        await wait_until(flow, at("10:30"))
        assert ticks(flow) == []
        resumed = await flow.command(ask.ScheduleResume(1))
        assert resumed.schedule.next[0] == at("11:00")
        ran = await flow.command(ask.ScheduleRun("click", 1))
        await flow.ended(ran.job_id)
        await wait_until(flow, at("11:30"))
        assert ticks(flow) == [("", "ran"), (at("11:00"), "ran")]
        [row] = (await flow.command(ask.ScheduleList())).schedules
        assert (row.number, row.runs, row.next) == (1, 2, (at("12:00"),))
        assert (await flow.command(ask.ScheduleRemove(1))).done == "removed"
        await wait_until(flow, at("14:00"))
        assert len(ticks(flow)) == 2
        assert (await flow.command(ask.ScheduleList())).schedules == ()


@virtually
async def test_only_the_owner_makes_schedules_unless_the_owner_says_otherwise():
    async with run_flow(limits=Limits(allowed_people=(FRIEND,))) as flow:
        assert await refused(as_friend(flow, add("0 * * * *"))) is Code.E_OWNER_ONLY


@virtually
async def test_a_friend_has_schedules_of_their_own_and_no_commands_before_them():
    async with run_flow(limits=open_to_friends()) as flow:
        await flow.command(add("0 * * * *"))
        await as_friend(flow, add("0 * * * *"))
        assert await refused(as_friend(flow, add("0 * * * *", check="true"))) is Code.E_OWNER_ONLY
        assert [row.number for row in (await as_friend(flow, ask.ScheduleList())).schedules] == [2]
        assert await refused(as_friend(flow, ask.ScheduleRemove(1))) is Code.E_SCHEDULE_NOT_FOUND
        assert (await as_friend(flow, ask.SchedulePause(2))).done == "paused"
        assert flow.choices("schedule", caller=flow.caller(FRIEND, pre_authorised=False)) == ["2"]


@virtually
async def test_a_friend_cannot_change_the_owners_schedule_in_a_shared_thread():
    async with run_flow(limits=open_to_friends()) as flow:
        await flow.command(add("0 * * * *"))
        shared = flow.state.schedules[1].terms
        flow.state.schedules[1].terms = type(shared)(
            timing=shared.timing,
            text=shared.text,
            person=shared.person,
            conversation=conversation_ref("thread"),
            session_key="agent:fairlead:thread:guild:1",
        )
        assert await refused(as_friend(flow, ask.ScheduleRemove(1))) is Code.E_OWNER_ONLY


@virtually
async def test_what_cannot_be_is_refused_with_the_reason():
    async with run_flow() as flow:
        for wrong, code in (
            (add("0 0 30 2 *"), Code.E_SCHEDULE_TIME),
            (add("0 9 * * *", zone="Nowhere"), Code.E_SCHEDULE_TIME),
            (add("0 9 * * *", "x" * 9000), Code.E_MESSAGE_TOO_LARGE),
            (add("0 9 * * *", check="'"), Code.E_INVALID_ARGS),
            (add("0 9 * * *", tell=("666",)), Code.E_INVALID_ARGS),
            (add("0 9 * * *", session="here", project="api"), Code.E_INVALID_ARGS),
            (add("0 9 * * *", project="nothing"), Code.E_PROJECT_NOT_FOUND),
            (ask.SchedulePause(9), Code.E_SCHEDULE_NOT_FOUND),
        ):
            assert await refused(flow.command(wrong)) is code
        assert not flow.state.schedules


@virtually
async def test_once_after_its_time_cannot_be_resumed():
    async with run_flow() as flow:
        await flow.command(add("2026-01-05 09:00"))
        await flow.command(ask.SchedulePause(1))
        await wait_until(flow, at("10:00"))
        assert await refused(flow.command(ask.ScheduleResume(1))) is Code.E_SCHEDULE_TIME


@virtually
async def test_an_agent_makes_a_schedule_in_its_own_session():
    async with run_flow() as flow:
        job = await flow.answered("hello")
        made = await flow.flow.schedules.add_for_agent(job.session_key, when="2026-01-05T10:00:00Z", text="look again")
        assert (made.status, made.next) == ("active", (at("10:00"),))
        assert (
            await refused(flow.flow.schedules.add_for_agent(job.session_key, when="every day at 9", text="look"))
            is Code.E_SCHEDULE_TIME
        )
        await wait_until(flow, at("10:30"))
        await flow.quiet()
        again = flow.facts(JobEnqueued)[1]
        assert (again.session_key, again.person, again.prompt) == (job.session_key, "42", "look again")
        assert again.foreign
        assert flow.facts(ScheduleTicked)[0].outcome == "ran"


@virtually
async def test_two_confirmations_at_once_are_one():
    async with run_flow() as flow:
        await flow.command(add("in 20 minutes"))
        await asyncio.gather(*(flow.command(ask.ScheduleConfirm(1)) for _ in range(2)))
        await wait_until(flow, at("09:00"))
        assert [outcome for _, outcome in ticks(flow)] == ["ran"]


@virtually
async def test_cancel_reaches_a_run_in_a_session_of_its_own():
    async with run_flow() as flow:
        await flow.command(add("0 * * * *", "/slow 900", session="own"))
        await flow.command(add("0 * * * *", "/slow 900", session="own"))
        await wait_until(flow, at("09:01"))
        first, second = (job.job_id for job in flow.facts(JobEnqueued))
        assert (await flow.command(ask.Cancel(first))).stopping == (first,)
        assert (await flow.ended(first)).state == "cancelled"
        assert flow.state.jobs[second].is_live
        await flow.command(ask.Cancel())
        assert (await flow.ended(second)).state == "cancelled"
