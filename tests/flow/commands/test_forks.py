"""A fork: another session that begins with all that was said; the one that it was forked from goes on by itself."""

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.core import events as e
from fairlead.core import requests as ask
from fairlead.core.conversation import ConversationRef
from fairlead.core.engine import ResumeKeyFound, TurnEnded
from fairlead.core.keys import channel_key, thread_key
from fairlead.core.replies import SessionForkMade, SessionStarted
from fairlead.core.requests import Caller
from fairlead.errors import Code, FairleadError
from fairlead.testing.channel import ChannelHistory, RecordingChannel, Weather
from fairlead.testing.clock import run_virtually
from tests.flow.harness import OWNER, FlowHarness, conversation_ref, run_flow, virtually
from tests.flow.turns.harness import playing

pytestmark = pytest.mark.req("F7")

TOWN = conversation_ref("town")
CHANNEL = channel_key(agent_id="fairlead", space_id="1", channel_id="town")


def caller_at(thread_id: str) -> Caller:
    return Caller(
        person=OWNER,
        conversation=ConversationRef(TOWN.channel, TOWN.account_id, thread_id, TOWN.conversation_id),
        session_key=thread_key(agent_id="fairlead", space_id="1", thread_id=thread_id),
        pre_authorised=True,
    )


async def start(flow: FlowHarness, asked_by: str = "900") -> Caller:
    caller = Caller(person=OWNER, conversation=TOWN, session_key=CHANNEL, pre_authorised=True)
    started = await flow.gate.command(ask.Start(asked_by, "api"), caller)
    assert isinstance(started, SessionStarted)
    return caller_at(started.session_id)


async def fork(
    flow: FlowHarness, caller: Caller | None = None, asked_by: str = "901", **more: object
) -> SessionForkMade:
    made = await flow.gate.command(ask.Fork(asked_by=asked_by, **more), caller or flow.caller())  # type: ignore[arg-type]
    assert isinstance(made, SessionForkMade)
    return made


async def say(flow: FlowHarness, caller: Caller, text: str) -> list[str]:
    job = await flow.answered(text, at=caller.conversation, session_key=caller.session_key)
    assert job.state == "success", job.error_message
    return [line.partition(". ")[2] for line in job.answer.splitlines() if line[:1].isdecimal()]


@virtually
async def test_a_fork_in_a_thread_begins_with_what_was_said_and_both_go_on():
    async with run_flow() as flow:
        trunk = await start(flow)
        await say(flow, trunk, "one")
        await say(flow, trunk, "two")
        made = await fork(flow, trunk)
        branch = caller_at(made.session_id)
        await say(flow, trunk, "said in the trunk after the fork")
        assert await say(flow, branch, "/recall") == ["one", "two", "/recall"]
        await say(flow, branch, "said in the branch")
        assert await say(flow, trunk, "/recall") == ["one", "two", "said in the trunk after the fork", "/recall"]
        assert await say(flow, branch, "/recall") == ["one", "two", "/recall", "said in the branch", "/recall"]
        trunk_session = flow.state.sessions[trunk.session_key.text]
        branch_session = flow.state.sessions[branch.session_key.text]
        assert branch_session.forked_from == trunk_session.session_key == made.forked_from
        assert set(branch_session.resume_keys.values()).isdisjoint(trunk_session.resume_keys.values())
        kinds = (e.SessionCreated, e.SessionForked, e.ForkPlanned, e.BindingBound)
        assert [type(fact) for fact in flow.facts(*kinds)][-4:] == list(kinds)


@virtually
async def test_a_fork_has_project_agent_and_model_and_none_of_the_permissions():
    async with run_flow() as flow:
        trunk = await start(flow)
        job = asyncio.ensure_future(flow.answered("/ask ls", at=trunk.conversation, session_key=trunk.session_key))
        await flow.click(await flow.question(), for_session=True)
        await job
        await flow.gate.command(ask.AgentModel("echo-2"), trunk)
        made = await fork(flow, trunk)
        session = flow.state.sessions[made.session_key]  # type: ignore[index]
        assert (session.project, session.runtime, session.models) == ("api", "echo", {"echo": "echo-2"})
        assert (session.rules, flow.state.sessions[trunk.session_key.text].rules) == ([], ["Bash(ls)"])


