"""A runtime whose agents live for one turn says what its CLI can do, and no more."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from fairlead.core.engine import Invocation
from fairlead.ports import RuntimeCapabilities, RuntimeHealth
from fairlead.runtimes.per_turn import PerTurnRuntime, Prepared
from tests.support.runtime_contract import MemoryLogs


class PlainAdapter:
    name = "plain"
    capabilities = RuntimeCapabilities()

    @asynccontextmanager
    async def prepare(self, invocation: Invocation) -> AsyncGenerator[Prepared]:
        raise AssertionError("no turn is asked for")
        yield

    async def check(self) -> RuntimeHealth:
        return RuntimeHealth(ok=True)


class AdapterWithModels(PlainAdapter):
    capabilities = RuntimeCapabilities(models=True)


def test_a_cli_that_takes_no_model_and_no_picture_offers_none():
    runtime = PerTurnRuntime(PlainAdapter(), MemoryLogs())
    assert runtime.capabilities == RuntimeCapabilities(
        interrupt=True, second_attempt=True, gets_ready=True, hand_over="told"
    )


def test_what_a_cli_takes_is_offered_beside_what_every_turn_can_do():
    runtime = PerTurnRuntime(AdapterWithModels(), MemoryLogs())
    assert runtime.capabilities == RuntimeCapabilities(
        models=True, interrupt=True, second_attempt=True, gets_ready=True, hand_over="told"
    )
