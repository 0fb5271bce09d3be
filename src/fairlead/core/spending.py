"""What was spent on each of the last days, by project and agent: a read model, and how it is made from the state. Costs
as much as there are days, projects and agents, and not as much as there were jobs."""

from datetime import date, timedelta
from typing import Final

import msgspec

from fairlead.core.state import State

SHOWN_DAYS: Final = 30


class SpentPart(msgspec.Struct, frozen=True, gc=False):
    """What one agent spent in one project on one of the owner's days."""

    day: str
    project: str
    agent: str
    usd: float
    tokens: int


class Spending(msgspec.Struct, frozen=True):
    """`days` are the latest ones, oldest first and without gaps; the last one is today."""

    days: tuple[str, ...] = ()
    parts: tuple[SpentPart, ...] = ()


def list_spending(state: State, today: str) -> Spending:
    last = date.fromisoformat(today)
    days = tuple((last - timedelta(days=back)).isoformat() for back in reversed(range(SHOWN_DAYS)))
    parts = [
        SpentPart(day=day, project=project, agent=part.agent, usd=part.usd, tokens=part.tokens)
        for day in days
        for project, spent in state.spending.get(day, {}).items()
        for part in spent.by_agent
    ]
    return Spending(days, tuple(parts))
