"""Pauses and ages of deliveries, whatever the wall clock says meanwhile."""

import asyncio

import pytest

from fairlead.core import timestamps
from fairlead.core.conversation import ConversationRef
from fairlead.core.state import OutboxEntry
from fairlead.flow.outbox.attempt_times import AttemptTimes
from fairlead.testing.channel import Weather
from tests.flow.harness import OWNER, conversation_ref, run_flow, virtually
from tests.flow.outbox.harness import Skies, chat

NOON = "2026-03-01T12:00:00.000Z"
DAY = 86400.0


def deferred(wait_sec: float) -> OutboxEntry:
    return OutboxEntry(
        entry_id="debt_1",
        kind="answer",
        session_key="s",
        requester=ConversationRef("toy", "home", "den"),
        owed_at=NOON,
        deferred_at=NOON,
        due=timestamps.plus(NOON, wait_sec),
    )


@virtually
async def test_what_this_process_deferred_is_due_by_its_own_time():
    times, entry = AttemptTimes(), deferred(100)
    times.defer(entry, 100)
    await asyncio.sleep(40)
    for now in (NOON, timestamps.plus(NOON, 8 * DAY), timestamps.plus(NOON, -8 * DAY)):
        assert times.seconds_until_due(entry, now) == 60


@virtually
async def test_what_an_earlier_process_deferred_never_waits_longer_than_was_once_chosen():
    times, entry = AttemptTimes(), deferred(100)
    assert times.seconds_until_due(entry, timestamps.plus(NOON, 40)) == 60
    assert times.seconds_until_due(entry, timestamps.plus(NOON, -8 * DAY)) == 100
    assert times.seconds_until_due(entry, timestamps.plus(NOON, 8 * DAY)) < 0


@virtually
async def test_what_is_forgotten_counts_as_begun_by_another_process():
    times = AttemptTimes()
    times.begin("debt_1")
    await asyncio.sleep(5)
    assert times.seconds_since_begin("debt_1") == 5
    times.forget("debt_1")
    assert times.seconds_since_begin("debt_1") is None


@pytest.mark.req("A2")
@virtually
async def test_a_clock_that_is_set_back_neither_holds_an_answer_up_nor_sends_it_twice():
    skies = Skies(Weather.REPLY_LOST, *[Weather.LOST_ON_THE_WAY] * 9)
    channel = chat(skies)
    async with run_flow(channels=[channel], history=channel.history) as flow:
        await flow.say("hello")
        await flow.until(lambda: len(skies.forecast) < 9)
        flow.world.clock.offset -= 8 * DAY
        await asyncio.sleep(3600)
        assert not flow.state.outbox
        assert len(flow.posts(conversation_ref(OWNER))) == 1
