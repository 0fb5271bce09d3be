"""A channel was away and says that it is back: what is owed goes at once, without a storm of attempts."""

import asyncio

import pytest

from fairlead.core import events as e
from fairlead.ports import ChannelAway
from fairlead.testing.channel import ChannelHistory, RecordingChannel, Weather
from fairlead.testing.clock import run_virtually
from tests.flow.harness import OWNER, conversation_ref, run_flow, virtually
from tests.flow.outbox.harness import Skies, chat, saying

pytestmark = pytest.mark.req("A2")


@pytest.mark.parametrize("away_for", [0.5, 20.0, 4000.0])
def test_the_moment_a_channel_says_that_it_is_back_what_is_owed_goes_out(away_for: float):
    async def story() -> None:
        skies = Skies()
        skies.now = Weather.AWAY
        channel = chat(skies)
        async with run_flow(channels=[channel], history=channel.history) as flow:
            for user in ("one", "two"):
                await flow.answered("hello", user=user)
            await asyncio.sleep(away_for)
            skies.now = Weather.FAIR
            flow.gate.came_back(channel.name)
            await asyncio.sleep(1)
            assert [len(flow.posts(conversation_ref(user))) for user in ("one", "two")] == [1, 1]

    run_virtually(story())


@virtually
async def test_a_long_answer_goes_out_whole_the_moment_its_channel_is_back():
    skies = Skies()
    skies.now = Weather.AWAY
    channel = chat(skies)
    async with run_flow(runtimes=[saying("word " * 200)], channels=[channel], history=channel.history) as flow:
        await flow.answered("hello")
        await flow.until(lambda: bool(flow.facts(e.DeliveryDeferred)))
        skies.now = Weather.FAIR
        flow.gate.came_back(channel.name)
        await asyncio.sleep(2)
        assert len(flow.posts(conversation_ref(OWNER))) > 3
        assert flow.state.outbox == {}


@virtually
async def test_a_channel_that_returns_while_an_attempt_fails_is_not_missed():
    class Flickering(RecordingChannel):
        async def send(self, outgoing):
            if skies.now is Weather.AWAY:
                skies.now = Weather.FAIR
                flow.gate.came_back(self.name)
                raise ChannelAway
            return await super().send(outgoing)

    skies = Skies()
    skies.now = Weather.AWAY
    channel = Flickering(ChannelHistory())
    async with run_flow(channels=[channel], history=channel.history) as flow:
        await flow.answered("hello")
        await asyncio.sleep(1)
        assert len(flow.posts(conversation_ref(OWNER))) == 1


@virtually
async def test_a_channel_that_says_it_is_back_and_is_not_is_not_asked_in_a_loop():
    skies = Skies()
    skies.now = Weather.AWAY
    channel = chat(skies)
    async with run_flow(channels=[channel], history=channel.history) as flow:
        await flow.answered("hello")
        await asyncio.sleep(20)
        before = skies.calls
        for _ in range(10):
            flow.gate.came_back(channel.name)
        await asyncio.sleep(1)
        assert skies.calls == before + 1


@virtually
async def test_who_was_told_to_wait_waits_although_the_channel_comes_back():
    skies = Skies(Weather.REFUSED_FOR_NOW)
    channel = chat(skies)
    async with run_flow(channels=[channel], history=channel.history) as flow:
        await flow.answered("hello")
        await flow.until(lambda: bool(flow.facts(e.DeliveryDeferred)))
        flow.gate.came_back(channel.name)
        await asyncio.sleep(1)
        assert flow.posts(conversation_ref(OWNER)) == []
        await flow.quiet()
        assert len(flow.posts(conversation_ref(OWNER))) == 1
