"""Queued before a restart: looked at once more before it starts, and never kept from starting."""

import asyncio

from fairlead.core.views import JobView
from fairlead.testing.disk import SimulatedDisk
from tests.flow.harness import FlowHarness, conversation_ref, run_flow, virtually
from tests.flow.turns.harness import Rechecker


async def left_queued(*prompts: str) -> tuple[SimulatedDisk, list[str]]:
    """What a process leaves behind that ends while its agent hangs: its disk, and the jobs that never began."""
    async with run_flow() as flow:
        await flow.say("/hang")
        await flow.until(lambda: bool(flow.state.running))
        return flow.disk, [(await flow.say(prompt)).job_id for prompt in prompts]


def prompts(flow: FlowHarness) -> list[str]:
    return [invocation.prompt for invocation in flow.agents.invoked]


@virtually
async def test_an_edit_and_a_deletion_meanwhile_count_before_anything_starts():
    disk, queued = await left_queued("old words", "never said", "the last")
    edited, deleted, _ = queued

    async def act(job: JobView) -> None:
        await asyncio.sleep(1)
        if job.job_id == edited:
            await flow.gate.amend(job.conversation, job.message_id, "new words")
        if job.job_id == deleted:
            await flow.gate.withdraw(job.conversation, job.message_id)

    channel = Rechecker(act)
    async with run_flow(disk=disk, life=1, recheckers={"chat": channel}) as flow:
        await flow.quiet()
        assert prompts(flow) == ["new words", "the last"]
        assert channel.asked == queued


@virtually
async def test_what_comes_in_after_the_start_is_not_asked_about_and_waits_for_nobody_else():
    disk, queued = await left_queued("queued")
    channel = Rechecker(lambda _job: asyncio.sleep(5))
    async with run_flow(disk=disk, life=1, recheckers={"chat": channel}) as flow:
        await flow.answered("from another", user="U2", at=conversation_ref("U2"))
        assert prompts(flow) == ["from another"]
        await flow.quiet()
        assert prompts(flow) == ["from another", "queued"]
        assert channel.asked == queued


@virtually
async def test_a_channel_that_is_away_or_fails_holds_a_job_up_for_seconds_only():
    disk, (first, _) = await left_queued("first", "second")

    async def act(job: JobView) -> None:
        if job.job_id == first:
            await asyncio.sleep(3600)
        raise RuntimeError("the channel has a fault")

    async with run_flow(disk=disk, life=1, recheckers={"chat": Rechecker(act)}) as flow:
        began = asyncio.get_running_loop().time()
        await flow.quiet()
        assert prompts(flow) == ["first", "second"]
        assert asyncio.get_running_loop().time() - began < 15
