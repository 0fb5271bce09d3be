"""A session that begins in a thread of its own: an opening message, then the session, then the thread. All or none."""

import asyncio

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fairlead.core import events as e
from fairlead.core import requests as ask
from fairlead.core.keys import channel_key
from fairlead.core.replies import SessionStarted
from fairlead.core.requests import Caller
from fairlead.errors import Code, FairleadError
from fairlead.ports import DeliveryImpossible
from fairlead.testing.channel import ChannelHistory, RecordingChannel, Weather
from fairlead.testing.clock import run_virtually
from tests.flow.harness import OWNER, FlowHarness, conversation_ref, run_flow, virtually

TOWN = conversation_ref("town")
CALLER = Caller(
    person=OWNER,
    conversation=TOWN,
    session_key=channel_key(agent_id="fairlead", space_id="1", channel_id="town"),
    pre_authorised=True,
)


async def start(flow: FlowHarness, asked_by: str = "900") -> SessionStarted:
    started = await flow.gate.command(ask.Start(asked_by, "api"), CALLER)
    assert isinstance(started, SessionStarted)
    return started


def sessions(flow: FlowHarness) -> list[str]:
    """Those that have a thread of their own, and are bound to it."""
    bound = [flow.state.bindings[b].conversation.conversation_id for b in flow.state.bound.values()]
    return [s.session_id for s in flow.state.sessions.values() if s.session_id in bound]


@pytest.mark.req("A5", "A12", "C1", "D5")
@virtually
async def test_the_session_is_named_by_its_opening_message_and_bound_before_there_is_a_thread():
    async with run_flow() as flow:
        started = await start(flow)
        [opening] = flow.posts(TOWN)
        assert started.session_id == opening.message_id
        assert list(flow.history.threads) == [opening.message_id]
        assert (
            await flow.command(ask.Status(), at=conversation_ref(opening.message_id))
        ).session_id == opening.message_id
        kinds = [type(f) for f in flow.facts(e.DeliveryOwed, e.SessionCreated, e.BindingBound, e.PieceDelivered)]
        assert kinds == [e.DeliveryOwed, e.PieceDelivered, e.SessionCreated, e.BindingBound, e.PieceDelivered]
        assert flow.state.outbox == {}


@pytest.mark.req("A12")
@settings(max_examples=60, deadline=None)
@given(st.floats(0.0, 1.5), st.lists(st.sampled_from(list(Weather)), max_size=4), st.sampled_from([1.0, 4000.0]))
@example(0.02, [Weather.REPLY_LOST], 4000.0)
@example(0.1, [Weather.FAIR, Weather.REPLY_LOST], 4000.0)
def test_a_crash_at_any_moment_leaves_one_opening_one_session_and_one_thread(life, forecast, pause):
    async def story() -> None:
        history = ChannelHistory()
        sky = iter(forecast)
        channel = RecordingChannel(history, weather=lambda: next(sky, Weather.FAIR))
        async with run_flow(channels=[channel], history=history) as flow:
            asking = asyncio.ensure_future(start(flow))
            await asyncio.sleep(life)
            channel.unplug()
            asking.cancel()
            disk = flow.disk
        await asyncio.sleep(pause)
        async with run_flow(disk=disk, channels=[RecordingChannel(history)], history=history) as flow:
            await flow.quiet()
            was_asked = bool(flow.facts(e.DeliveryOwed))
            assert len(history.posts) == was_asked
            assert list(history.threads) == sessions(flow) == [p.message_id for p in history.posts]

    run_virtually(story())


@virtually
async def test_two_starts_that_look_alike_are_told_apart_after_a_crash():
    history = ChannelHistory()
    seen: list[Weather] = []

    def reply_of_the_second_is_lost() -> Weather:
        seen.append(Weather.FAIR)
        return Weather.HANGS if len(seen) == 3 else Weather.FAIR

    channel = RecordingChannel(history, weather=reply_of_the_second_is_lost)
    async with run_flow(channels=[channel], history=history) as flow:
        await start(flow, "900")
        second = asyncio.ensure_future(start(flow, "901"))
        await flow.until(lambda: len(history.posts) == 2)
        channel.unplug()
        second.cancel()
        disk = flow.disk
    await asyncio.sleep(4000)
    async with run_flow(disk=disk, channels=[RecordingChannel(history)], history=history) as flow:
        await flow.quiet()
        assert list(history.threads) == sessions(flow) == [p.message_id for p in history.posts]
        assert len(history.posts) == 2


@pytest.mark.req("A18")
@virtually
async def test_a_conversation_that_takes_no_message_is_named_and_nothing_is_left_behind():
    history = ChannelHistory()
    history.closed.add(TOWN.address)
    async with run_flow(history=history) as flow:
        with pytest.raises(FairleadError) as refused:
            await start(flow)
        assert refused.value.code == Code.E_THREAD_ACCESS_FAILED
        assert "the conversation is gone" in refused.value.message
        assert flow.state.sessions == {}


@virtually
async def test_where_no_thread_can_be_made_nothing_stays_bound_to_it():
    class Treeless(RecordingChannel):
        async def send(self, outgoing):
            if outgoing.thread_name:
                raise DeliveryImpossible(Code.E_THREAD_ACCESS_FAILED, "threads are off here")
            return await super().send(outgoing)

    history = ChannelHistory()
    async with run_flow(channels=[Treeless(history)], history=history) as flow:
        with pytest.raises(FairleadError, match="threads are off here"):
            await start(flow)
        assert flow.state.bound == {}
        assert [f.reason for f in flow.facts(e.BindingEnded)] == ["its thread could not be created"]
        assert flow.state.sessions == {}, "no session stays without its thread"


@virtually
async def test_the_person_who_asked_hears_that_it_takes_longer_and_the_thread_comes_all_the_same():
    history = ChannelHistory()
    weather = [Weather.AWAY]
    channel = RecordingChannel(history, weather=lambda: weather[0])
    async with run_flow(channels=[channel], history=history) as flow:
        with pytest.raises(FairleadError) as later:
            await start(flow)
        assert later.value.code == Code.E_DISCORD_RATE_LIMIT
        weather[0] = Weather.FAIR
        await flow.quiet()
        assert list(history.threads) == sessions(flow) != []


@virtually
async def test_the_same_command_asked_twice_at_once_is_one_start():
    async with run_flow() as flow:
        one, two = await asyncio.gather(start(flow), start(flow))
        assert one == two
        assert len(flow.posts(TOWN)) == 1


@pytest.mark.req("A18")
@pytest.mark.parametrize(
    ("request_", "caller", "code"),
    [
        (ask.Start("1", "nope"), CALLER, Code.E_PROJECT_NOT_FOUND),
        (ask.Start("1", "api", "vim"), CALLER, Code.E_TOOL_NOT_ENABLED),
        (ask.Start("1", "api"), None, Code.E_NOT_IN_TEXT_CHANNEL),
    ],
)
def test_a_start_that_cannot_be_owes_nothing(request_, caller, code):
    async def story() -> None:
        async with run_flow() as flow:
            with pytest.raises(FairleadError) as refused:
                await flow.gate.command(request_, caller or flow.caller())
            assert refused.value.code == code
            assert flow.state.outbox == {}

    run_virtually(story())
