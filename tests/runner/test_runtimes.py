"""Agents that are added, updated and removed on a runner's machine while it runs, and a daemon that hears of it."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing

import pytest

from fairlead.core import engine
from fairlead.core.agents import ConfiguredAgent
from fairlead.core.engine import AgentInitiated, EngineEvent, Response
from fairlead.machines.hub import Machines
from fairlead.machines.remote_runtime import RemoteRuntime
from fairlead.ports import Runtime
from fairlead.runner.runtimes import FOLLOW_SEC
from fairlead.runtimes.echo import EchoRuntime
from tests.flow.harness import virtually
from tests.machines.harness import GPU, SESSION, Stage, events_of, invocation

pytestmark = pytest.mark.req("H3")


class AddedEcho(EchoRuntime):
    """An agent that a person added, in some version."""

    name = "mine"

    def __init__(self, version: str) -> None:
        super().__init__()
        self.version = version
        self.is_closed = False
        self.prompts: list[str] = []
        self.own: asyncio.Queue[AgentInitiated] = asyncio.Queue()

    async def invoke(self, turn: engine.Invocation):
        self.prompts.append(turn.prompt)
        async with aclosing(super().invoke(turn)) as events:
            async for event in events:
                yield event

    async def watch_agent_turns(self) -> AsyncIterator[AgentInitiated]:
        while True:
            yield await self.own.get()

    async def aclose(self) -> None:
        self.is_closed = True
        await super().aclose()


class Added:
    """runner.runtimes.AgentSource whose agents the test changes."""

    def __init__(self, stage: Stage) -> None:
        self.runtimes: dict[str, Runtime] = {"echo": EchoRuntime()}
        self._wanted: AddedEcho | None = None
        stage.runtimes, stage.source = self.runtimes, self

    def add(self, version: str) -> AddedEcho:
        self._wanted = AddedEcho(version)
        return self._wanted

    def remove(self) -> None:
        self._wanted = None

    def follow(self) -> Sequence[Runtime] | None:
        there = self.runtimes.get("mine")
        if there is self._wanted:
            return None
        self.runtimes.pop("mine", None)
        if self._wanted is not None:
            self.runtimes["mine"] = self._wanted
        return [] if there is None else [there]

    def find_added(self, name: str) -> ConfiguredAgent | None:
        runtime = self.runtimes[name]
        if not isinstance(runtime, AddedEcho):
            return None
        return ConfiguredAgent(name=name, command=("/opt/mine",), source="npm:mine", version=runtime.version)


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
