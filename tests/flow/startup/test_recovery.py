"""After a crash: what ran is unknown, what was queued runs, and nothing runs twice."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest

from fairlead.core.engine import EngineEvent, HandingOver, Invocation, TurnEnded
from fairlead.core.events import JobHandedOver, JobRequeued, JobStarted, TreeSnapshotTaken
from fairlead.core.inbound import Attachment
from fairlead.core.views import JobView
from fairlead.ports import AgentInfo, Blobs
from fairlead.testing.runtime import AgentLog
from tests.flow.harness import Agent, run_flow, virtually
from tests.flow.work_trees.harness import make_trees

pytestmark = pytest.mark.req("A16")


@pytest.mark.req("A8", "A20")
@virtually
async def test_after_a_crash_running_jobs_are_unknown_queued_ones_run_and_nothing_runs_twice():
    agents = AgentLog()
    async with run_flow(agents=agents) as flow:
        running = await flow.say("/hang")
        waiting = await flow.say("/ask ls", user="b")
        queued = await flow.say("later")
        await flow.until(lambda: len(flow.state.running) == 1 and len(flow.state.waiting) == 1)
        disk = flow.disk
    agents.end_all()
    async with run_flow(disk=disk, agents=agents, life=1) as flow:
        assert (await flow.ended(queued.job_id)).state == "success"
        for job_id in (running.job_id, waiting.job_id):
            job = flow.state.jobs[job_id]
            assert (job.state, job.error_code) == ("unknown_after_crash", "E_UNKNOWN_AFTER_CRASH")
        assert agents.violations == []
        assert [i.job_id for i in agents.invoked] == [running.job_id, waiting.job_id, queued.job_id]


@pytest.mark.req("A8")
@virtually
async def test_a_job_whose_agent_was_only_being_started_is_first_in_its_queue_again_and_runs_once():
    given: list[str] = []

    async def start_for_ever(_invocation: Invocation) -> AsyncIterator[EngineEvent]:
        await asyncio.get_running_loop().create_future()
        yield HandingOver()

    async def answer(invocation: Invocation) -> AsyncIterator[EngineEvent]:
        yield HandingOver()
        given.append(invocation.prompt)
        yield TurnEnded("done")

    async with run_flow(runtimes=[Agent(start_for_ever, hand_over="told")]) as flow:
        first = await flow.say("first")
        second = await flow.say("second")
        await flow.until(lambda: flow.state.running == [first.job_id])
        disk = flow.disk
    async with run_flow(disk=disk, runtimes=[Agent(answer, hand_over="told")], life=1) as flow:
        assert (await flow.ended(first.job_id)).state == "success"
        assert (await flow.ended(second.job_id)).state == "success"
        assert given == ["first", "second"]
        assert [fact.job_id for fact in flow.facts(JobRequeued)] == [first.job_id]


class ReadyAgent(Agent):
    """Its process waits for a prompt, or starts with it; `info` is what its runtime says of it."""

    def __init__(self, info: AgentInfo, given: list[str], **can: Any) -> None:
        async def play(invocation: Invocation) -> AsyncIterator[EngineEvent]:
            yield HandingOver()
            given.append(invocation.prompt)
            yield TurnEnded("done")

        super().__init__(play, hand_over="told", gets_ready=True, **can)
        self._info = info

    def describe(self, session_key: str) -> AgentInfo:
        return self._info


WAITS = AgentInfo(state="Active", takes_prompt_at_once=True)
STARTS_AT_ONCE = AgentInfo(takes_prompt_at_once=True)
STARTS_LATER = AgentInfo()


@pytest.mark.req("A8")
@pytest.mark.parametrize(
    ("info", "starts_with_prompt"), [(WAITS, False), (STARTS_AT_ONCE, True)], ids=["it waits", "it starts with it"]
)
@virtually
async def test_the_hand_over_to_an_agent_that_is_ready_is_noted_with_the_start(
    info: AgentInfo, starts_with_prompt: bool
):
    trees = make_trees(**{"a.py": "old\n"})
    trees.is_quick = True
    given: list[str] = []
    agent = ReadyAgent(info, given, starts_with_prompt=starts_with_prompt)
    async with run_flow(runtimes=[agent], trees=trees) as flow:
        await flow.answered("first")
        await flow.until(lambda: not flow.state.open_trees)
        flow.writer.held = True
        saying = asyncio.ensure_future(flow.say("second"))
        await asyncio.sleep(0)
        [running] = flow.state.running
        assert not flow.state.jobs[running].awaits_hand_over
        await asyncio.sleep(60)
        assert given == ["first"]  # nothing is durable yet
        flow.writer.release()
        await flow.ended((await saying).job_id)
        assert given == ["first", "second"]
        noted = [
            type(fact) for fact in flow.facts(JobStarted, TreeSnapshotTaken, JobHandedOver) if fact.job_id == running
        ]
        assert noted[:3] == [JobStarted, TreeSnapshotTaken, JobHandedOver]


@pytest.mark.req("A8")
@virtually
async def test_where_no_snapshots_are_taken_nothing_is_waited_for():
    given: list[str] = []
    async with run_flow(runtimes=[ReadyAgent(WAITS, given)]) as flow:
        await flow.answered("first")
        flow.writer.held = True
        saying = asyncio.ensure_future(flow.say("second"))
        await asyncio.sleep(0)
        [running] = flow.state.running
        assert not flow.state.jobs[running].awaits_hand_over
        flow.writer.release()
        await flow.ended((await saying).job_id)
        assert given == ["first", "second"]


@pytest.mark.req("A8")
@pytest.mark.parametrize(
    ("info", "starts_with_prompt"),
    [(WAITS, False), (STARTS_AT_ONCE, True), (STARTS_LATER, True)],
    ids=["it waits", "it starts with it", "a process of the turn before is left"],
)
@virtually
async def test_a_job_whose_agent_was_ready_and_whose_snapshot_was_still_taken_runs_again(
    info: AgentInfo, starts_with_prompt: bool
):
    trees = make_trees(**{"a.py": "old\n"})
    trees.latency = lambda: 5.0
    given: list[str] = []
    async with run_flow(runtimes=[ReadyAgent(info, given, starts_with_prompt=starts_with_prompt)], trees=trees) as flow:
        said = await flow.say("hello")
        await asyncio.sleep(1)
        assert flow.state.running == [said.job_id]
        assert flow.state.jobs[said.job_id].awaits_hand_over
        disk = flow.disk
    async with run_flow(disk=disk, runtimes=[ReadyAgent(info, given)], life=1) as flow:
        assert (await flow.ended(said.job_id)).state == "success"
        assert given == ["hello"]


class SlowFetcher:
    """The file comes after so many seconds, as a copy of no bytes at all."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self.blobs: Blobs | None = None

    async def fetch(self, job: JobView) -> tuple[Attachment, ...]:
        assert self.blobs is not None
        await asyncio.sleep(self._seconds)
        blob = await self.blobs.put(b"bytes")
        return tuple(msgspec.structs.replace(attachment, blob=blob) for attachment in job.attachments)


