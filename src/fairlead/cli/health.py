"""The self-checks of all agents at once, each reported when it is known. Sends no request to a model."""

import asyncio
from collections.abc import AsyncIterator, Iterable

from fairlead.flow.queries.agent_checks import check_runtime
from fairlead.kit.tasks import OwnedTasks
from fairlead.observe import log
from fairlead.ports import Runtime, RuntimeHealth


async def check_all(runtimes: Iterable[Runtime]) -> AsyncIterator[tuple[str, RuntimeHealth]]:
    """Name and health of each, the quickest first; leaving the iteration early ends what still runs."""
    async with OwnedTasks("checks") as tasks:
        checks = [tasks.start(_check(runtime), name=runtime.name) for runtime in runtimes]
        for check in asyncio.as_completed(checks):
            yield await check


async def _check(runtime: Runtime) -> tuple[str, RuntimeHealth]:
    health = await check_runtime(runtime)
    log.info(
        "agent checked", runtime=runtime.name, ok=health.ok, version=health.version, message=describe_health(health)
    )
    return runtime.name, health


def describe_health(health: RuntimeHealth) -> str:
    program = " ".join(part for part in (health.program, health.version) if part)
    return "; ".join(part for part in (program, *health.notes) if part)
