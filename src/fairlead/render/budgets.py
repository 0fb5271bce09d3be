"""What was spent and what may be, in figures that need no language."""

from fairlead.core.budgets import Budget, DaySpending


def budget_words(budget: Budget | None, spent: DaySpending) -> str:
    """`$4.10 of $5.00, 12,000 of 100,000 tokens`; without a limit, what was spent alone."""
    usd = None if budget is None else budget.usd
    tokens = None if budget is None else budget.tokens
    parts = [
        f"${spent.usd:.2f}" + (f" of ${usd:.2f}" if usd is not None else ""),
        f"{spent.tokens:,}" + (f" of {tokens:,}" if tokens is not None else "") + " tokens",
    ]
    return ", ".join(parts)
