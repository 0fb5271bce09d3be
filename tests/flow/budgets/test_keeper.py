"""A budget that is spent: one question, jobs that wait without a slot, and the next day; in virtual time."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing

import pytest

from fairlead.core import requests as ask
from fairlead.core.events import BudgetDecided, DeliveryOwed, JobStarted, QuestionAsked
from fairlead.core.limits import Limits
from fairlead.core.live import JobMoved, LiveEvent, QuestionOpened
from fairlead.core.replies import BudgetReport
from fairlead.errors import Code, FairleadError
from fairlead.testing.channel import ChannelHistory
from fairlead.testing.disk import SimulatedDisk
from tests.flow.harness import OWNER, FlowHarness, conversation_ref, run_flow, virtually

pytestmark = pytest.mark.req("E6")

TEXT = "The budget of project api for today is spent: $2.00 of $2.00, 15 tokens. #2 waits."


async def spend_all(flow: FlowHarness) -> str:
    """A project whose budget is spent, and a job that waits for it."""
    await flow.command(ask.BudgetChange(project="api", usd="2"))
    await flow.answered("/usage 10 5 2.0")
    return (await flow.say("more")).job_id


def is_open(flow: FlowHarness, question_id: str) -> bool:
    return flow.state.questions[question_id].status == "open"


@virtually
async def test_the_person_who_waits_is_asked_once_and_an_answer_lets_the_job_run():
    async with run_flow(limits=Limits(global_max_running=1)) as flow:
        job_id = await spend_all(flow)
        question_id = await flow.question()
        await flow.say("even more")
        await asyncio.sleep(1000)
        assert flow.state.jobs[job_id].state == "queued"
        assert [q.title for q in flow.facts(QuestionAsked)] == [TEXT]
        [shown] = [post.text for post in flow.posts(conversation_ref(OWNER)) if post.question_id == question_id]
        assert shown == f"**{TEXT}**\n1. Go on today\n2. Wait until tomorrow\n3. Cancel what waits"
        await flow.click(question_id, chosen={TEXT: "Go on today"})
        await flow.quiet()
        assert flow.state.jobs[job_id].state == "success"
        assert len(flow.agents.invoked) == 3


@virtually
async def test_a_job_that_waits_for_a_budget_keeps_nobody_else_from_running():
    async with run_flow(limits=Limits(global_max_running=1), projects=("/srv/api", "/srv/web")) as flow:
        await flow.command(ask.BudgetChange(project="api", tokens=10))
        await flow.answered("/usage 10 5 0", project="api")
        held = [await flow.say("more", project="api", user=user) for user in (OWNER, "a", "b")]
        assert (await flow.answered("hello", user="c", project="web")).state == "success"
        assert {flow.state.jobs[receipt.job_id].state for receipt in held} == {"queued"}
        report = await flow.command(ask.BudgetShow())
        assert isinstance(report, BudgetReport)
        assert [(row.project, row.spent_tokens, row.tokens, row.held) for row in report.rows] == [("api", 15, 10, True)]


@virtually
async def test_at_the_owners_midnight_the_jobs_run_and_the_question_is_closed():
    async with run_flow() as flow:
        job_id = await spend_all(flow)
        question_id = await flow.question()
        until = flow.flow.ledger.limits.days.end_of_day(flow.flow.ledger.now())
        await flow.until(lambda: not flow.state.jobs[job_id].is_live, seconds=90_000)
        [*_, started] = [r for r in flow.recorded() if isinstance(r.event, JobStarted)]
        assert started.ts >= until
        assert not is_open(flow, question_id)
        with pytest.raises(FairleadError) as refused:
            await flow.click(question_id, chosen={TEXT: "Go on today"})
        assert refused.value.code == Code.E_QUESTION_CLOSED


@virtually
async def test_the_question_outlives_a_restart_and_is_not_asked_again():
    disk, history = SimulatedDisk(), ChannelHistory()
    async with run_flow(disk=disk, history=history) as flow:
        job_id = await spend_all(flow)
        question_id = await flow.question()
    async with run_flow(disk=disk, history=history, life=1) as flow:
        await asyncio.sleep(1000)
        assert flow.state.jobs[job_id].state == "queued"
        await flow.click(question_id, chosen={TEXT: "Cancel what waits"})
        assert (await flow.ended(job_id)).state == "cancelled"
        assert [d.choice for d in flow.facts(BudgetDecided)] == ["cancel"]
        assert len([d for d in flow.facts(DeliveryOwed) if d.kind == "question"]) == 1


@virtually
async def test_a_daemon_that_was_down_at_midnight_starts_the_jobs_of_yesterday():
    disk, history = SimulatedDisk(), ChannelHistory()
    async with run_flow(disk=disk, history=history) as flow:
        job_id = await spend_all(flow)
        question_id = await flow.question()
    await asyncio.sleep(86_400)
    async with run_flow(disk=disk, history=history, life=1) as flow:
        assert (await flow.ended(job_id)).state == "success"
        assert not is_open(flow, question_id)


@virtually
async def test_a_cancelled_turn_has_spent_what_its_agent_reported():
    async with run_flow() as flow:
        job_id = (await flow.say("/usage 10 5 2.0\n/hang")).job_id
        await flow.until(lambda: flow.state.jobs[job_id].state == "running")
        await asyncio.sleep(1)
        await flow.command(ask.Cancel())
        await flow.ended(job_id)
        report = await flow.command(ask.BudgetShow("api"))
        assert isinstance(report, BudgetReport)
        assert [(row.spent_usd, row.spent_tokens) for row in report.rows] == [(2.0, 15)]


@virtually
async def test_who_watches_a_job_that_waits_for_its_budget_sees_it_in_the_queue():
    async with run_flow() as flow:
        async with aclosing(flow.view.watch(session_key=f"agent:fairlead:user:{OWNER}")) as watching:
            job_id = await spend_all(flow)
            shown = [event async for event in _until_asked(watching) if event.job_id == job_id]
        assert [event.state for event in shown] == ["queued"]


async def _until_asked(watching: AsyncIterator[LiveEvent]) -> AsyncIterator[JobMoved]:
    async for event in watching:
        if isinstance(event, QuestionOpened):
            return
        if isinstance(event, JobMoved):
            yield event
