"""The command that gives a text, or a message that waits, to the running turn."""

import pytest

from fairlead.core import events as e
from fairlead.core import requests as ask
from fairlead.core.replies import TurnSteered
from fairlead.errors import Code, FairleadError
from fairlead.flow.commands.steering import REPLY_WITHIN_SEC
from tests.flow.harness import OWNER, FlowHarness, run_flow, virtually

pytestmark = pytest.mark.req("F6")


async def running(flow: FlowHarness, text: str = "first\n/slow 10") -> str:
    job_id = (await flow.say(text)).job_id
    await flow.until(lambda: bool(flow.agents.invoked))
    return job_id


@virtually
async def test_a_message_that_waits_becomes_a_text_by_the_command_and_leaves_its_queue_in_one_fact():
    async with run_flow() as flow:
        first = await running(flow)
        waiting = (await flow.say("also this")).job_id
        reply = await flow.command(ask.SteerTurn(asked_by="i1", job_id=waiting))
        assert isinstance(reply, TurnSteered)
        assert (reply.job_id, reply.state, reply.into) == (waiting, "steering", first)
        again = await flow.command(ask.SteerTurn(asked_by="i2", text="and that"))
        assert isinstance(again, TurnSteered)
        await flow.ended(first)
        assert [flow.state.jobs[job_id].state for job_id in (waiting, again.job_id)] == ["steered", "steered"]
        assert len(flow.agents.invoked) == 1
        [asked] = flow.facts(e.SteeringAsked)
        assert (asked.job_id, asked.person) == (waiting, OWNER)


@virtually
async def test_the_command_without_words_takes_the_newest_that_waits_and_says_when_there_is_none():
    async with run_flow() as flow:
        await running(flow)
        with pytest.raises(FairleadError) as none:
            await flow.command(ask.SteerTurn(asked_by="i1"))
        assert none.value.code is Code.E_NOT_STEERABLE
        older, newer = (await flow.say("older")).job_id, (await flow.say("newer")).job_id
        reply = await flow.command(ask.SteerTurn(asked_by="i2"))
        assert isinstance(reply, TurnSteered)
        assert reply.job_id == newer
        by_number = await flow.command(ask.SteerTurn(asked_by="i3", text=f"#{int(older[-4:])}"))
        assert isinstance(by_number, TurnSteered)
        assert by_number.job_id == older


@virtually
async def test_the_reply_waits_for_the_agent_only_so_long():
    async with run_flow() as flow:
        await running(flow, "first\n/slow 1\n/slow 1000")
        soon = await flow.command(ask.SteerTurn(asked_by="i1", text="now"))
        late = await flow.command(ask.SteerTurn(asked_by="i2", text="later"))
        assert isinstance(soon, TurnSteered)
        assert isinstance(late, TurnSteered)
        assert (soon.state, late.state, REPLY_WITHIN_SEC) == ("steered", "steering", 2.0)
