"""The card of a turn that changed files: with its answer where that is known in time, else behind it, and once."""

import asyncio
from collections.abc import AsyncIterator

import msgspec
import pytest

from fairlead.core.engine import EngineEvent, HandingOver, Invocation, ToolEnded, ToolStarted, TurnEnded, UsageReported
from fairlead.core.events import DeliveryAbandoned, DeliveryOwed, DeliveryPlanned
from fairlead.flow.work_trees.turn_snapshots import TreeSettings
from fairlead.ports import ChannelCapabilities
from fairlead.testing.channel import ChannelHistory, RecordingChannel
from fairlead.testing.disk import SimulatedDisk
from fairlead.testing.trees import FakeTrees
from tests.flow.harness import Agent, conversation_ref, run_flow, virtually
from tests.flow.outbox.test_outbox import Locked
from tests.flow.work_trees.harness import API, make_trees, writing_agent

pytestmark = pytest.mark.req("F3")
CHAT = conversation_ref()


class ChannelWithButtons(RecordingChannel):
    @property
    def capabilities(self) -> ChannelCapabilities:
        return msgspec.structs.replace(super().capabilities, small_print="-# ", buttons=True)


def agent_that_tests(trees: FakeTrees) -> Agent:
    """Writes a file, runs the tests, and says how full its context is."""

    async def play(_invocation: Invocation) -> AsyncIterator[EngineEvent]:
        yield HandingOver()
        trees.files[API]["a.py"] = "new\n"
        yield ToolStarted("1", "Bash", {"command": "cd /srv/api && pytest -q | tail -3"})
        yield ToolEnded("1", ok=True, summary="1 failed, 5 passed in 0.1s")
        yield UsageReported(input_tokens=1000, output_tokens=234, cost_usd=0.12, context_used=50, context_size=200)
        yield TurnEnded("Done.")

    return Agent(play, hand_over="told")


def planned_cards(flow) -> list[tuple[str, str]]:
    """The jobs whose cards have buttons, and those that can be tried again there."""
    pieces = [piece for plan in flow.facts(DeliveryPlanned) for piece in plan.pieces]
    return [(piece.card, piece.retries) for piece in pieces if piece.card]


@virtually
async def test_the_card_stands_below_the_answer_with_files_tests_time_tokens_cost_and_context():
    trees, history = make_trees(**{"a.py": "old\n"}), ChannelHistory()
    channels = [ChannelWithButtons(history)]
    async with run_flow(runtimes=[agent_that_tests(trees)], trees=trees, channels=channels, history=history) as flow:
        job = await flow.answered("work", at=CHAT)
        await flow.quiet()
        (answer,) = flow.texts(CHAT)
        assert answer.splitlines() == [
            "Done.",
            "-# 1 file changed (+1 -1): a.py +1 -1",
            "-# ❌ pytest -q: 1 failed, 5 passed",
            "-# 0s · 1.2k tokens · $0.12 · context 25%",
        ]
        assert planned_cards(flow) == [(job.job_id, job.job_id)]


@virtually
async def test_a_turn_that_changed_nothing_has_no_card():
    trees, history = make_trees(**{"a.py": "old\n"}), ChannelHistory()
    channels = [ChannelWithButtons(history)]
    async with run_flow(runtimes=[writing_agent(trees)], trees=trees, channels=channels, history=history) as flow:
        await flow.answered("just talk", at=CHAT)
        await flow.until(lambda: not flow.state.open_trees)
        await flow.quiet()
        assert flow.texts(CHAT) == ["Done."]
        assert planned_cards(flow) == []


@virtually
async def test_an_answer_does_not_wait_and_its_card_follows_once_also_after_a_restart():
    disk, trees, history = SimulatedDisk(), make_trees(), ChannelHistory()
    settings = TreeSettings(start_sec=60)
    async with run_flow(
        disk=disk,
        runtimes=[writing_agent(trees)],
        trees=trees,
        channels=[ChannelWithButtons(history)],
        history=history,
        tree_settings=settings,
    ) as flow:
        said = await flow.say("a.py=one", at=CHAT)
        await flow.until(lambda: said.job_id in flow.state.open_trees)
        trees.latency = lambda: 20.0
        await flow.ended(said.job_id)
        await flow.quiet()
        assert flow.texts(CHAT) == ["Done."]
    trees.latency = lambda: 0.0
    async with run_flow(
        disk=disk,
        runtimes=[writing_agent(trees)],
        trees=trees,
        channels=[ChannelWithButtons(history)],
        history=history,
        tree_settings=settings,
        life=1,
    ) as flow:
        await flow.until(lambda: not flow.state.open_trees)
        await flow.quiet()
        assert flow.texts(CHAT) == ["Done.", "-# #1\n-# 1 file changed (+1 -0): a.py +1 -0"]
        assert [fact.kind for fact in flow.facts(DeliveryOwed)] == ["answer", "card"]
        assert planned_cards(flow) == [(said.job_id, said.job_id)]


@virtually
async def test_a_card_that_may_not_be_sent_waits_until_the_right_is_back():
    trees, channel = make_trees(), Locked(ChannelHistory())
    channel.is_locked = False
    async with run_flow(
        runtimes=[writing_agent(trees)], trees=trees, channels=[channel], history=channel.history
    ) as flow:
        said = await flow.say("a.py=one", at=CHAT)
        await flow.until(lambda: said.job_id in flow.state.open_trees)
        trees.latency = lambda: 20.0
        await flow.ended(said.job_id)
        await flow.quiet()
        channel.is_locked = True
        await asyncio.sleep(86400)
        assert flow.facts(DeliveryAbandoned) == []
        channel.is_locked = False
        flow.gate.came_back(channel.name)
        await flow.quiet()
        assert [text.splitlines()[-1] for text in flow.texts(CHAT)] == ["Done.", "1 file changed (+1 -0): a.py +1 -0"]


@virtually
async def test_a_client_that_fetches_reads_it_in_the_job_and_is_owed_nothing_more():
    trees = make_trees()
    async with run_flow(runtimes=[writing_agent(trees)], trees=trees, channels=[]) as flow:
        said = await flow.say("a.py=one")
        await flow.until(lambda: said.job_id in flow.state.open_trees)
        trees.latency = lambda: 20.0
        await flow.ended(said.job_id)
        await flow.until(lambda: not flow.state.open_trees)
        view = await flow.view.job(said.job_id)
        assert view.changed is not None
        assert (view.changed.total, view.changed.files[0].path) == (1, "a.py")
