"""The way in: seen before, allowed, understood, room; and the code that says which of them it was."""

import asyncio
from itertools import pairwise

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.core import events as e
from fairlead.core import requests as ask
from fairlead.core.inbound import Attachment
from fairlead.core.limits import Limits
from fairlead.errors import Code, FairleadError
from fairlead.flow.intake.messages import INLINE_TEXT_BYTES
from fairlead.render.errors import error_text
from fairlead.testing.clock import run_virtually
from tests.flow.harness import OWNER, conversation_ref, run_flow, virtually

pytestmark = pytest.mark.req("A8")


async def refusal(work) -> FairleadError:
    with pytest.raises(FairleadError) as caught:
        await work
    return caught.value


@virtually
async def test_a_file_with_a_name_that_no_text_can_hold_is_taken_with_a_clean_one():
    async with run_flow() as flow:
        odd = Attachment(name="a\ud800\x00.txt", media_type="text/\udfff", size=3, url="https://cdn.example/\ud800")
        await flow.say("look", attachments=(odd,))
        [taken] = flow.facts(e.JobEnqueued)
        assert taken.attachments == (
            Attachment(name="a?\u2400.txt", media_type="text/?", size=3, url="https://cdn.example/?"),
        )


@virtually
async def test_a_message_is_queued_and_its_receipt_tells_its_position():
    async with run_flow() as flow:
        first = await flow.say("/slow 100")
        await flow.until(lambda: len(flow.state.running) == 1)
        second, third = await flow.say("two"), await flow.say("three")
        assert (first.position, second.position, third.position) == (0, 0, 1)
        assert first.session_key == "agent:fairlead:user:42"


@virtually
async def test_a_message_that_comes_again_much_later_is_the_same_job_and_runs_once():
    async with run_flow() as flow:
        inbound = flow.inbound("hello")
        first = await flow.gate.submit(inbound)
        await flow.ended(first.job_id)
        await asyncio.sleep(86400 * 3)
        again = await flow.gate.submit(inbound)
        assert (again.job_id, again.duplicate) == (first.job_id, True)
        assert len(flow.agents.invoked) == 1


@virtually
async def test_a_refused_message_that_comes_again_is_refused_again_and_leaves_one_mark():
    async with run_flow(limits=Limits(max_queue_per_session=1)) as flow:
        await flow.say("/slow 100")
        await flow.until(lambda: len(flow.state.running) == 1)
        await flow.say("waits")
        full = flow.inbound("too much")
        for _ in range(3):
            assert (await refusal(flow.gate.submit(full))).code is Code.E_QUEUE_FULL
        assert len(flow.facts(e.MessageRefused)) == 1
        await flow.quiet()
        assert (await refusal(flow.gate.submit(full))).code is Code.E_QUEUE_FULL, "not even when there is room again"


@pytest.mark.req("A13")
@virtually
async def test_a_stranger_leaves_no_trace():
    async with run_flow() as flow:
        before = flow.state.seq
        stranger = flow.inbound("let me in", user="666")
        stranger = msgspec.structs.replace(stranger, message_id="1", pre_authorised=False)
        assert (await refusal(flow.gate.submit(stranger))).code is Code.E_OWNER_ONLY
        caller = flow.caller("666", pre_authorised=False)
        assert (await refusal(flow.gate.command(ask.Status(), caller))).code is Code.E_OWNER_ONLY
        assert not flow.gate.allows("666")
        assert flow.gate.allows(OWNER)
        assert flow.state.seq == before


@pytest.mark.req("A17")
@virtually
async def test_empty_and_oversized_messages_are_refused_with_their_codes():
    async with run_flow(limits=Limits(max_message_bytes=4 * 1024 * 1024)) as flow:
        assert (await refusal(flow.say(""))).code is Code.E_EMPTY_MESSAGE
        assert (await refusal(flow.say(" \n\t "))).code is Code.E_EMPTY_MESSAGE
        too_large = await refusal(flow.say("x" * 10_000_000))
        assert too_large.code is Code.E_MESSAGE_TOO_LARGE
        assert "10,000,000" in too_large.message
        many = tuple(Attachment(name=f"{n}.png") for n in range(11))
        assert (await refusal(flow.say("look", attachments=many))).code is Code.E_INVALID_ARGS
        assert flow.state.account.refused == 4
        assert (await flow.answered("still fine")).state == "success"


