"""Turns that an agent begins by itself."""

import pytest

from fairlead.core import events as e
from fairlead.core.engine import (
    AgentInitiated,
    TextDelta,
    TurnEnded,
    TurnFailed,
)
from fairlead.errors import Code
from tests.flow.harness import flow_house, virtually
from tests.flow.turns.harness import playing

pytestmark = pytest.mark.req("E1")


@pytest.mark.req("E1")
@virtually
async def test_what_an_agent_does_unasked_is_a_job_of_its_own():
    async with flow_house() as flow:
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
    agent = playing(50, TurnEnded("the answer"), can={"unasked": True})
    async with flow_house(runtimes=[agent]) as flow:
        receipt = await flow.say("hello")
        await flow.until(lambda: agent.open == 1)
        for event in (TextDelta("by"), TurnEnded("by the way")):
            agent.spoken.put_nowait(AgentInitiated(receipt.session_key, 0, "t1", event))
        job = await flow.ended(receipt.job_id)
        assert job.result_excerpt == "the answer"
        others = [j.result_excerpt for j in flow.state.jobs.values() if j.cause == "agent"]
        assert others == ["by the way"]


@virtually
async def test_a_runtime_that_breaks_while_it_is_listened_to_is_listened_to_again():
    agent = playing(TurnEnded("ok"), can={"unasked": True})
    async with flow_house(runtimes=[agent]) as flow:
        receipt = await flow.say("hello")
        agent.spoken.put_nowait(RuntimeError("the pipe broke"))
        agent.spoken.put_nowait(AgentInitiated("agent:fairlead:user:nobody", 0, "t0", TurnEnded("to nobody")))
        agent.spoken.put_nowait(AgentInitiated(receipt.session_key, 0, "t1", TurnEnded("still here")))
        await flow.until(lambda: any(j.result_excerpt == "still here" for j in flow.state.jobs.values()))


@virtually
async def test_a_turn_that_the_agent_began_is_not_tried_again_because_nobody_could_repeat_it():
    agent = playing(TurnEnded("ok"), can={"unasked": True, "second_attempt": True})
    failing = TurnFailed(Code.E_AGENT_ERROR, "503", transient=True)
    async with flow_house(runtimes=[agent]) as flow:
        receipt = await flow.say("hello")
        agent.spoken.put_nowait(AgentInitiated(receipt.session_key, 0, "t1", failing))
        await flow.until(lambda: [j.state for j in flow.state.jobs.values() if j.cause == "agent"] == ["failed"])
        assert flow.facts(e.JobTriedAgain) == []
