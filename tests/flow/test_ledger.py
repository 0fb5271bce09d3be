"""One step to decide, number and apply; nothing acknowledged, shown or announced before it is durable."""

import asyncio

import pytest

from fairlead.core import events as e
from fairlead.core.live import JobMoved
from fairlead.core.state import as_data
from fairlead.errors import Code, FairleadError
from fairlead.testing.channel import ChannelHistory, RecordingChannel
from tests.flow.harness import OWNER, conversation_ref, run_flow, virtually

pytestmark = pytest.mark.req("A7")


@pytest.mark.req("A8")
@virtually
async def test_the_same_message_twice_at_once_is_accepted_once():
    async with run_flow() as flow:
        for number in range(20):
            inbound = flow.inbound(f"hello {number}")
            receipts = await asyncio.gather(*(flow.gate.submit(inbound) for _ in range(5)))
            assert len({r.job_id for r in receipts}) == 1
            assert [r.duplicate for r in receipts] == [False, True, True, True, True]
        await flow.quiet()
        assert len(flow.facts(e.JobEnqueued)) == 20
        assert len(flow.agents.invoked) == 20


@virtually
async def test_a_fact_that_the_journal_does_not_take_changes_nothing():
    """The journal comes before the state: otherwise the state would hold a fact that no start could read back."""
    async with run_flow() as flow:
        await flow.say("before")
        await flow.quiet()
        state = flow.state
        known, append = as_data(state), flow.journal.append

        def refuse(*_given: object) -> None:
            raise ValueError("this cannot be encoded")

        flow.journal.append = refuse
        with pytest.raises(ValueError, match="cannot be encoded"):
            await flow.say("hello")
        assert as_data(state) == known
        flow.journal.append = append
        assert (await flow.say("hello again")).job_id
        await flow.quiet()


@virtually
async def test_nothing_is_acknowledged_before_it_is_durable():
    async with run_flow() as flow:
        flow.writer.held = True
        waiting = asyncio.ensure_future(flow.say("hello"))
        again = asyncio.ensure_future(flow.gate.submit(flow.inbound("hello", message_id="77")))
        await asyncio.sleep(60)
        assert not waiting.done()
        assert not again.done()
        assert flow.agents.invoked == [], "no agent works for a message that might be lost"
        flow.writer.release()
        assert (await waiting).job_id.startswith("job_20260105_")
        await again


@pytest.mark.req("A8")
@virtually
async def test_a_duplicate_is_answered_only_when_the_original_is_durable():
    async with run_flow() as flow:
        flow.writer.held = True
        inbound = flow.inbound("hello")
        first = asyncio.ensure_future(flow.gate.submit(inbound))
        await asyncio.sleep(1)
        second = asyncio.ensure_future(flow.gate.submit(inbound))
        await asyncio.sleep(1)
        assert not second.done()
        flow.writer.release()
        assert (await first).job_id == (await second).job_id


@virtually
async def test_a_refusal_too_is_said_only_when_it_is_written():
    async with run_flow() as flow:
        flow.writer.held = True
        waiting = asyncio.ensure_future(flow.say("   "))
        await asyncio.sleep(60)
        assert not waiting.done()
        flow.writer.release()
        with pytest.raises(FairleadError) as caught:
            await waiting
        assert caught.value.code is Code.E_EMPTY_MESSAGE
        assert [f.error_code for f in flow.facts(e.MessageRefused)] == ["E_EMPTY_MESSAGE"]


@virtually
async def test_watchers_see_only_what_is_durable_and_in_order():
    async with run_flow() as flow:
        watch = flow.view.watch()
        seen: list[str] = []

        async def look() -> None:
            async for event in watch:
                seen.extend([event.state] if isinstance(event, JobMoved) else [])

        looking = asyncio.ensure_future(look())
        flow.writer.held = True
        waiting = asyncio.ensure_future(flow.say("hello"))
        await asyncio.sleep(60)
        assert seen == []
        flow.writer.release()
        await flow.ended((await waiting).job_id)
        await asyncio.sleep(1)
        assert seen == ["queued", "running", "success"]
        looking.cancel()
        await watch.aclose()


@virtually
async def test_watchers_hear_of_an_end_when_its_answer_has_left():
    """What is shown to them takes about as long as a short answer's way into the chat."""
    told: list[list[str]] = []

    class Watched(RecordingChannel):
        async def send(self, outgoing):
            for _ in range(50):  # a request is made of it
                await asyncio.sleep(0)
            told.append([event.state for event in watch.take_waiting() if isinstance(event, JobMoved)])
            return await super().send(outgoing)

    async with run_flow(channels=[Watched(ChannelHistory(), latency=lambda: 5.0)]) as flow:
        watch = flow.view.watch()
        await flow.answered("hello")
        await asyncio.sleep(1)  # the answer is still on its way, and watchers do not wait for its arrival
        assert [event.state for event in watch.take_waiting() if isinstance(event, JobMoved)][-1:] == ["success"]
        await flow.quiet()
    assert ["success" in states for states in told] == [False]


@pytest.mark.req("A8", "D3")
@virtually
async def test_the_end_of_a_job_and_its_outbox_entry_are_one_batch():
    async with run_flow() as flow:
        await flow.answered("hello")
        raw = flow.disk.read(flow.journal._path).splitlines()
        ended = next(line for line in raw if b'"JobCompleted"' in line)
        assert b'"more":true' in ended
        assert b'"DeliveryOwed"' in raw[raw.index(ended) + 1]


@virtually
async def test_a_journal_that_breaks_ends_the_flow_and_names_the_file():
    async def story() -> None:
        async with run_flow() as flow:
            await flow.answered("before")
            flow.disk.fail_sync()
            await flow.say("after")

    with pytest.raises(FairleadError) as caught:
        await story()
    assert caught.value.code is Code.E_JOURNAL_BROKEN
    assert "/state/events.ndjson" in caught.value.message


@virtually
async def test_facts_nobody_waits_for_are_written_all_the_same():
    async with run_flow() as flow:
        await flow.gate.see_person(OWNER, "ja")
        seq = flow.state.seq
        await flow.gate.see_person(OWNER, "ja")
        assert flow.state.seq == seq, "what is known needs no second line"
        assert flow.view.language_of(OWNER) == "ja"
        assert flow.view.language_of("somebody else") == "en"
        assert conversation_ref().address == "chat/acc/dm"


@virtually
async def test_a_worker_sleeps_through_changes_that_do_not_concern_it():
    async with run_flow() as flow:
        ledger = flow.flow.ledger
        looks: list[int] = []

        def has_language() -> bool:
            looks.append(ledger.state.seq)
            return flow.view.language_of(OWNER) == "ja"

        woken = asyncio.ensure_future(ledger.until_changed(ledger.state.seq, concerns=has_language))
        await flow.say("hello")
        await flow.quiet()
        assert looks, "it was asked about each change"
        assert not woken.done()
        await flow.gate.see_person(OWNER, "ja")
        await woken
