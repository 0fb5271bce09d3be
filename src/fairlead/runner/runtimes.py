"""The runtimes of a runner's machine. They follow the agents that people add, update and remove there while it runs.

1. A turn ends with the runtime that it began with, and what its agent is told meanwhile goes to that one.
2. A runtime that was replaced is closed after its last turn.
"""

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, Final, NamedTuple, Protocol

import msgspec

from fairlead.core.agents import ConfiguredAgent
from fairlead.core.machines.offers import AgentOffer
from fairlead.kit.tasks import TaskOwner, run_to_end
from fairlead.observe import log_failure
from fairlead.ports import Runtime

FOLLOW_SEC: Final = 2.0
"""So often a runner looks whether an agent was added, updated or removed."""

Listen = Callable[[str, Runtime], Coroutine[Any, Any, None]]
"""Listens for ever to the turns that the agents of a runtime begin by themselves."""


class AgentSource(Protocol):
    """Which agents there are on this machine."""

    def follow(self) -> Sequence[Runtime] | None:
        """Look again, and make the shared mapping of runtimes fit. Returns the runtimes that went from it, still open;
        None if nothing has changed."""
        ...

    def find_added(self, name: str) -> ConfiguredAgent | None:
        """What is known of an agent that a person added; None for the others."""
        ...


class _Use(NamedTuple):
    runtime: Runtime
    session_key: str


class RunnerRuntimes:
    """`runtimes` is the mapping that `source` changes in place; without a source it never changes."""

    def __init__(self, runtimes: Mapping[str, Runtime], source: AgentSource | None = None) -> None:
        self._runtimes = runtimes
        self._source = source
        self._uses: dict[str, _Use] = {}
        self._replaced: list[Runtime] = []

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._runtimes)

    def offers(self) -> tuple[AgentOffer, ...]:
        """What the daemon is told."""
        return tuple(self._offer(name, runtime) for name, runtime in self._runtimes.items())

    def _offer(self, name: str, runtime: Runtime) -> AgentOffer:
        added = None if self._source is None else self._source.find_added(name)
        return AgentOffer(
            name=name,
            capabilities=msgspec.to_builtins(runtime.capabilities),
            source="" if added is None else added.source,
            version="" if added is None else added.version,
        )

    def find(self, agent: str, session_key: str = "") -> Runtime | None:
        """The runtime that a turn of this session runs with, else the one that its next turn gets."""
        used = (use.runtime for use in self._uses.values() if session_key and use.session_key == session_key)
        return next((runtime for runtime in used if runtime.name == agent), self._runtimes.get(agent))

    def hold(self, turn_id: str, session_key: str, runtime: Runtime) -> None:
        """A turn runs with it: it stays open until `release`."""
        self._uses[turn_id] = _Use(runtime, session_key)

    def release(self, turn_id: str) -> None:
        self._uses.pop(turn_id, None)

    async def run(self, listen: Listen, announce: Callable[[], None]) -> None:
        """For ever: look for changes, and `announce` them. What was replaced is also closed when the runner ends."""
        try:
            async with TaskOwner("agents") as owner:
                listeners: dict[Runtime, asyncio.Task[None]] = {}
                while True:
                    for name, runtime in self._runtimes.items():
                        if runtime.capabilities.agent_turns and runtime not in listeners:
                            listeners[runtime] = owner.start(listen(name, runtime), name=f"turns of {name}")
                    if self._source is None:
                        return
                    await asyncio.sleep(FOLLOW_SEC)
                    self._follow(self._source, announce)
                    for runtime in await self._close_unused():
                        if runtime in listeners:
                            listeners.pop(runtime).cancel()
        finally:
            for runtime in self._replaced:
                await run_to_end(_close(runtime))

    def _follow(self, source: AgentSource, announce: Callable[[], None]) -> None:
        replaced = source.follow()
        if replaced is not None:
            self._replaced += replaced
            announce()

    async def _close_unused(self) -> list[Runtime]:
        in_use = [use.runtime for use in self._uses.values()]
        unused = [runtime for runtime in self._replaced if runtime not in in_use]
        for runtime in unused:
            await _close(runtime)
            self._replaced.remove(runtime)
        return unused


async def _close(runtime: Runtime) -> None:
    try:
        await runtime.aclose()
    except Exception as fault:  # a runtime that cannot be closed must not keep another from being used
        log_failure("a runtime could not be closed", fault, runtime=runtime.name)