@virtually
async def test_a_message_too_long_for_a_line_is_kept_in_a_blob_and_reaches_the_agent_whole():
    async with run_flow() as flow:
        text = "é" * 300_000
        job = await flow.answered(text)
        assert job.prompt_blob
        assert flow.agents.invoked[0].prompt == text
        [enqueued] = flow.facts(e.JobEnqueued)
        assert (enqueued.prompt, enqueued.prompt_blob) == ("", job.prompt_blob)
        seen = await flow.view.job(job.job_id)
        assert seen.prompt == text


@settings(max_examples=25)
@given(text=st.text(st.characters(exclude_categories=()), min_size=1).filter(lambda t: t.strip()))
def test_any_text_reaches_the_agent_and_survives_the_journal(text: str):
    async def story() -> None:
        async with run_flow() as flow:
            await flow.say("/slow 1\n" + text)
            await flow.quiet()
            prompt = flow.agents.invoked[0].prompt
            assert "\x00" not in prompt
            assert prompt == prompt.encode().decode()
            disk = flow.disk
        async with run_flow(disk=disk) as flow:
            assert flow.state.account.answered == 1

    run_virtually(story())


@pytest.mark.req("A18")
@virtually
async def test_a_full_disk_refuses_what_is_new_keeps_what_was_taken_and_recovers():
    async with run_flow() as flow:
        await flow.answered("before")
        flow.disk.capacity = flow.disk.used_bytes + 50
        caught_in_it = asyncio.ensure_future(flow.say("caught in it"))
        await asyncio.sleep(10)
        assert flow.journal.is_stalled
        assert not caught_in_it.done(), "it is neither accepted nor refused yet"
        for work in (
            flow.say("refused"),
            flow.say("x" * 400_000),
            flow.command(ask.Tool("echo")),
            flow.command(ask.Reset()),
            flow.click("q_1"),
            flow.gate.skip(flow.inbound("old"), "too old"),
        ):
            assert (await refusal(work)).code is Code.E_DISK_FULL
        assert (await flow.command(ask.Status())).state in {"queued", "idle", "running"}
        assert [p.name for p in (await flow.command(ask.ProjectList())).projects] == ["api"]
        assert len((await flow.command(ask.SessionList())).sessions) == 1
        flow.disk.capacity = None
        job = await flow.ended((await caught_in_it).job_id)
        assert job.state == "success"
        assert (await flow.answered("after")).state == "success"
        disk = flow.disk
    async with run_flow(disk=disk) as flow:
        assert flow.state.account.answered == 3
        assert flow.state.account.refused == 0


@virtually
async def test_a_long_message_for_which_there_is_no_room_is_refused_as_such():
    async with run_flow() as flow:
        flow.disk.capacity = flow.disk.used_bytes + 1000
        assert (await refusal(flow.say("x" * 400_000))).code is Code.E_DISK_FULL
        flow.disk.capacity = None
        assert (await flow.answered("small")).state == "success"


@pytest.mark.req("A16")
@virtually
async def test_an_edit_counts_while_the_job_is_queued_and_only_if_the_text_differs():
    async with run_flow() as flow:
        running = flow.inbound("/slow 50", message_id="1")
        queued = flow.inbound("two", message_id="2")
        await flow.gate.submit(running)
        await flow.until(lambda: len(flow.state.running) == 1)
        receipt = await flow.gate.submit(queued)
        here = conversation_ref(OWNER)
        assert not await flow.gate.amend(here, "2", "two"), "a link preview is an edit too"
        assert await flow.gate.amend(here, "2", "TWO")
        assert not await flow.gate.amend(here, "1", "late")
        assert not await flow.gate.amend(here, "999", "never seen")
        await flow.ended(receipt.job_id)
        assert flow.agents.invoked[1].prompt == "TWO"


@pytest.mark.req("A16")
@settings(max_examples=15, deadline=None)
@given(lengths=st.lists(st.sampled_from((1, 2, 300_000, 400_000)), min_size=2, max_size=5))
def test_edits_keep_what_was_quoted_however_long_the_words_become(lengths: list[int]):
    async def story() -> None:
        async with run_flow() as flow:
            await flow.gate.submit(flow.inbound("/slow 50", message_id="1"))
            said, *edits = ("é" * length for length in lengths)
            receipt = await flow.gate.submit(flow.inbound(said, message_id="2", quote="it is so"))
            for before, words in pairwise((said, *edits)):
                assert await flow.gate.amend(conversation_ref(OWNER), "2", words) is (words != before)
                assert not await flow.gate.amend(conversation_ref(OWNER), "2", words), "a link preview is an edit too"
            await flow.ended(receipt.job_id)
            assert flow.agents.invoked[1].prompt == f"> it is so\n\n{[said, *edits][-1]}"
            assert all(len(fact.prompt) < INLINE_TEXT_BYTES for fact in flow.facts(e.JobEnqueued, e.JobAmended))

    run_virtually(story())