@pytest.mark.req("A8")
@virtually
async def test_a_job_whose_agent_was_ready_and_whose_file_was_still_fetched_runs_again():
    given: list[str] = []
    slow, quick = SlowFetcher(30), SlowFetcher(0)
    picture = Attachment(name="a.png", media_type="image/png", size=5, url="http://127.0.0.1/a.png")
    async with run_flow(runtimes=[ReadyAgent(WAITS, given)], fetchers={"chat": slow}) as flow:
        slow.blobs = flow.blobs
        said = await flow.say("look", attachments=(picture,))
        await asyncio.sleep(1)
        assert flow.state.running == [said.job_id]
        assert flow.state.jobs[said.job_id].awaits_hand_over
        disk = flow.disk
    async with run_flow(disk=disk, runtimes=[ReadyAgent(WAITS, given)], fetchers={"chat": quick}, life=1) as flow:
        quick.blobs = flow.blobs
        assert (await flow.ended(said.job_id)).state == "success"
        assert given == ["look"]


@pytest.mark.req("A8")
@virtually
async def test_the_prompt_leaves_only_when_its_hand_over_is_on_disk():
    given: list[str] = []

    async def answer(invocation: Invocation) -> AsyncIterator[EngineEvent]:
        flow.writer.held = True
        yield HandingOver()
        given.append(invocation.prompt)
        yield TurnEnded("done")

    async with run_flow(runtimes=[Agent(answer, hand_over="told")]) as flow:
        saying = asyncio.ensure_future(flow.say("hello"))
        await asyncio.sleep(60)
        [job] = flow.state.jobs.values()
        assert (job.state, job.awaits_hand_over, given) == ("running", False, [])
        flow.writer.release()
        assert (await flow.ended((await saying).job_id)).state == "success"
        assert given == ["hello"]
