"""What the tests of turns share."""

import asyncio
from collections.abc import Awaitable, Callable

from fairlead.core.views import JobView
from fairlead.flow.turns.turn import TurnSettings
from tests.flow.harness import Agent

SHORT = TurnSettings(time_limit_sec=900, interrupt_grace_sec=5)


def playing(*events, can=None) -> Agent:
    """An agent that does the same in every turn: exceptions are raised, numbers slept, callables called."""

    async def play(_invocation):
        for event in events:
            if isinstance(event, Exception):
                raise event
            if isinstance(event, int | float):
                await asyncio.sleep(event)
            else:
                yield event

    return Agent(play, **(can or {}))


class Rechecker:
    """A channel that does, for each job, what the test says."""

    def __init__(self, act: Callable[[JobView], Awaitable[object]]) -> None:
        self._act = act
        self.asked: list[str] = []

    async def recheck(self, job: JobView) -> None:
        self.asked.append(job.job_id)
        await self._act(job)
