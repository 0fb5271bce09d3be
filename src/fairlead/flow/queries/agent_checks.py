"""The self-checks of all agents, made when somebody asks for them, and remembered. No request is sent to a model."""

import asyncio
from collections.abc import Callable, Mapping

from fairlead.core.replies import AgentCheckRow, AgentsChecked
from fairlead.observe import log_failure
from fairlead.ports import Runtime, RuntimeHealth


async def check_runtime(runtime: Runtime) -> RuntimeHealth:
    """A check that raises is itself a finding, and the other checks go on."""
    try:
        return await runtime.check()
    except Exception as fault:  # whatever an agent's program does
        log_failure("agent check failed", fault, runtime=runtime.name)
        return RuntimeHealth(ok=False, notes=(f"The check itself failed: {type(fault).__name__}: {fault}.",))


class AgentChecks:
    def __init__(self, runtimes: Mapping[str, Runtime], now: Callable[[], str]) -> None:
        self._runtimes = runtimes
        self._now = now
        self._at_work = asyncio.Lock()
        self.last = AgentsChecked("", ())

    async def check_all(self) -> AgentsChecked:
        """Two people who ask at once get the results of one round after the other, and never half of one."""
        async with self._at_work:
            runtimes = list(self._runtimes.values())
            checks = await asyncio.gather(*map(check_runtime, runtimes))
            rows = [_row_of(runtime, health) for runtime, health in zip(runtimes, checks, strict=True)]
            self.last = AgentsChecked(self._now(), tuple(rows))
            return self.last


def _row_of(runtime: Runtime, health: RuntimeHealth) -> AgentCheckRow:
    return AgentCheckRow(
        name=runtime.name,
        ok=health.ok,
        program=health.program,
        version=health.version,
        notes=health.notes,
        needs_login=health.needs_login,
    )
