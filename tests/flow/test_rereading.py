"""Queued before a restart: looked at once more before it starts, and never kept from starting."""

import asyncio
from collections.abc import Awaitable, Callable

from flow_house import FlowHarness, flow_house, place, virtually

from fairlead.core.state import Job
from fairlead.testing.disk import SimulatedDisk


class QueuedRecheck:
    """A channel that does, for each job, what the test says."""

    def __init__(self, act: Callable[[Job], Awaitable[object]]) -> None:
        self._act = act
        self.asked: list[str] = []

    async def recheck(self, job: Job) -> None:
        self.asked.append(job.prompt)
        await self._act(job)


async def left_queued(*prompts: str) -> SimulatedDisk:
    """What a process leaves behind that ends while its agent hangs."""
    async with flow_house() as flow:
        for prompt in ("/hang", *prompts):
            await flow.say(prompt)
        await flow.until(lambda: bool(flow.state.running))
        return flow.disk


def prompts(flow: FlowHarness) -> list[str]:
    return [invocation.prompt for invocation in flow.agents.invoked]


@virtually
async def test_an_edit_and_a_deletion_meanwhile_count_before_anything_starts():
    disk = await left_queued("old words", "never said", "the last")

    async def act(job: Job) -> None:
        await asyncio.sleep(1)
        if job.prompt == "old words":
            await flow.gate.amend(job.conversation, job.message_id, "new words")
        if job.prompt == "never said":
            await flow.gate.withdraw(job.conversation, job.message_id)

    channel = QueuedRecheck(act)
    async with flow_house(disk=disk, life=1, recheckers={"chat": channel}) as flow:
        await flow.quiet()
        assert prompts(flow) == ["new words", "the last"]
        assert channel.asked == ["old words", "never said", "the last"]


@virtually
async def test_what_comes_in_after_the_start_is_not_asked_about_and_waits_for_nobody_else():
    disk = await left_queued("queued")
    channel = QueuedRecheck(lambda _job: asyncio.sleep(5))
    async with flow_house(disk=disk, life=1, recheckers={"chat": channel}) as flow:
        await flow.answered("from another", user="U2", at=place("U2"))
        assert prompts(flow) == ["from another"]
        await flow.quiet()
        assert prompts(flow) == ["from another", "queued"]
        assert channel.asked == ["queued"]


@virtually
async def test_a_channel_that_is_away_or_fails_holds_a_job_up_for_seconds_only():
    async def act(job: Job) -> None:
        if job.prompt == "first":
            await asyncio.sleep(3600)
        raise RuntimeError("the channel has a fault")

    disk = await left_queued("first", "second")
    async with flow_house(disk=disk, life=1, recheckers={"chat": QueuedRecheck(act)}) as flow:
        began = asyncio.get_running_loop().time()
        await flow.quiet()
        assert prompts(flow) == ["first", "second"]
        assert asyncio.get_running_loop().time() - began < 15
