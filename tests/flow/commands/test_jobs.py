"""The commands about jobs: retry, cancel, why."""

import asyncio

import pytest

from fairlead.core import replies as told
from fairlead.core import requests as ask
from fairlead.errors import Code, FairleadError
from tests.flow.commands.harness import refused
from tests.flow.harness import conversation_ref, run_flow, virtually
from tests.flow.work_trees.harness import make_trees, writing_agent

pytestmark = pytest.mark.req("A12")


@pytest.mark.req("A16")
@virtually
async def test_a_failed_job_is_tried_again_as_a_new_one_with_the_same_words():
    async with run_flow() as flow:
        failed = await flow.answered("/fail E_AGENT_ERROR\nthese very words")
        reply = await flow.command(ask.Retry(failed.job_id))
        assert (reply.attempt, reply.retry_of) == (2, failed.job_id)
        assert reply.job_id != failed.job_id
        again = await flow.ended(reply.job_id)
        assert again.cause == "retry"
        assert [i.prompt for i in flow.agents.invoked] == ["/fail E_AGENT_ERROR\nthese very words"] * 2
        assert await refused(flow.command(ask.Retry(failed.job_id))) is Code.E_JOB_NOT_RETRYABLE
        third = await flow.command(ask.Retry(reply.job_id))
        assert third.attempt == 3


@pytest.mark.req("A16")
@virtually
async def test_a_double_click_on_retry_is_one_new_job():
    async with run_flow() as flow:
        failed = await flow.answered("/fail E_AGENT_ERROR")
        clicks = [flow.command(ask.Retry(failed.job_id)) for _ in range(2)]
        first, second = await asyncio.gather(*clicks, return_exceptions=True)
        assert first.attempt == 2
        assert second.code is Code.E_JOB_NOT_RETRYABLE
        assert second.message == "#1 has already been tried again, as #2."
        assert first.job_id in second.next_step
        await flow.ended(first.job_id)
        assert len(flow.agents.invoked) == 2


@virtually
async def test_retry_and_why_mean_the_last_job_and_take_its_number():
    async with run_flow() as flow:
        assert await refused(flow.command(ask.Why())) is Code.E_NOT_IN_MANAGED_THREAD
        first = await flow.answered("/fail E_AGENT_ERROR\nfirst")
        second = await flow.answered("/fail E_AGENT_ERROR\nsecond")
        await flow.answered("fine")
        retried = await flow.command(ask.Retry())
        assert retried.retry_of == second.job_id
        await flow.ended(retried.job_id)
        again = await flow.command(ask.Retry())
        assert again.retry_of == retried.job_id
        await flow.ended(again.job_id)
        assert (await flow.command(ask.Retry("#1"))).retry_of == first.job_id
        await flow.quiet()
        assert (await flow.command(ask.Why())).subject.endswith("_0006")
        assert (await flow.command(ask.Why("3"))).subject.endswith("_0003")
        assert (await flow.command(ask.Why("0003"))).subject.endswith("_0003")
        assert await refused(flow.command(ask.Why("77"))) is Code.E_MESSAGE_NOT_FOUND
        assert await refused(flow.command(ask.Retry("77"))) is Code.E_JOB_NOT_FOUND


@virtually
async def test_nothing_is_retried_where_nothing_failed():
    async with run_flow() as flow:
        await flow.answered("hello")
        assert await refused(flow.command(ask.Retry())) is Code.E_JOB_NOT_RETRYABLE


@virtually
async def test_a_number_names_no_job_that_its_caller_may_not_see():
    async with run_flow() as flow:
        failed = await flow.answered("/fail E_AGENT_ERROR")
        stranger = flow.caller("222", conversation_ref("theirs"), pre_authorised=False)
        for request in (ask.Retry("1"), ask.Why("1")):
            with pytest.raises(FairleadError) as caught:
                await flow.flow.gate.command(request, stranger)
            assert caught.value.code in {Code.E_JOB_NOT_FOUND, Code.E_MESSAGE_NOT_FOUND, Code.E_OWNER_ONLY}
        assert failed.job_id.endswith("_0001")


@virtually
async def test_the_jobs_of_a_session_are_listed_newest_first_with_their_words():
    async with run_flow() as flow:
        await flow.answered("hello\nthere")
        await flow.answered("/fail E_AGENT_ERROR")
        await flow.say("/hang")
        await flow.say("x" * 200)
        await flow.until(lambda: len(flow.state.running) == 1)
        await flow.answered("elsewhere", user="222", at=conversation_ref("theirs"))
        rows = (await flow.command(ask.LatestJobs())).jobs
        assert [(row.number, row.state, row.error_code) for row in rows] == [
            (4, "queued", ""),
            (3, "running", ""),
            (2, "failed", "E_AGENT_ERROR"),
            (1, "success", ""),
        ]
        assert [row.prompt for row in rows] == ["x" * 79 + "…", "/hang", "/fail E_AGENT_ERROR", "hello there"]
        assert (await flow.command(ask.Cancel("4"))).cancelled == (rows[0].job_id,)
        await flow.command(ask.Cancel())


