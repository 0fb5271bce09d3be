"""Looking back at a job: whole while it lives, and read from the journal when the state has forgotten it."""

import asyncio

import pytest
from msgspec.structs import replace

from fairlead.core import requests as ask
from fairlead.core.engine import TurnEnded
from fairlead.core.state import as_data
from fairlead.errors import Code, FairleadError
from fairlead.observe import capture_log
from fairlead.store.journal import JOURNAL_NAME, open_state
from fairlead.testing.disk import SimulatedDisk
from fairlead.testing.simulated_machine import SimulatedPullChannel
from tests.flow.harness import OWNER, conversation_ref, run_flow, virtually
from tests.flow.turns.harness import playing

pytestmark = pytest.mark.req("A12")


DAY = 86400


@virtually
async def test_a_job_is_seen_whole_while_it_lives_and_after():
    async with run_flow() as flow:
        receipt = await flow.say("/slow 10\nwords")
        live = await flow.view.job(receipt.job_id)
        assert live.state in {"queued", "running"}
        assert (live.prompt, live.answer) == ("/slow 10\nwords", "")
        await flow.quiet()
        seen = await flow.view.job(receipt.job_id)
        assert (seen.state, seen.prompt) == ("success", "/slow 10\nwords")
        assert seen.answer.endswith("words")
        assert (seen.started_at or "") < (seen.finished_at or "")


class CountingDisk(SimulatedDisk):
    journal_reads = 0

    def read(self, path, offset=0, length=None):
        self.journal_reads += path.name == JOURNAL_NAME
        return super().read(path, offset, length)


@virtually
async def test_an_answer_that_is_owed_is_told_by_the_state_and_later_by_the_journal():
    disk = CountingDisk()
    async with run_flow(disk=disk, channels=[SimulatedPullChannel()]) as flow:
        job = await flow.answered("words", at=conversation_ref("fetcher", channel="pull"))
        before = disk.journal_reads
        owed = await flow.view.job(job.job_id)
        assert (owed.prompt, owed.answer, owed.state) == ("words", "echo agent:fairlead:user:42: words", "success")
        assert disk.journal_reads == before
        await flow.gate.acknowledge(job.job_id)
        assert await flow.view.job(job.job_id) == replace(owed, answer_owed=False)
        assert disk.journal_reads > before


@virtually
async def test_an_answer_is_told_by_the_state_also_in_the_moment_when_its_job_ends():
    """Watchers hear of a job's beginning some milliseconds later, and an agent may be quicker than that."""
    disk = CountingDisk()
    quick = playing(TurnEnded("done"))
    async with run_flow(disk=disk, channels=[SimulatedPullChannel()], runtimes=[quick]) as flow:
        receipt = await flow.say("words", at=conversation_ref("fetcher", channel="pull"))
        while flow.state.jobs[receipt.job_id].is_live:
            await asyncio.sleep(0)
        before = disk.journal_reads
        assert (await flow.view.job(receipt.job_id)).prompt == "words"
        assert disk.journal_reads == before


@virtually
async def test_an_end_is_not_told_before_it_is_durable():
    async with run_flow(channels=[SimulatedPullChannel()]) as flow:
        await flow.answered("hello", at=conversation_ref("fetcher", channel="pull"))
        receipt = await flow.say("/slow 5", at=conversation_ref("fetcher", channel="pull"))
        await flow.until(lambda: flow.state.jobs[receipt.job_id].state == "running")
        await asyncio.sleep(2)
        flow.writer.held = True
        await asyncio.sleep(60)
        assert not flow.state.jobs[receipt.job_id].is_live
        looking = asyncio.ensure_future(flow.view.job(receipt.job_id))
        done, _ = await asyncio.wait({looking}, timeout=5)
        assert not done
        flow.writer.release()
        assert (await looking).state == "success"


