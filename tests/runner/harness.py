"""Agents that a test adds to a runner's machine while it runs: the echo agent, in versions."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing

from fairlead.core import engine
from fairlead.core.agents import ConfiguredAgent
from fairlead.core.engine import AgentInitiated
from fairlead.ports import Runtime
from fairlead.runtimes.echo import EchoRuntime
from tests.machines.harness import Stage


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