@pytest.mark.req("A16", "A18")
@virtually
async def test_only_what_failed_can_be_retried():
    async with run_flow() as flow:
        done = await flow.answered("hello")
        running = await flow.say("/hang")
        queued = await flow.say("waits")
        await flow.until(lambda: len(flow.state.running) == 1)
        for job_id in (done.job_id, running.job_id, queued.job_id):
            assert await refused(flow.command(ask.Retry(job_id))) is Code.E_JOB_NOT_RETRYABLE
        await flow.command(ask.Cancel())
        for job_id in (running.job_id, queued.job_id):
            assert (await flow.ended(job_id)).state == "cancelled"
            assert await refused(flow.command(ask.Retry(job_id))) is Code.E_JOB_NOT_RETRYABLE


@pytest.mark.req("A16", "F3")
@virtually
async def test_a_job_that_changed_files_can_be_asked_for_again_once():
    trees = make_trees(**{"a.py": "old\n"})
    async with run_flow(runtimes=[writing_agent(trees)], trees=trees) as flow:
        done = await flow.answered("a.py=new")
        await flow.until(lambda: not flow.state.open_trees)
        reply = await flow.command(ask.Retry(done.job_id))
        assert (await flow.ended(reply.job_id)).state == "success"
        assert (reply.attempt, reply.retry_of) == (2, done.job_id)
        assert await refused(flow.command(ask.Retry(done.job_id))) is Code.E_JOB_NOT_RETRYABLE
        await flow.until(lambda: not flow.state.open_trees)
        assert await refused(flow.command(ask.Retry(reply.job_id))) is Code.E_JOB_NOT_RETRYABLE, "it changed nothing"
        assert await refused(flow.command(ask.Retry())) is Code.E_JOB_NOT_RETRYABLE, "nothing failed"


@virtually
async def test_a_long_prompt_is_retried_whole():
    async with run_flow() as flow:
        failed = await flow.answered("/fail E_AGENT_ERROR\n" + "x" * 300_000)
        reply = await flow.command(ask.Retry(failed.job_id))
        await flow.ended(reply.job_id)
        first, second = (i.prompt for i in flow.agents.invoked)
        assert first == second


@virtually
async def test_cancel_takes_one_job_or_all():
    async with run_flow() as flow:
        running = await flow.say("/hang")
        await flow.until(lambda: len(flow.state.running) == 1)
        second, third = await flow.say("second"), await flow.say("third")
        reply = await flow.command(ask.Cancel(third.job_id))
        assert reply == told.JobsCancelled((), (third.job_id,))
        assert await refused(flow.command(ask.Cancel("job_20260105_7777"))) is Code.E_NOTHING_TO_CANCEL
        reply = await flow.command(ask.Cancel())
        assert reply == told.JobsCancelled((running.job_id,), (second.job_id,))
        await flow.quiet()
        assert await refused(flow.command(ask.Cancel())) is Code.E_NOTHING_TO_CANCEL


@virtually
async def test_why_tells_the_story_of_a_job_and_of_a_message():
    async with run_flow() as flow:
        inbound = flow.inbound("/ask ls", message_id="700700")
        receipt = await flow.gate.submit(inbound)
        await flow.click(await flow.question())
        await flow.quiet()
        story = await flow.command(ask.Why(receipt.job_id))
        kinds = [step.type for step in story.steps]
        assert kinds[0] == "JobEnqueued"
        for kind in ("JobStarted", "QuestionAsked", "QuestionAnswered", "JobCompleted", "DeliveryPlanned"):
            assert kind in kinds
        assert kinds[-1] == "PieceDelivered"
        assert all(step.words for step in story.steps)
        assert [s.seq for s in story.steps] == sorted(s.seq for s in story.steps)
        by_message = await flow.command(ask.Why("700700"))
        assert by_message.steps == story.steps
        with pytest.raises(FairleadError):
            await flow.say(" ", message_id="800800")
        assert [s.type for s in (await flow.command(ask.Why("800800"))).steps] == ["MessageRefused"]


@pytest.mark.req("A18")
@virtually
async def test_on_a_full_disk_cancel_stops_what_runs_and_says_that_a_queued_job_stays():
    async with run_flow() as flow:
        running = (await flow.say("/hang")).job_id
        queued = (await flow.say("two")).job_id
        flow.disk.capacity = flow.disk.used_bytes + 50
        caught_in_it = asyncio.ensure_future(flow.say("caught in it"))
        await asyncio.sleep(10)
        assert flow.journal.is_stalled
        async with asyncio.timeout(1):
            assert await refused(flow.command(ask.Cancel(queued))) is Code.E_DISK_FULL
            assert (await flow.command(ask.Cancel())) == told.JobsCancelled(stopping=(running,))
        assert flow.state.jobs[queued].state == "queued"
        flow.disk.capacity = None
        await caught_in_it
        assert (await flow.ended(running)).state == "cancelled"
        assert (await flow.ended(queued)).state == "success"