@virtually
async def test_where_there_are_no_threads_the_conversation_goes_on_in_the_fork_and_can_go_back():
    async with run_flow() as flow:
        await flow.answered("one")
        here = flow.caller()
        made = await fork(flow)
        assert made.is_here
        assert await say(flow, here, "/recall") == ["one", "/recall"]
        assert (await flow.command(ask.Status())).session_id == made.session_id
        again = await fork(flow, asked_by="901")
        assert again.session_key == made.session_key, "the same request makes one fork"
        await flow.command(ask.SessionSwitch())
        assert await say(flow, here, "/recall") == ["one", "/recall"]
        assert (await flow.command(ask.Status())).session_id == here.session_key.session_id
        await flow.command(ask.SessionSwitch(made.session_id))
        assert await say(flow, here, "/recall") == ["one", "/recall", "/recall"]


@virtually
async def test_another_person_cannot_go_on_with_somebodys_fork():
    async with run_flow() as flow:
        await flow.answered("one")
        made = await fork(flow)
        caller = flow.caller("43", pre_authorised=False)
        flow.flow.ledger.limits = flow.flow.ledger.limits.__class__(allowed_people=("43",))
        with pytest.raises(FairleadError) as refused:
            await flow.gate.command(ask.SessionSwitch(made.session_id), caller)
        assert refused.value.code is Code.E_SESSION_NOT_FOUND


@virtually
async def test_with_nothing_said_there_is_nothing_to_fork():
    async with run_flow() as flow:
        trunk = await start(flow)
        with pytest.raises(FairleadError) as refused:
            await fork(flow, trunk)
        assert refused.value.code is Code.E_FORK_UNAVAILABLE
        assert len(flow.facts(e.SessionCreated)) == 1


@virtually
async def test_an_agent_that_cannot_fork_says_so_and_makes_no_empty_session():

    async with run_flow(runtimes=[playing(ResumeKeyFound("k"), TurnEnded("done"))]) as flow:
        await flow.answered("one")
        with pytest.raises(FairleadError) as refused:
            await fork(flow)
        assert refused.value.code is Code.E_FORK_UNAVAILABLE
        assert "echo cannot fork" in refused.value.message


@virtually
async def test_a_fork_from_an_earlier_turn_knows_what_was_said_up_to_there():
    async with run_flow() as flow:
        trunk = await start(flow)
        await say(flow, trunk, "one")
        first = flow.state.sessions[trunk.session_key.text].last_job_id
        await say(flow, trunk, "two")
        branch = caller_at((await fork(flow, trunk, job_id=first)).session_id)
        assert await say(flow, branch, "/recall") == ["one", "/recall"]


@virtually
async def test_a_turn_that_failed_in_the_fork_forgets_nothing():
    async with run_flow() as flow:
        trunk = await start(flow)
        await say(flow, trunk, "one")
        branch = caller_at((await fork(flow, trunk)).session_id)
        failed = await flow.answered("/fail E_AGENT_ERROR", at=branch.conversation, session_key=branch.session_key)
        assert failed.state == "failed"
        assert await say(flow, branch, "/recall") == ["one", "/fail E_AGENT_ERROR", "/recall"]


@settings(max_examples=40, deadline=None)
@given(st.floats(0.0, 1.5), st.lists(st.sampled_from(list(Weather)), max_size=4))
def test_a_crash_at_any_moment_leaves_one_fork_or_none_and_it_remembers(life: float, forecast: list[Weather]):
    async def story() -> None:
        history = ChannelHistory()
        sky = iter([Weather.FAIR] * 3 + forecast)
        channel = RecordingChannel(history, weather=lambda: next(sky, Weather.FAIR))
        async with run_flow(channels=[channel], history=history) as flow:
            trunk = await start(flow)
            await say(flow, trunk, "one")
            asking = asyncio.ensure_future(fork(flow, trunk))
            await asyncio.sleep(life)
            channel.unplug()
            asking.cancel()
            disk = flow.disk
        await asyncio.sleep(4000.0)
        async with run_flow(disk=disk, channels=[RecordingChannel(history)], history=history) as flow:
            await flow.quiet()
            openings = [fact for fact in flow.facts(e.DeliveryOwed) if fact.opening is not None]
            forks = [session for session in flow.state.sessions.values() if session.forked_from]
            assert len(forks) == len(openings) - 1
            for session in forks:
                assert [fork.key for fork in session.forks.values()]
                job = await flow.answered("hello", at=session.conversation, session_key=session.key)
                assert "turn 2 of talk" in job.answer

    run_virtually(story())
