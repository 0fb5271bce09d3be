"""Turns that an agent begins by itself."""

import pytest

from fairlead.core import events as e
from fairlead.core import requests as ask
from fairlead.core.engine import (
    AgentInitiated,
    TextDelta,
    TurnEnded,
    TurnFailed,
)
from fairlead.errors import Code
from fairlead.runtimes.echo import EchoRuntime
from tests.flow.harness import run_flow, virtually
from tests.flow.turns.harness import playing

pytestmark = pytest.mark.req("E1")


@pytest.mark.req("E1")
@virtually
async def test_what_an_agent_does_unasked_is_a_job_of_its_own():
    async with run_flow() as flow:
        first = await flow.answered("/unasked the build is green")
        await flow.until(lambda: len(flow.state.jobs) == 2)
        await flow.quiet()
        unasked = next(j for j in flow.state.jobs.values() if j.job_id != first.job_id)
        assert (unasked.state, unasked.cause) == ("success", "agent")
        assert unasked.result_excerpt == "the build is green"
        assert (await flow.answered("next")).result_excerpt != "the build is green"
        assert flow.texts(first.conversation)[1] == "the build is green"


@virtually
async def test_unasked_words_while_a_message_runs_never_become_its_answer():
    agent = playing(50, TurnEnded("the answer"), can={"agent_turns": True})
    async with run_flow(runtimes=[agent]) as flow:
        receipt = await flow.say("hello")
        await flow.until(lambda: agent.open == 1)
        for event in (TextDelta("by"), TurnEnded("by the way")):
            agent.spoken.put_nowait(AgentInitiated(receipt.session_key, 0, "t1", event))
        job = await flow.ended(receipt.job_id)
        assert job.result_excerpt == "the answer"
        others = [j.result_excerpt for j in flow.state.jobs.values() if j.cause == "agent"]
        assert others == ["by the way"]


@virtually
async def test_a_turn_belongs_to_the_agent_that_began_it_also_when_the_session_has_another_by_now():
    agent = playing(TurnEnded("ok"), can={"agent_turns": True})
    agent.name = "goose"
    async with run_flow(runtimes=[agent, EchoRuntime()]) as flow:
        receipt = await flow.say("hello")
        await flow.ended(receipt.job_id)
        await flow.command(ask.Tool("echo"))
        agent.spoken.put_nowait(AgentInitiated(receipt.session_key, 0, "t1", TurnEnded("by the way")))
        await flow.until(lambda: any(j.result_excerpt == "by the way" for j in flow.state.jobs.values()))
        assert [j.runtime for j in flow.state.jobs.values()] == ["goose", "goose"]


@virtually
async def test_a_runtime_that_breaks_while_it_is_listened_to_is_listened_to_again():
    agent = playing(TurnEnded("ok"), can={"agent_turns": True})
    async with run_flow(runtimes=[agent]) as flow:
        receipt = await flow.say("hello")
        agent.spoken.put_nowait(RuntimeError("the pipe broke"))
        agent.spoken.put_nowait(AgentInitiated("agent:fairlead:user:nobody", 0, "t0", TurnEnded("to nobody")))
        agent.spoken.put_nowait(AgentInitiated(receipt.session_key, 0, "t1", TurnEnded("still here")))
        await flow.until(lambda: any(j.result_excerpt == "still here" for j in flow.state.jobs.values()))


@virtually
async def test_a_turn_that_the_agent_began_is_not_tried_again_because_nobody_could_repeat_it():
    agent = playing(TurnEnded("ok"), can={"agent_turns": True, "second_attempt": True})
    failing = TurnFailed(Code.E_AGENT_ERROR, "503", transient=True)
    async with run_flow(runtimes=[agent]) as flow:
        receipt = await flow.say("hello")
        agent.spoken.put_nowait(AgentInitiated(receipt.session_key, 0, "t1", failing))
        await flow.until(lambda: [j.state for j in flow.state.jobs.values() if j.cause == "agent"] == ["failed"])
        assert flow.facts(e.JobTriedAgain) == []
