"""The recording channel forgets nonces as Discord does, and loses what its weather tells it to lose."""

import asyncio

import msgspec
import pytest

from fairlead.core.conversation import ConversationRef
from fairlead.ports import Channel, ChannelAway, DeliveryImpossible, DeliveryLater, OutcomeUnknown, OutgoingMessage
from fairlead.testing.channel import NONCE_MEMORY_SEC, ChannelHistory, RecordingChannel, Weather
from fairlead.testing.clock import run_virtually

HERE = ConversationRef("chat", "home", "1")
MESSAGE = OutgoingMessage(entry_id="debt_1", index=0, nonce="ab12", destination=HERE, text="hello")


def channel(*weather: Weather) -> tuple[Channel, ChannelHistory]:
    history = ChannelHistory()
    days = list(weather)
    return RecordingChannel(history, weather=lambda: days.pop(0) if days else Weather.FAIR), history


def test_the_same_nonce_is_one_message_for_three_minutes_and_another_after():
    async def story() -> list[str]:
        chat, history = channel()
        first, second = await chat.send(MESSAGE), await chat.send(MESSAGE)
        await asyncio.sleep(NONCE_MEMORY_SEC + 1)
        third = await chat.send(MESSAGE)
        assert first == second != third
        return [p.text for p in history.posts_at(HERE)]

    assert run_virtually(story()) == ["hello", "hello"]


@pytest.mark.parametrize(
    ("weather", "condition", "arrives"),
    [
        (Weather.AWAY, ChannelAway, False),
        (Weather.REFUSED_FOR_NOW, DeliveryLater, False),
        (Weather.LOST_ON_THE_WAY, OutcomeUnknown, False),
        (Weather.REPLY_LOST, OutcomeUnknown, True),
        (Weather.HANGS, OutcomeUnknown, True),
        (Weather.HANGS_AND_IS_LOST, OutcomeUnknown, False),
    ],
)
def test_bad_weather(weather, condition, arrives):
    async def story() -> str | None:
        chat, history = channel(weather)
        with pytest.raises(condition):
            await chat.send(MESSAGE)
        assert len(history.posts) == int(arrives)
        return await chat.find(MESSAGE)

    assert (run_virtually(story()) is not None) == arrives


def test_a_closed_conversation_takes_nothing():
    async def story() -> None:
        chat, history = channel()
        history.closed.add(HERE.address)
        with pytest.raises(DeliveryImpossible):
            await chat.send(MESSAGE)

    run_virtually(story())


def test_looking_begins_after_the_last_known_message():
    async def story() -> None:
        chat, _ = channel()
        first = await chat.send(MESSAGE)
        later = msgspec.structs.replace(MESSAGE, nonce="cd34", after_message_id=first)
        assert await chat.find(later) is None
        second = await chat.send(later)
        assert await chat.find(later) == second

    run_virtually(story())
