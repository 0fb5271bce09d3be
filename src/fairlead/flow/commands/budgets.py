"""Commands about budgets: what was spent today, and what may be."""

import math

from fairlead.core import requests as ask
from fairlead.core.decide.budget_state import is_spent, spending_on
from fairlead.core.decide.budgets import SetBudget
from fairlead.core.replies import BudgetReport, BudgetRow
from fairlead.core.requests import Caller
from fairlead.errors import Code, error
from fairlead.flow.commands.parts import CommandParts, HandlerTable


def budget_handlers(parts: CommandParts) -> HandlerTable:
    commands = BudgetCommands(parts)
    return {
        ask.BudgetShow: commands.show,
        ask.BudgetChange: commands.set,
        ask.BudgetClear: commands.clear,
    }


class BudgetCommands:
    def __init__(self, parts: CommandParts) -> None:
        self._parts = parts

    async def show(self, request: ask.BudgetShow, _caller: Caller) -> BudgetReport:
        state = self._parts.state
        if request.project:
            return self._report([self._parts.project(request.project).name])
        spent = state.spending.get(self._today(), {})
        return self._report([p.name for p in state.listed_projects() if p.name in state.budgets or p.name in spent])

    async def set(self, request: ask.BudgetChange, caller: Caller) -> BudgetReport:
        project = self._parts.project(request.project).name
        usd = _parse_amount(request.usd)
        tokens = request.tokens or None
        if usd is None and tokens is None:
            raise error(Code.E_INVALID_ARGS, "A budget needs an amount in dollars, in tokens, or both.")
        await self._parts.ledger.record_durably(
            SetBudget(project=project, person=caller.person, usd=usd, tokens=tokens)
        )
        return self._report([project])

    async def clear(self, request: ask.BudgetClear, caller: Caller) -> BudgetReport:
        project = self._parts.project(request.project).name
        await self._parts.ledger.record_durably(SetBudget(project=project, person=caller.person))
        return self._report([project])

    def _today(self) -> str:
        return self._parts.ledger.limits.days.day_of(self._parts.ledger.now())

    def _report(self, projects: list[str]) -> BudgetReport:
        state, today = self._parts.state, self._today()
        rows: list[BudgetRow] = []
        for name in projects:
            spent, budget = spending_on(state, name, today), state.budgets.get(name)
            rows.append(
                BudgetRow(
                    project=name,
                    spent_usd=round(spent.usd, 6),
                    spent_tokens=spent.tokens,
                    usd=None if budget is None else budget.usd,
                    tokens=None if budget is None else budget.tokens,
                    held=is_spent(state, name, today),
                )
            )
        ends_at = self._parts.ledger.limits.days.end_of_day(self._parts.ledger.now())
        return BudgetReport(today, ends_at, tuple(rows))


def _parse_amount(text: str) -> float | None:
    """None where nothing was said."""
    bare = text.strip().removeprefix("$")
    if not bare:
        return None
    try:
        amount = float(bare)
    except ValueError:
        amount = math.nan
    if not math.isfinite(amount) or amount < 0:
        raise error(Code.E_INVALID_ARGS, f"{text[:40]!r} is no amount in US dollars.", next_step="Write it as 2.50.")
    return amount
