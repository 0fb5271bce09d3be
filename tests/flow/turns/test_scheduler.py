"""Whose turn it is: in order within a session, fairly between them, never more at once than there are slots."""

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.core import events as e
from fairlead.core import requests as ask
from fairlead.core.limits import Limits
from fairlead.errors import Code
from fairlead.flow.turns.turn import TurnSettings
from fairlead.testing.clock import run_virtually
from fairlead.testing.runtime import AgentLog
from tests.flow.harness import OWNER, run_flow, virtually

pytestmark = pytest.mark.req("A16")


@pytest.mark.req("A8")
@virtually
async def test_messages_of_one_session_run_in_the_order_they_came_one_at_a_time():
    async with run_flow(limits=Limits(global_max_running=5)) as flow:
        for number in range(10):
            await flow.say(f"{number}\n/slow {10 - number}")
        await flow.quiet()
        assert [i.prompt.split()[0] for i in flow.agents.invoked] == [str(n) for n in range(10)]
        assert flow.agents.violations == []
        assert flow.agents.most_active == 1


@pytest.mark.req("A17")
@virtually
async def test_no_more_run_at_once_than_there_are_slots():
    async with run_flow(agents=AgentLog(slots=2)) as flow:
        for user in range(6):
            await flow.say("/slow 10", user=f"u{user}")
        await flow.quiet()
        assert flow.agents.most_active == 2
        assert flow.agents.violations == []


@virtually
async def test_a_session_with_a_long_queue_does_not_starve_the_others():
    async with run_flow(limits=Limits(global_max_running=1)) as flow:
        for number in range(5):
            await flow.say(f"busy {number}\n/slow 1", user="busy")
        await flow.say("quiet 0\n/slow 1", user="quiet")
        await flow.say("quiet 1\n/slow 1", user="quiet")
        await flow.quiet()
        order = [" ".join(i.prompt.split()[:2]) for i in flow.agents.invoked]
        assert order[:4] == ["busy 0", "quiet 0", "busy 1", "quiet 1"]


@settings(max_examples=30)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5)), max_size=15), st.integers(1, 3))
def test_whatever_comes_every_session_keeps_its_order_and_the_slots_hold(messages, slots):
    async def story() -> None:
        async with run_flow(limits=Limits(global_max_running=slots), agents=AgentLog(slots=slots)) as flow:
            for number, (user, seconds) in enumerate(messages):
                await flow.say(f"{number}\n/slow {seconds}", user=f"u{user}")
            await flow.quiet()
            assert flow.agents.violations == []
            for user in range(4):
                ran = [int(i.prompt.split()[0]) for i in flow.agents.invoked if i.session_key.endswith(f"u{user}")]
                assert ran == [n for n, (who, _) in enumerate(messages) if who == user]

    run_virtually(story())


@virtually
async def test_a_job_that_waits_for_a_person_frees_its_slot_and_goes_on_first_when_answered():
    async with run_flow(limits=Limits(global_max_running=1), agents=AgentLog(slots=1)) as flow:
        asking = await flow.say("/ask ls\n/slow 5", user="a")
        question = await flow.question()
        other = await flow.say("/slow 60", user="b")
        await flow.until(lambda: flow.state.jobs[other.job_id].state == "running")
        third = await flow.say("/slow 1", user="c")
        await flow.click(question)
        await asyncio.sleep(30)
        assert flow.state.jobs[asking.job_id].state == "waiting", "answered, but the slot is taken"
        await flow.ended(other.job_id)
        await flow.until(lambda: flow.state.jobs[asking.job_id].state == "running")
        assert flow.state.jobs[third.job_id].state == "queued"
        await flow.quiet()
        assert flow.agents.violations == []
        assert [i.job_id for i in flow.agents.invoked] == [asking.job_id, other.job_id, third.job_id]


@virtually
async def test_at_most_eight_wait_and_the_ninth_is_told_no():
    async with run_flow(limits=Limits(max_waiting=8, question_timeout_sec=10_000)) as flow:
        jobs = [(await flow.say("/ask ls", user=f"u{n}")).job_id for n in range(8)]
        await flow.until(lambda: len(flow.state.waiting) == 8)
        ninth = await flow.ended((await flow.say("/ask ls", user="u9")).job_id)
        assert ninth.state == "success"
        assert "denied: ls (8 jobs already wait" in (ninth.result_excerpt or "")
        assert len(flow.state.waiting) == 8
        for question in list(flow.state.questions):
            await flow.click(question)
        for job in jobs:
            assert "allowed: ls" in ((await flow.ended(job)).result_excerpt or "")


