"""Agents come, change and go while Fairlead runs: a new one is usable at once, a turn keeps the one it began with."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest

from fairlead.core import requests as ask
from fairlead.core.agents import ConfiguredAgent
from fairlead.core.decide.agents import ConfigureAgent, RemoveAgent
from fairlead.core.engine import AgentInitiated, EngineEvent, Invocation, TextDelta, TurnEnded
from fairlead.errors import Code
from fairlead.ports import Runtime
from tests.flow.harness import Agent, FlowHarness, run_flow, virtually

pytestmark = pytest.mark.req("E1")


class Played(Agent):
    """A runtime of one configured agent. It waits for `may_end` before it answers with its own command."""

    def __init__(self, configured: ConfiguredAgent) -> None:
        super().__init__(self._answer, agent_turns=True)
        self.name = configured.name
        self.command = configured.command
        self.began = asyncio.Event()
        self.may_end = asyncio.Event()
        self.is_closed = False

    async def _answer(self, invocation: Invocation) -> AsyncIterator[EngineEvent]:
        self.began.set()
        if invocation.prompt == "wait":
            await self.may_end.wait()
        yield TextDelta("…")
        yield TurnEnded(" ".join(self.command))

    async def aclose(self) -> None:
        self.is_closed = True


class PlayedCatalogue:
    def __init__(self, runtimes: dict[str, Any]) -> None:
        self.runtimes = runtimes
        self.echo = runtimes["echo"]

    def follow(self, configured: Mapping[str, ConfiguredAgent]) -> list[Runtime]:
        there = {r.name: r for r in self.runtimes.values() if isinstance(r, Played)}
        kept = {n: r for n, r in there.items() if n in configured and configured[n].command == r.command}
        wanted = {name: kept.get(name) or Played(agent) for name, agent in configured.items()}
        self.runtimes.clear()
        self.runtimes.update(wanted | {"echo": self.echo})
        return [runtime for name, runtime in there.items() if name not in kept]


def agent(*command: str, name: str = "goose") -> ConfiguredAgent:
    return ConfiguredAgent(name=name, command=command or (name,))


async def configure(flow: FlowHarness, *command: str, name: str = "goose") -> tuple[str, ...]:
    await flow.flow.ledger.record_durably(ConfigureAgent(agent(*command, name=name)))
    return await flow.flow.agent_runtimes.follow()


@virtually
async def test_an_agent_that_is_added_while_fairlead_runs_can_be_chosen_and_asked_at_once():
    async with run_flow(make_catalogue=PlayedCatalogue) as flow:
        await flow.answered("hello")
        assert await configure(flow, "goose", "acp") == ()
        assert flow.choices("any_tool") == ["goose", "echo"]
        assert flow.choices("tool") == ["echo", "goose"]
        await flow.command(ask.Tool("goose"))
        assert (await flow.answered("who are you?")).result_excerpt == "goose acp"
        added = await flow.command(ask.ProjectAdd("/srv/web"))
        assert (added.default_tool, added.enabled_tools) == ("goose", ("goose", "echo"))


@virtually
async def test_what_a_new_agent_says_by_itself_is_heard_too():
    async with run_flow(make_catalogue=PlayedCatalogue) as flow:
        await configure(flow)
        await flow.answered("hello")
        await flow.command(ask.Tool("goose"))
        first = await flow.answered("hello")
        runtime = flow.world.runtimes["goose"]
        runtime.spoken.put_nowait(
            AgentInitiated(session_key=first.session_key, generation=0, turn_id="t1", event=TurnEnded("unasked"))
        )
        await flow.until(lambda: any(j.result_excerpt == "unasked" for j in flow.state.jobs.values()))


@virtually
async def test_a_turn_ends_with_the_runtime_it_began_with_and_that_is_closed_after_it():
    async with run_flow(make_catalogue=PlayedCatalogue) as flow:
        await configure(flow, "goose", "1")
        await flow.answered("hello")
        await flow.command(ask.Tool("goose"))
        job_id = (await flow.say("wait")).job_id
        old = flow.world.runtimes["goose"]
        await old.began.wait()
        assert await configure(flow, "goose", "2") == (job_id,)
        assert not old.is_closed
        old.may_end.set()
        assert (await flow.ended(job_id)).result_excerpt == "goose 1"
        assert (await flow.answered("and now?")).result_excerpt == "goose 2"
        assert old.is_closed


@virtually
async def test_a_replaced_runtime_without_a_turn_is_closed_at_once_and_a_stop_closes_the_others():
    async with run_flow(make_catalogue=PlayedCatalogue) as flow:
        await configure(flow, "goose", "1")
        idle = flow.world.runtimes["goose"]
        await configure(flow, "goose", "2")
        assert idle.is_closed
        await flow.answered("hello")
        await flow.command(ask.Tool("goose"))
        busy = flow.world.runtimes["goose"]
        await flow.say("wait")
        await busy.began.wait()
        await configure(flow, "goose", "3")
        assert not busy.is_closed
    assert busy.is_closed


@virtually
async def test_a_removed_agent_can_no_longer_be_chosen_and_its_sessions_say_what_to_do():
    async with run_flow(make_catalogue=PlayedCatalogue) as flow:
        await configure(flow)
        await flow.answered("hello")
        await flow.command(ask.Tool("goose"))
        await flow.flow.ledger.record_durably(RemoveAgent(name="goose", even_if_used=True))
        await flow.flow.agent_runtimes.follow()
        assert flow.choices("any_tool") == ["echo"]
        assert flow.choices("tool") == ["echo"]
        failed = await flow.answered("hello?")
        assert failed.error_code == Code.E_CLI_NOT_FOUND
        assert "Install it, or choose another agent with /tool" in (failed.error_message or "")
