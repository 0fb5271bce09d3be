"""The rules of the fold for budgets: set, spent from, decided about. The day of a fact stands in the fact."""

from typing import Final

from fairlead.core import events as e
from fairlead.core.budgets import AgentSpending, Budget, BudgetDay, DaySpending
from fairlead.core.state import Job, State

KEPT_DAYS: Final = 31
"""A month to look back on. Budgets need more than one day, so that a clock that jumps to another day and back finds
what was spent."""


def budget_set(state: State, _ts: str, event: e.BudgetSet) -> None:
    if event.usd is None and event.tokens is None:
        state.budgets.pop(event.project, None)
    else:
        state.budgets[event.project] = Budget(event.usd, event.tokens)
    state.budget_days.pop(event.project, None)


def budget_decided(state: State, _ts: str, event: e.BudgetDecided) -> None:
    """After a cancellation the next job asks again."""
    if event.choice == "cancel":
        state.budget_days.pop(event.project, None)
    else:
        state.budget_days[event.project] = BudgetDay(event.day, event.choice)


def count_spending(state: State, job: Job, day: str, spent: e.Spent) -> None:
    projects = state.spending.get(day)
    if projects is None:
        projects = state.spending[day] = {}
        while len(state.spending) > KEPT_DAYS:
            del state.spending[next(iter(state.spending))]
    before = projects.get(job.project, DaySpending())
    tokens = spent.input_tokens + spent.output_tokens
    projects[job.project] = DaySpending(
        before.usd + spent.cost_usd,
        before.tokens + tokens,
        _add_to_agent(before.by_agent, job.runtime or "", spent.cost_usd, tokens),
    )


def _add_to_agent(parts: tuple[AgentSpending, ...], agent: str, usd: float, tokens: int) -> tuple[AgentSpending, ...]:
    known = next((part for part in parts if part.agent == agent), AgentSpending(agent))
    others = (part for part in parts if part.agent != agent)
    return (*others, AgentSpending(agent, known.usd + usd, known.tokens + tokens))


def rename_project(state: State, name: str, new_name: str) -> None:
    for named in (state.budgets, state.budget_days, *state.spending.values()):
        if name in named:
            named[new_name] = named.pop(name)  # pyright: ignore[reportArgumentType] - each holds its own kind
