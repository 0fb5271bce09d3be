"""The commands about agents: models, modes, stop and kill."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from fairlead.core import requests as ask
from fairlead.core.engine import INTERRUPTED, EngineEvent, Invocation, TurnEnded
from fairlead.core.limits import Limits
from fairlead.errors import Code
from fairlead.testing.clock import run_virtually
from tests.flow.commands.harness import refused
from tests.flow.harness import Agent, conversation_ref, run_flow, virtually

pytestmark = pytest.mark.req("A12")


@pytest.mark.req("B1", "B5")
@virtually
async def test_agent_commands_act_on_the_session_here_or_on_the_last_one():
    async with run_flow() as flow:
        await flow.answered("hello\n/usage 10 20 0.5", at=conversation_ref("dm"))
        report = await flow.command(ask.AgentStatus(), at=conversation_ref("elsewhere"))
        assert (report.project, report.project_number, report.tool, report.model) == ("api", 1, "echo", "echo-1")
        assert (await flow.command(ask.AgentModel("echo-2"))).model == "echo-2"
        assert (await flow.command(ask.AgentStatus())).model == "echo-2"
        assert await refused(flow.command(ask.AgentModel("gpt-9"))) is Code.E_MODEL_UNAVAILABLE
        usage = await flow.command(ask.AgentUsage())
        assert (usage.input_tokens, usage.output_tokens, usage.cost_usd) == (10, 20, 0.5)
        assert await refused(flow.command(ask.AgentStop())) is Code.E_NO_ACTIVE_SESSION


@pytest.mark.req("E3")
@virtually
async def test_a_mode_is_the_owners_to_choose_and_the_runtimes_to_refuse():
    async with run_flow(limits=Limits(allowed_people=("43",))) as flow:
        await flow.answered("hello")
        assert flow.choices("mode", "pl") == ["plan"]
        assert (await flow.command(ask.AgentMode("plan"))).mode == "plan"
        assert (await flow.command(ask.AgentStatus())).mode == "plan"
        assert await refused(flow.command(ask.AgentMode("bypassPermissions"))) is Code.E_MODE_UNAVAILABLE
        by_a_guest = flow.gate.command(ask.AgentMode("default"), flow.caller("43", pre_authorised=False))
        assert await refused(by_a_guest) is Code.E_OWNER_ONLY
        assert (await flow.command(ask.AgentStatus())).mode == "plan"


@virtually
async def test_a_runtime_without_modes_says_so():
    async def play(_invocation: Invocation) -> AsyncIterator[EngineEvent]:
        yield TurnEnded("hi")

    agent = Agent(play)
    async with run_flow(runtimes=[agent]) as flow:
        await flow.answered("hello")
        assert await refused(flow.command(ask.AgentMode("plan"))) is Code.E_MODE_UNAVAILABLE
        assert agent.instructions == []


@pytest.mark.req("B5")
@pytest.mark.parametrize("kill", [False, True])
def test_stopping_an_agent_ends_its_job_as_cancelled_and_keeps_the_queue(kill: bool):

    async def story() -> None:
        async with run_flow() as flow:
            running = await flow.say("/hang")
            queued = await flow.say("next")
            await flow.until(lambda: len(flow.state.running) == 1)
            reply = await flow.command(ask.AgentStop(kill=kill))
            assert reply.killed is kill
            assert (await flow.ended(running.job_id)).state == "cancelled"
            assert (await flow.ended(queued.job_id)).state == "success"

    run_virtually(story())


class SlowToDie(Agent):
    """Its turn ends as interrupted the moment it is told to end, and its process a while after that."""

    def __init__(self) -> None:
        super().__init__(self._play, interrupt=True)
        self.is_told = asyncio.Event()
        self.dead = 0

    async def _play(self, invocation: Invocation) -> AsyncIterator[EngineEvent]:
        if invocation.prompt == "next":
            assert self.dead == 1, "the next turn began before the agent of the last one was gone"
            yield TurnEnded("here I am")
        else:
            await self.is_told.wait()
            yield TurnEnded("", INTERRUPTED)

    async def end_session(self, session_key: str, how: str) -> None:
        self.is_told.set()
        await asyncio.sleep(0.5)
        self.dead += 1


@pytest.mark.req("B5", "A16")
@pytest.mark.parametrize("kill", [False, True])
def test_a_job_whose_agent_is_ended_is_cancelled_however_long_the_ending_takes(kill: bool):
    async def story() -> None:
        async with run_flow(runtimes=[SlowToDie()]) as flow:
            running = await flow.say("work")
            queued = await flow.say("next")
            await flow.until(lambda: len(flow.state.running) == 1)
            await flow.command(ask.AgentStop(kill=kill))
            assert (await flow.ended(running.job_id)).state == "cancelled"
            assert (await flow.ended(queued.job_id)).result_excerpt == "here I am"

    run_virtually(story())
