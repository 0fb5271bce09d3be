"""What a project may spend in a day, and what it has spent. Plain data: `decide` and `fold` have the rules."""

from typing import Literal

import msgspec

BudgetChoice = Literal["go_on", "wait", "cancel"]
"""What a person may say when a budget is spent: go on today, wait until tomorrow, cancel what waits."""


class Budget(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """Money, tokens or both; the first that is reached counts."""

    usd: float | None = None
    tokens: int | None = None


class AgentSpending(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """One agent's part of what a project has spent in a day."""

    agent: str
    usd: float = 0.0
    tokens: int = 0


class DaySpending(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """What one project has spent in one day. Tokens are those that went in and those that came out. `by_agent` are its
    parts: together they are the whole."""

    usd: float = 0.0
    tokens: int = 0
    by_agent: tuple[AgentSpending, ...] = ()


class BudgetDay(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """On which day somebody was last asked about a project, and what they said; no choice while they said nothing."""

    day: str
    choice: Literal["", "go_on", "wait"] = ""
