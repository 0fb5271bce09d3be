"""A turn is told to stop: the agent is asked first, and ended when its grace is over."""

import asyncio

import pytest

from fairlead.core import requests as ask
from fairlead.core.engine import (
    Interrupt,
    PermissionRequested,
    Ready,
    TurnEnded,
    TurnFailed,
)
from fairlead.errors import Code
from tests.flow.harness import Agent, run_flow, virtually
from tests.flow.turns.harness import SHORT, playing

pytestmark = pytest.mark.req("E1")


@pytest.mark.req("A16")
@virtually
async def test_cancelling_asks_the_agent_first_and_takes_its_word():
    async with run_flow() as flow:
        receipt = await flow.say("/hang")
        await flow.until(lambda: len(flow.agents.invoked) == 1)
        reply = await flow.command(ask.Cancel())
        assert reply.stopping == (receipt.job_id,)
        began = asyncio.get_running_loop().time()
        assert (await flow.ended(receipt.job_id)).state == "cancelled"
        assert asyncio.get_running_loop().time() - began < 1


@pytest.mark.req("A16")
@virtually
async def test_an_agent_that_does_not_listen_is_ended_after_the_grace():
    agent = playing(10_000, can={"interrupt": True})
    async with run_flow(runtimes=[agent], settings=SHORT) as flow:
        receipt = await flow.say("hello")
        await flow.until(lambda: agent.open == 1)
        began = asyncio.get_running_loop().time()
        await flow.command(ask.Cancel())
        assert (await flow.ended(receipt.job_id)).state == "cancelled"
        assert 5 <= asyncio.get_running_loop().time() - began < 7
        assert agent.instructions == [Interrupt()]
        assert agent.open == 0


@pytest.mark.req("A16")
@virtually
async def test_a_turn_that_was_told_to_stop_makes_no_second_attempt():
    agent: Agent

    async def play(_invocation):
        await agent.heard.wait()
        yield TurnFailed(Code.E_AGENT_ERROR, "the line was cut", transient=True)

    agent = Agent(play, interrupt=True, second_attempt=True)
    async with run_flow(runtimes=[agent], settings=SHORT) as flow:
        receipt = await flow.say("hello")
        await flow.until(lambda: agent.open == 1)
        await flow.command(ask.Cancel())
        assert (await flow.ended(receipt.job_id)).state == "cancelled"
        assert len(agent.invocations) == 1


@pytest.mark.req("A16", "B10")
@virtually
async def test_a_turn_that_is_ending_of_a_crash_can_be_told_to_stop():
    """Its agent died of the answer it was told, and takes its time to go."""

    class Fragile(Agent):
        async def instruct(self, session_key, told):
            await super().instruct(session_key, told)
            raise BrokenPipeError("nobody there to be told")

    async def play(_invocation):
        try:
            yield PermissionRequested(request_id="r1", tool="Bash", title="Run ls", detail="ls")
            await asyncio.sleep(10_000)
        finally:
            await asyncio.sleep(20)

    agent = Fragile(play)
    async with run_flow(runtimes=[agent], settings=SHORT) as flow:
        receipt = await flow.say("hello")
        await flow.click(await flow.question())
        await agent.heard.wait()
        await asyncio.sleep(5)
        began = asyncio.get_running_loop().time()
        await flow.flow.scheduler.drain(1)
        assert asyncio.get_running_loop().time() - began < 20
        assert flow.state.jobs[receipt.job_id].error_code == Code.E_SHUTDOWN


@virtually
async def test_a_job_that_waits_for_a_person_can_be_cancelled():
    async with run_flow() as flow:
        receipt = await flow.say("/ask rm -rf build")
        question = await flow.question()
        await flow.command(ask.Cancel())
        assert (await flow.ended(receipt.job_id)).state == "cancelled"
        with pytest.raises(Exception, match="E_QUESTION_CLOSED"):
            await flow.click(question)
        assert (await flow.answered("next")).state == "success"


@pytest.mark.req("A7")
@virtually
async def test_an_agent_that_was_only_ready_is_cancelled_without_having_begun():
    reached = []

    async def play(_invocation):
        try:
            yield Ready()
            reached.append("begun")
        finally:
            reached.append("tidied up")
        yield TurnEnded("done")

    async with run_flow(runtimes=[Agent(play, gets_ready=True)]) as flow:
        flow.writer.held = True
        saying = asyncio.ensure_future(flow.say("hello"))
        while not flow.state.running:
            await asyncio.sleep(0.0005)
        cancelling = asyncio.ensure_future(flow.command(ask.Cancel()))
        await asyncio.sleep(60)
        flow.writer.release()
        assert (await flow.ended((await saying).job_id)).state == "cancelled"
        await cancelling
        assert reached == ["tidied up"]


class Deafened(Agent):
    async def instruct(self, session_key, told):
        raise ConnectionResetError("the agent went")


class Stuck(Agent):
    async def instruct(self, session_key, told):
        await asyncio.sleep(10_000)


@virtually
async def test_an_agent_that_takes_no_word_is_stopped_when_its_grace_is_over():
    async with run_flow(runtimes=[Stuck(playing(10_000)._play, interrupt=True)], settings=SHORT) as flow:
        receipt = await flow.say("hello")
        await asyncio.sleep(1)
        began = asyncio.get_running_loop().time()
        await flow.command(ask.Cancel())
        assert (await flow.ended(receipt.job_id)).state == "cancelled"
        assert asyncio.get_running_loop().time() - began < SHORT.interrupt_grace_sec + 1


@virtually
async def test_a_stop_while_a_crashed_turn_is_still_tidying_up_is_taken():
    async def play(_invocation):
        try:
            yield PermissionRequested(request_id="r1", tool="Bash", title="ls")
            await asyncio.sleep(10_000)
        finally:
            await asyncio.sleep(30)

    async with run_flow(runtimes=[Deafened(play, permissions=True, interrupt=True)], settings=SHORT) as flow:
        receipt = await flow.say("hello")
        await flow.click(await flow.question())
        await asyncio.sleep(10)
        assert (await flow.command(ask.Cancel())).stopping == (receipt.job_id,)
        assert (await flow.ended(receipt.job_id)).state == "cancelled"
        await flow.quiet()


@pytest.mark.req("A9")
@virtually
async def test_a_job_that_has_just_ended_cannot_be_stopped_any_more():
    """Its turn has still to log its end."""
    async with run_flow() as flow:
        job = await flow.answered("hello")
        assert not flow.flow.scheduler.cancel(job.job_id, "42")
        assert flow.state.jobs[job.job_id].state == "success"