@virtually
async def test_a_job_older_than_the_states_memory_is_read_back_from_the_journal():
    async with run_flow() as flow:
        old = await flow.answered("/fail E_AGENT_ERROR\nan old question")
        long_answer = await flow.answered("hello\n/long 300000")
        for _ in range(60):
            await flow.answered("hello")
        for _ in range(10):  # days count as they are lived through
            await asyncio.sleep(DAY)
            await flow.answered("a new day")
        assert old.job_id not in flow.state.jobs
        seen = await flow.view.job(old.job_id)
        assert (seen.state, seen.error_code, seen.attempt) == ("failed", "E_AGENT_ERROR", 1)
        assert seen.prompt == "/fail E_AGENT_ERROR\nan old question"
        assert len((await flow.view.job(long_answer.job_id)).answer) > 300_000
        story = await flow.command(ask.Why(old.job_id))
        assert [s.type for s in story.steps][:3] == ["JobEnqueued", "JobStarted", "JobFailed"]
        again = await flow.command(ask.Retry(old.job_id))
        assert (again.attempt, again.retry_of) == (2, old.job_id)
        await flow.ended(again.job_id)
        assert flow.agents.invoked[-1].prompt == "/fail E_AGENT_ERROR\nan old question"


@virtually
async def test_a_long_text_that_left_with_its_job_is_said_to_be_gone():
    async with run_flow(channels=[]) as flow:
        old = await flow.answered("hello\n/long 300000")
        flow.blobs.forget_unnamed([])
        seen = await flow.view.job(old.job_id)
        assert seen.state == "success"
        assert "no longer kept" in seen.answer


@virtually
async def test_what_the_journal_does_not_know_is_not_found():
    async with run_flow() as flow:
        for name in ("job_20260105_0099", "", "agent:fairlead:user:42", "job_"):
            with pytest.raises(FairleadError) as caught:
                await flow.view.job(name)
            assert caught.value.code is Code.E_JOB_NOT_FOUND


@virtually
async def test_history_is_in_order_and_without_texts():
    async with run_flow() as flow:
        ids = [(await flow.answered(f"message {n}")).job_id for n in range(4)]
        history = flow.view.history(f"agent:fairlead:user:{OWNER}")
        assert [j.job_id for j in history] == ids
        assert {(j.prompt, j.answer) for j in history} == {("", "")}


@pytest.mark.req("A7", "A20")
@virtually
async def test_the_journal_alone_gives_the_state_that_lived():
    async with run_flow(projects=("/srv/api", "/srv/web")) as flow:
        await flow.answered("hello", project="api")
        await flow.say("/ask ls", user="b", project="web")
        await flow.click(await flow.question(), for_session=True)
        await flow.answered("/fail E_AGENT_ERROR", user="c", project="api")
        await flow.command(ask.Reset())
        await flow.say("/hang", user="d", project="api")
        await flow.say("waits", user="d")
        with pytest.raises(FairleadError):
            await flow.say("  ", user="d")
        await asyncio.sleep(3 * DAY)
        await flow.until(lambda: True)
        lived = as_data(flow.state)
        await flow.journal.snapshot(flow.state)
        both = as_data(open_state(flow.journal._path.parent, flow.disk).state)
        flow.disk.unlink(flow.journal._snapshot_path)
        alone = as_data(open_state(flow.journal._path.parent, flow.disk).state)
        assert lived == alone
        assert both == alone


@pytest.mark.req("B8")
@virtually
async def test_every_refusal_and_every_end_is_logged_with_its_code():
    async with run_flow() as flow:
        with capture_log() as lines:
            with pytest.raises(FairleadError):
                await flow.say("")
            with pytest.raises(FairleadError):
                await flow.gate.command(ask.Status(), flow.caller("666", pre_authorised=False))
            await flow.answered("/fail E_AGENT_ERROR")
            await flow.answered("hello")
            await asyncio.sleep(1)  # the answer goes before its log line
        levels = [(line["event"], line["level"], line.get("error_code")) for line in lines]
        assert ("message refused", "info", "E_EMPTY_MESSAGE") in levels
        assert ("command refused", "warning", "E_OWNER_ONLY") in levels
        turns = [line for line in lines if line["event"] == "turn ended"]
        assert [(t["outcome"], t["level"]) for t in turns] == [("failed", "error"), ("success", "info")]
        assert all({"job_id", "session_key", "tool", "seconds", "cost_usd"} <= set(t) for t in turns)
