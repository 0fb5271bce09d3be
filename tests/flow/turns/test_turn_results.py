"""What is kept of a turn: its answer, its files, and what it cost."""

import asyncio
import math

import pytest

from fairlead.core import events as e
from fairlead.core.engine import (
    INTERRUPTED,
    ImageProduced,
    TurnEnded,
    UsageReported,
)
from fairlead.errors import Code
from tests.flow.harness import run_flow, virtually
from tests.flow.turns.harness import playing

pytestmark = pytest.mark.req("E1")


@pytest.mark.req("E9")
@virtually
async def test_the_same_picture_by_several_ways_is_one_file():
    picture, other = ImageProduced("image/png", b"PNG1"), ImageProduced("image/jpeg", b"JPG2")
    async with run_flow(runtimes=[playing(picture, other, picture, TurnEnded("look"))]) as flow:
        job = await flow.answered("draw")
        assert [(f.name, f.media_type) for f in job.files] == [
            ("image-1.png", "image/png"),
            ("image-2.jpg", "image/jpeg"),
        ]
        assert await flow.blobs.get(job.files[0].blob) == b"PNG1"


@pytest.mark.req("A7")
@virtually
async def test_an_answer_too_long_for_a_line_is_a_blob_and_can_be_read_back():
    answer = "ü" * 200_000
    async with run_flow(runtimes=[playing(TurnEnded(answer))], channels=[]) as flow:
        job = await flow.answered("hello")
        assert job.answer_blob
        assert len(job.result_excerpt or "") == 400
        assert (await flow.view.job(job.job_id)).answer == answer
        [completed] = flow.facts(e.JobCompleted)
        assert completed.text == ""


@pytest.mark.req("A7", "A18")
@virtually
async def test_a_long_answer_on_a_full_disk_waits_for_room_and_is_not_lost():
    answer = "y" * 400_000
    agent = playing(5, TurnEnded(answer))
    async with run_flow(runtimes=[agent], channels=[]) as flow:
        receipt = await flow.say("hello")
        await flow.until(lambda: agent.open == 1)
        flow.disk.capacity = flow.disk.used_bytes + 1000
        await asyncio.sleep(100)
        assert flow.journal.is_stalled
        flow.disk.capacity = None
        assert (await flow.ended(receipt.job_id)).state == "success"
        assert (await flow.view.job(receipt.job_id)).answer == answer


@virtually
async def test_usage_is_added_up_and_what_is_no_number_cannot_spoil_the_journal():
    usage = [
        UsageReported(input_tokens=10, output_tokens=20, cached_tokens=5, cost_usd=0.5),
        UsageReported(input_tokens=1, output_tokens=2, cached_tokens=0, cost_usd=math.nan),
        UsageReported(input_tokens=0, output_tokens=0, cached_tokens=0, cost_usd=math.inf),
    ]
    async with run_flow(runtimes=[playing(*usage, TurnEnded("done"))]) as flow:
        job = await flow.answered("hello")
        assert job.cost_usd == 0.5
        await flow.quiet()
        disk = flow.disk
    async with run_flow(disk=disk) as flow:
        session = flow.state.sessions[job.session_key]
        assert (session.input_tokens, session.output_tokens, session.cost_usd) == (11, 22, 0.5)


@pytest.mark.req("A16", "A18")
@virtually
async def test_a_turn_that_was_interrupted_though_nobody_asked_is_a_failure_and_keeps_what_was_said():
    async with run_flow(runtimes=[playing(TurnEnded("I had beg", INTERRUPTED))]) as flow:
        job = await flow.answered("hello")
        assert (job.state, job.error_code) == ("failed", Code.E_AGENT_INTERRUPTED)
        [failed] = flow.facts(e.JobFailed)
        assert failed.text == "I had beg"
        await flow.quiet()
        [told] = flow.texts(job.conversation)
        assert "E_AGENT_INTERRUPTED: " in told
        assert f"/retry {job.job_id}" in told
