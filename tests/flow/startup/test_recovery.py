"""After a crash: what ran is unknown, what was queued runs, and nothing runs twice."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from fairlead.core.engine import EngineEvent, HandingOver, Invocation, TurnEnded
from fairlead.core.events import JobRequeued
from fairlead.testing.runtime import AgentLog
from tests.flow.harness import Agent, run_flow, virtually

pytestmark = pytest.mark.req("A16")


@pytest.mark.req("A8", "A20")
@virtually
async def test_after_a_crash_running_jobs_are_unknown_queued_ones_run_and_nothing_runs_twice():
    agents = AgentLog()
    async with run_flow(agents=agents) as flow:
        running = await flow.say("/hang")
        waiting = await flow.say("/ask ls", user="b")
        queued = await flow.say("later")
        await flow.until(lambda: len(flow.state.running) == 1 and len(flow.state.waiting) == 1)
        disk = flow.disk
    agents.end_all()
    async with run_flow(disk=disk, agents=agents, life=1) as flow:
        assert (await flow.ended(queued.job_id)).state == "success"
        for job_id in (running.job_id, waiting.job_id):
            job = flow.state.jobs[job_id]
            assert (job.state, job.error_code) == ("unknown_after_crash", "E_UNKNOWN_AFTER_CRASH")
        assert agents.violations == []
        assert [i.job_id for i in agents.invoked] == [running.job_id, waiting.job_id, queued.job_id]


@pytest.mark.req("A8")
@virtually
async def test_a_job_whose_agent_was_only_being_started_is_first_in_its_queue_again_and_runs_once():
    given: list[str] = []

    async def start_for_ever(_invocation: Invocation) -> AsyncIterator[EngineEvent]:
        await asyncio.get_running_loop().create_future()
        yield HandingOver()

    async def answer(invocation: Invocation) -> AsyncIterator[EngineEvent]:
        yield HandingOver()
        given.append(invocation.prompt)
        yield TurnEnded("done")

    async with run_flow(runtimes=[Agent(start_for_ever, hand_over="told")]) as flow:
        first = await flow.say("first")
        second = await flow.say("second")
        await flow.until(lambda: flow.state.running == [first.job_id])
        disk = flow.disk
    async with run_flow(disk=disk, runtimes=[Agent(answer, hand_over="told")], life=1) as flow:
        assert (await flow.ended(first.job_id)).state == "success"
        assert (await flow.ended(second.job_id)).state == "success"
        assert given == ["first", "second"]
        assert [fact.job_id for fact in flow.facts(JobRequeued)] == [first.job_id]


@pytest.mark.req("A8")
@virtually
async def test_the_prompt_leaves_only_when_its_hand_over_is_on_disk():
    given: list[str] = []

    async def answer(invocation: Invocation) -> AsyncIterator[EngineEvent]:
        flow.writer.held = True
        yield HandingOver()
        given.append(invocation.prompt)
        yield TurnEnded("done")

    async with run_flow(runtimes=[Agent(answer, hand_over="told")]) as flow:
        saying = asyncio.ensure_future(flow.say("hello"))
        await asyncio.sleep(60)
        [job] = flow.state.jobs.values()
        assert (job.state, job.awaits_hand_over, given) == ("running", False, [])
        flow.writer.release()
        assert (await flow.ended((await saying).job_id)).state == "success"
        assert given == ["hello"]
