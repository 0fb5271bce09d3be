"""Agents that are added, updated and removed on a runner's machine while it runs, and a daemon that hears of it."""

import asyncio
from contextlib import aclosing

import pytest

from fairlead.core import engine
from fairlead.core.engine import AgentInitiated, EngineEvent, Response
from fairlead.machines.hub import Machines
from fairlead.machines.remote_runtime import RemoteRuntime
from fairlead.runner.runtimes import FOLLOW_SEC
from tests.flow.harness import virtually
from tests.machines.harness import GPU, SESSION, Stage, events_of, invocation
from tests.runner.harness import Added

pytestmark = pytest.mark.req("H3")


def offered(stage: Stage) -> dict[str, tuple[str, str]]:
    return {offer.name: (offer.source, offer.version) for offer in stage.records.known[GPU].agents}


async def remote(stage: Stage, hub: Machines, name: str) -> RemoteRuntime:
    offer = next(offer for offer in stage.records.known[GPU].agents if offer.name == name)
    return RemoteRuntime(hub, GPU, offer, limit_sec=60.0)


async def some_time() -> None:
    """In which a runner looks for other agents, and the daemon hears of them."""
    await asyncio.sleep(2 * FOLLOW_SEC)


@virtually
async def test_the_daemon_hears_of_an_agent_that_is_added_updated_and_removed_while_the_runner_runs():
    stage = Stage()
    added = Added(stage)
    async with stage.daemon() as hub, stage.runner():
        await stage.remote_echo(hub)
        assert offered(stage) == {"echo": ("", "")}
        mine = added.add("1.0")
        await some_time()
        assert offered(stage) == {"echo": ("", ""), "mine": ("npm:mine", "1.0")}
        events = await events_of(await remote(stage, hub, "mine"), invocation("hi"))
        assert isinstance(events[-1], engine.TurnEnded)
        assert (mine.prompts, mine.is_closed) == (["hi"], False)
        added.add("2.0")
        await some_time()
        assert (offered(stage)["mine"], mine.is_closed) == (("npm:mine", "2.0"), True)
        added.remove()
        await some_time()
        assert offered(stage) == {"echo": ("", "")}


@virtually
async def test_a_daemon_that_was_away_hears_of_it_when_it_is_back():
    stage = Stage()
    added = Added(stage)
    async with stage.runner():
        async with stage.daemon() as hub:
            await stage.remote_echo(hub)
        stage.records.met.clear()
        added.add("1.0")
        await some_time()
        async with stage.daemon() as again:
            await stage.remote_echo(again)
            assert offered(stage) == {"echo": ("", ""), "mine": ("npm:mine", "1.0")}


@virtually
async def test_a_turn_ends_with_the_runtime_that_it_began_with_though_its_agent_is_updated_meanwhile():
    stage = Stage()
    added = Added(stage)
    first = added.add("1.0")
    added.follow()
    async with stage.daemon() as hub, stage.runner():
        await stage.remote_echo(hub)
        agent = await remote(stage, hub, "mine")
        turn = invocation("hi\n/ask rm -rf build")
        seen: list[EngineEvent] = []
        async with aclosing(agent.invoke(turn)) as stream:
            async for event in stream:
                seen.append(event)
                if isinstance(event, engine.PermissionRequested):
                    second = added.add("2.0")
                    await some_time()
                    assert (offered(stage)["mine"][1], first.is_closed) == ("2.0", False)
                    await agent.instruct(turn.session_key, Response(request_id=event.request_id, verdict="allow"))
        assert isinstance(seen[-1], engine.TurnEnded)
        await some_time()
        assert (first.is_closed, second.prompts) == (True, [])
        await events_of(agent, invocation("again", job="job_2"))
        assert (len(first.prompts), second.prompts) == (1, ["again"])


@virtually
async def test_a_turn_that_an_agent_began_by_itself_is_over_before_its_runtime_is_closed():
    stage = Stage()
    added = Added(stage)
    first = added.add("1.0")
    added.follow()
    async with stage.daemon() as hub, stage.runner() as runner:
        await stage.remote_echo(hub)
        first.own.put_nowait(AgentInitiated(SESSION, 1, "own-1", engine.ToolStarted("t", "Bash")))
        await asyncio.sleep(1)
        added.add("2.0")
        await some_time()
        assert (runner.kept_turns, first.is_closed) == ((f"{SESSION}@own-1",), False)
        first.own.put_nowait(AgentInitiated(SESSION, 1, "own-1", engine.TurnEnded("done")))
        await some_time()
        assert first.is_closed


@virtually
async def test_an_agent_that_was_removed_when_its_order_came_fails_the_turn_and_says_what_there_is():
    stage = Stage()
    added = Added(stage)
    added.add("1.0")
    added.follow()
    async with stage.daemon() as hub, stage.runner():
        await stage.remote_echo(hub)
        agent = await remote(stage, hub, "mine")
        added.remove()
        await some_time()
        (failed,) = await events_of(agent, invocation("hi"))
    assert isinstance(failed, engine.TurnFailed)
    assert failed.message == "The agent 'mine' is not on this machine; it has: echo."