@pytest.mark.req("B10")
@virtually
async def test_a_shutdown_lets_running_jobs_finish_and_leaves_queued_ones():
    async with run_flow() as flow:
        running = await flow.say("/slow 20")
        queued = await flow.say("next")
        await flow.until(lambda: len(flow.state.running) == 1)
        began = asyncio.get_running_loop().time()
        await flow.flow.scheduler.drain(30)
        assert 15 < asyncio.get_running_loop().time() - began < 25
        assert flow.state.jobs[running.job_id].state == "success"
        assert flow.state.jobs[queued.job_id].state == "queued"
        disk = flow.disk
    async with run_flow(disk=disk, life=1) as flow:
        assert (await flow.ended(queued.job_id)).state == "success"


@pytest.mark.req("B10")
@pytest.mark.parametrize("how", ["/hang", "/hang deaf", "/ask ls"])
def test_a_shutdown_ends_what_does_not_finish_in_time(how: str):
    async def story() -> None:
        async with run_flow(settings=TurnSettings(interrupt_grace_sec=5)) as flow:
            stuck = await flow.say(f"some words\n{how}")
            await flow.until(lambda: flow.state.jobs[stuck.job_id].state in {"running", "waiting"})
            await asyncio.sleep(1)
            began = asyncio.get_running_loop().time()
            await flow.flow.scheduler.drain(30)
            assert asyncio.get_running_loop().time() - began <= 40
            job = flow.state.jobs[stuck.job_id]
            assert (job.state, job.error_code) == ("failed", "E_SHUTDOWN")
            disk = flow.disk
        async with run_flow(disk=disk, life=1) as flow:
            again = await flow.command(ask.Retry(stuck.job_id))
            assert again.attempt == 2

    run_virtually(story())


@pytest.mark.req("B10")
@virtually
async def test_a_shutdown_with_nothing_to_do_is_over_at_once():
    async with run_flow() as flow:
        await flow.flow.scheduler.drain(30)
        assert asyncio.get_running_loop().time() < 1


@pytest.mark.req("B10")
@virtually
async def test_a_job_whose_start_is_just_being_written_is_let_finish_too():
    async with run_flow() as flow:
        job_id = (await flow.say("/slow 5")).job_id
        flow.writer.held = True
        while flow.state.jobs[job_id].state != "running":
            await asyncio.sleep(0.0005)
        draining = asyncio.ensure_future(flow.flow.scheduler.drain(30))
        await asyncio.sleep(1)
        flow.writer.release()
        await draining
        assert flow.state.jobs[job_id].state == "success"


@pytest.mark.req("A18")
@virtually
async def test_a_job_whose_agent_is_no_longer_there_fails_and_says_what_to_do():
    async with run_flow() as flow:
        await flow.answered("hello")
        disk = flow.disk
    async with run_flow(disk=disk, runtimes=[], limits=Limits(runtimes=("echo",))) as flow:
        job = await flow.answered("hello")
        assert (job.state, job.error_code) == ("failed", Code.E_CLI_NOT_FOUND)
        assert "choose another agent with /tool" in (job.error_message or "")


@virtually
async def test_a_cancel_in_the_moment_before_a_start_is_durable_is_not_lost():
    async with run_flow() as flow:
        flow.writer.held = True
        saying = asyncio.ensure_future(flow.say("/hang deaf"))
        while not flow.state.running:
            await asyncio.sleep(0.0005)
        cancelling = asyncio.ensure_future(flow.command(ask.Cancel()))
        await asyncio.sleep(1)
        flow.writer.release()
        job_id = (await saying).job_id
        assert (await cancelling).stopping == (job_id,)
        assert (await flow.ended(job_id)).state == "cancelled"
        assert flow.agents.invoked == [], "it ended before it began"
        assert [f.person for f in flow.facts(e.JobCancelled)] == [OWNER]
