"""Keeps the runtimes in step with the agents that the state has: a new agent is usable at once, a removed one ends.

1. Code that records a fact about an agent calls `follow`; when it returns, the new names may be chosen.
2. A turn ends with the runtime that it began with: a runtime that was replaced is closed after its last turn.
"""

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, Final, Protocol

import msgspec

from fairlead.core.agents import ConfiguredAgent
from fairlead.core.decide.projects import FollowAgents
from fairlead.core.ids import JobId
from fairlead.flow.ledger import Ledger
from fairlead.kit.tasks import TaskOwner, run_to_end
from fairlead.observe import log_failure
from fairlead.ports import Runtime

Listen = Callable[[Runtime], Coroutine[Any, Any, None]]
"""Listens for ever to the turns that the agents of a runtime begin by themselves."""


class RuntimeCatalogue(Protocol):
    """Makes runtimes, and holds them in a mapping that the whole flow shares."""

    def follow(self, configured: Mapping[str, ConfiguredAgent]) -> Sequence[Runtime]:
        """Make the shared mapping fit the configured agents. Returns the runtimes that went from it, still open."""
        ...


class FixedCatalogue:
    """The catalogue of a machine whose runtimes never change."""

    def follow(self, configured: Mapping[str, ConfiguredAgent]) -> Sequence[Runtime]:  # noqa: ARG002 - the port's shape
        return ()


FIXED: Final = FixedCatalogue()


class _Replaced(msgspec.Struct, frozen=True):
    runtime: Runtime
    jobs: tuple[JobId, ...]


class AgentRuntimes:
    def __init__(self, ledger: Ledger, runtimes: Mapping[str, Runtime], catalogue: RuntimeCatalogue) -> None:
        self._ledger = ledger
        self._runtimes = runtimes
        self._catalogue = catalogue
        self._replaced: list[_Replaced] = []
        self._has_changed = asyncio.Event()

    async def follow(self) -> tuple[JobId, ...]:
        """Take over what the state says about agents. Returns the jobs that still run with a runtime of before."""
        replaced = [
            _Replaced(gone, self._jobs_of(gone.name)) for gone in self._catalogue.follow(self._ledger.state.agents)
        ]
        self._ledger.limits = msgspec.structs.replace(self._ledger.limits, runtimes=tuple(self._runtimes))
        self._replaced += [each for each in replaced if each.jobs]
        self._has_changed.set()
        for each in replaced:
            if not each.jobs:
                await _close(each.runtime)
        return tuple(job_id for each in replaced for job_id in each.jobs)

    async def look_again(self) -> None:
        """A person may have installed an agent since: find it, and let the projects have it."""
        await self.follow()
        await self._ledger.record_durably(FollowAgents())

    def _jobs_of(self, runtime: str) -> tuple[JobId, ...]:
        state = self._ledger.state
        return tuple(job_id for job_id in (*state.running, *state.waiting) if state.jobs[job_id].runtime == runtime)

    async def run(self, listen: Listen) -> None:
        """For ever: listen to every runtime whose agents begin turns by themselves, and close those that were replaced
        when their last turn has ended."""
        async with TaskOwner("agents") as owner:
            listeners: dict[Runtime, asyncio.Task[None]] = {}
            while True:
                self._has_changed.clear()
                for runtime in [r for r in listeners if r not in self._runtimes.values()]:
                    listeners.pop(runtime).cancel()
                for runtime in self._runtimes.values():
                    if runtime.capabilities.agent_turns and runtime not in listeners:
                        listeners[runtime] = owner.start(listen(runtime), name=f"turns of {runtime.name}")
                while self._replaced:
                    replaced = self._replaced.pop()
                    owner.start(self._close_after_jobs(replaced), name=f"replaced {replaced.runtime.name}")
                await self._has_changed.wait()

    async def _close_after_jobs(self, replaced: _Replaced) -> None:
        """Also closes when the daemon stops earlier: nothing of the runtime may be left."""
        try:
            while any(self._is_live(job_id) for job_id in replaced.jobs):
                await self._ledger.until_changed(self._ledger.state.seq)
        finally:
            await run_to_end(_close(replaced.runtime))

    def _is_live(self, job_id: JobId) -> bool:
        job = self._ledger.state.jobs.get(job_id)
        return job is not None and job.is_live


async def _close(runtime: Runtime) -> None:
    try:
        await runtime.aclose()
    except Exception as fault:  # a runtime that cannot be closed must not keep another from being used
        log_failure("a runtime could not be closed", fault, runtime=runtime.name)