@virtually
async def test_a_message_that_only_its_quotation_lifts_over_the_limit_is_taken_and_kept_in_a_blob():
    limit = 1024 * 1024
    async with run_flow(limits=Limits(max_message_bytes=limit)) as flow:
        text = "x" * (limit - 10)
        job = await flow.answered(text, quote="a long line " * 10)
        assert job.prompt_blob
        assert flow.agents.invoked[0].prompt.endswith(f"\n\n{text}")
        assert (await refusal(flow.say("x" * (limit + 1), quote="q"))).code is Code.E_MESSAGE_TOO_LARGE


@pytest.mark.req("A16")
@virtually
async def test_a_deleted_message_takes_its_queued_job_back():
    async with run_flow() as flow:
        await flow.gate.submit(flow.inbound("/slow 50", message_id="1"))
        await flow.until(lambda: len(flow.state.running) == 1)
        receipt = await flow.gate.submit(flow.inbound("two", message_id="2"))
        assert await flow.gate.withdraw(conversation_ref(OWNER), "2")
        assert not await flow.gate.withdraw(conversation_ref(OWNER), "2")
        assert not await flow.gate.withdraw(conversation_ref(OWNER), "1")
        assert flow.state.jobs[receipt.job_id].state == "withdrawn"
        await flow.quiet()
        assert len(flow.agents.invoked) == 1


@pytest.mark.req("A16", "A18")
@virtually
async def test_on_a_full_disk_an_edit_is_refused_a_deletion_counts_at_once_and_neither_waits():
    async with run_flow() as flow:
        await flow.gate.submit(flow.inbound("/slow 5000", message_id="1"))
        await flow.until(lambda: len(flow.state.running) == 1)
        edited = await flow.gate.submit(flow.inbound("two", message_id="2"))
        deleted = await flow.gate.submit(flow.inbound("three", message_id="3"))
        flow.disk.capacity = flow.disk.used_bytes + 50
        caught_in_it = asyncio.ensure_future(flow.say("caught in it"))
        await asyncio.sleep(10)
        assert flow.journal.is_stalled
        async with asyncio.timeout(1):
            assert not await flow.gate.amend(conversation_ref(OWNER), "2", "two"), "a link preview asks for nothing"
            assert (await refusal(flow.gate.amend(conversation_ref(OWNER), "2", "TWO"))).code is Code.E_DISK_FULL
            assert await flow.gate.withdraw(conversation_ref(OWNER), "3")
        assert flow.state.jobs[deleted.job_id].state == "withdrawn"
        flow.disk.capacity = None
        await caught_in_it
        disk = flow.disk
    async with run_flow(disk=disk) as flow:
        assert flow.state.jobs[deleted.job_id].state == "withdrawn"
        await flow.ended(edited.job_id)
        assert [i.prompt for i in flow.agents.invoked if i.job_id == edited.job_id] == ["two"]


@virtually
async def test_a_skipped_message_leaves_its_mark_and_never_runs():
    async with run_flow() as flow:
        old = flow.inbound("from last week")
        await flow.gate.skip(old, "too old")
        receipt = await flow.gate.submit(old)
        assert receipt.duplicate
        assert flow.state.account.skipped == 1
        assert flow.agents.invoked == []


@pytest.mark.req("A12", "B15")
@virtually
async def test_what_a_message_asks_for_must_be_there():
    async with run_flow(projects=("/srv/api", "/srv/web")) as flow:
        none = await refusal(flow.say("hello"))
        assert none.code is Code.E_PROJECT_NOT_SELECTED
        assert "project switch" in error_text(none).next_step
        assert (await refusal(flow.say("hello", project="nope"))).code is Code.E_PROJECT_NOT_FOUND
        assert (await refusal(flow.say("hello", project="api", runtime="gemini"))).code is Code.E_TOOL_NOT_ENABLED
        job = await flow.answered("hello", project="2")
        assert job.project == "web"
        assert (await flow.answered("again")).project == "web", "it stays selected"
