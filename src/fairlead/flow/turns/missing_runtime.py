"""A runtime that is not there: its jobs fail at once, and say what to do, instead of waiting for ever."""

from collections.abc import AsyncIterator
from typing import Literal

from fairlead.core.engine import (
    AgentInitiated,
    AgentInstruction,
    EngineEvent,
    Invocation,
    Steer,
    SteerResult,
    TurnFailed,
)
from fairlead.errors import Code
from fairlead.ports import NO_RECORDS, AgentInfo, AgentPreparation, RuntimeCapabilities, RuntimeHealth


class MissingRuntime:
    capabilities = RuntimeCapabilities()
    records = NO_RECORDS

    def __init__(self, name: str, available: tuple[str, ...]) -> None:
        self.name = name
        self._available = available

    async def invoke(self, invocation: Invocation) -> AsyncIterator[EngineEvent]:
        available = ", ".join(self._available)
        yield TurnFailed(
            Code.E_CLI_NOT_FOUND,
            f"The agent {self.name!r} of {invocation.job_id} is not available here; available: {available}. "
            "Install it, or choose another agent with /tool.",
        )

    async def prepare(self, preparation: AgentPreparation) -> None:
        """Nothing: no agent can be started."""

    def adopt(self, ticket: str, session_key: str, generation: int) -> None:
        """Nothing was prepared."""

    async def instruct(self, session_key: str, instruction: AgentInstruction) -> None:
        """There is no agent to be told."""

    async def steer(self, session_key: str, steer: Steer) -> SteerResult:  # noqa: ARG002 - the port's shape
        return SteerResult("too_late")

    async def watch_agent_turns(self) -> AsyncIterator[AgentInitiated]:
        return
        yield

    def describe(self, session_key: str) -> AgentInfo:  # noqa: ARG002 - the port's shape
        return AgentInfo()

    async def end_session(self, session_key: str, how: Literal["stop", "kill"]) -> None:
        """Nothing runs."""

    async def check(self) -> RuntimeHealth:
        return RuntimeHealth(ok=False, notes=(f"{self.name} was not found on PATH",))

    async def aclose(self) -> None:
        """Nothing to end."""
