"""How long jobs waited, took and were on their way, in virtual time."""

import asyncio

import pytest

from fairlead.core.limits import Limits
from fairlead.core.views import LatencyView
from fairlead.flow.queries.latencies import BOUNDS_SEC
from fairlead.flow.turns.turn import TurnSettings
from tests.flow.harness import FlowHarness, run_flow, virtually

pytestmark = pytest.mark.req("A12")


def latency(flow: FlowHarness, what: str, label: str = "") -> LatencyView:
    return next(view for view in flow.view.latencies() if (view.what, view.label) == (what, label))


def under(view: LatencyView, seconds: float) -> int:
    return view.counts[BOUNDS_SEC.index(seconds)]


@virtually
async def test_a_job_that_waits_its_turn_counts_from_when_it_was_accepted():
    async with run_flow() as flow:
        first = await flow.say("/slow 40")
        second = await flow.say("hello")
        await flow.ended(first.job_id)
        await flow.ended(second.job_id)
        await flow.quiet()
        started, answered = latency(flow, "started"), latency(flow, "answered", "success")
        assert (under(started, 1.0), under(started, 30.0), under(started, 60.0), started.counts[-1]) == (1, 1, 2, 2)
        assert (under(answered, 30.0), under(answered, 60.0)) == (0, 2)
        assert 80 <= answered.total_sec < 81
        delivered = latency(flow, "delivered", "chat")
        assert (under(delivered, 1.0), delivered.counts[-1]) == (2, 2)


@virtually
async def test_an_answer_that_takes_longer_than_every_bound_is_counted_all_the_same():
    async with run_flow(limits=Limits(question_timeout_sec=9000), settings=TurnSettings(time_limit_sec=9000)) as flow:
        receipt = await flow.say("/ask ls")
        await asyncio.sleep(5000)
        await flow.click(await flow.question())
        await flow.ended(receipt.job_id)
        answered = latency(flow, "answered", "success")
        assert (answered.counts[-2], answered.counts[-1]) == (0, 1)
