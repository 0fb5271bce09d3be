"""Asks a person once when a budget is spent, and lets the jobs go on when the owner's next day begins.

The scheduler holds the jobs back by itself, because `decide` starts none of a spent project: this part only asks, and
wakes the scheduler when the day is over.
"""

import asyncio
from collections.abc import Callable
from typing import Final

from fairlead.core import timestamps
from fairlead.core.budgets import BudgetChoice
from fairlead.core.decide.budget_state import find_held_jobs, spending_on
from fairlead.core.decide.budgets import CHOICES, AskAboutBudget, CloseBudgetQuestion
from fairlead.core.ids import JobId
from fairlead.core.job_names import short_name
from fairlead.flow.ledger import Ledger
from fairlead.render.budgets import budget_words
from fairlead.render.words import say

LONGEST_NAP_SEC: Final = 300.0
"""The wall clock may be set while jobs wait for midnight: it is looked at this often."""
_LABELS: Final[dict[BudgetChoice, str]] = {
    "go_on": "question.budget.go_on",
    "wait": "question.budget.wait",
    "cancel": "question.budget.cancel",
}


class BudgetKeeper:
    def __init__(self, ledger: Ledger, language_of: Callable[[str], str]) -> None:
        self._ledger = ledger
        self._language_of = language_of

    async def run(self) -> None:
        """For ever. Without a budget it does nothing."""
        state = self._ledger.state
        day = ""
        while True:
            seen = state.seq
            if not state.budgets:
                await self._ledger.until_changed(seen, concerns=lambda: bool(state.budgets))
                continue
            today = self._ledger.limits.days.day_of(self._ledger.now())
            if today != day:
                day = today
                self._begin_day(today)
            waits = self._ask_where_needed(today)
            await self._until_news(state.seq, nap=waits)

    def _begin_day(self, today: str) -> None:
        for question in list(self._ledger.state.questions.values()):
            if question.budget_day and question.status == "open" and question.budget_day != today:
                self._ledger.apply_now(CloseBudgetQuestion(question.question_id))
        self._ledger.wake()

    def _ask_where_needed(self, today: str) -> bool:
        """Whether a job waits for a budget. Asked is on behalf of the first job that waits."""
        state = self._ledger.state
        held = list(find_held_jobs(state, today))
        for project, job_id in held:
            asked = state.budget_days.get(project)
            if asked is None or asked.day != today:
                self._ledger.apply_now(self._question(project, job_id, today))
        return bool(held)

    def _question(self, project: str, job_id: JobId, today: str) -> AskAboutBudget:
        state = self._ledger.state
        lang = self._language_of(state.jobs[job_id].person)
        spent = budget_words(state.budgets[project], spending_on(state, project, today))
        text = say(lang, "question.budget", project=project, spent=spent, job=short_name(job_id))
        labels = tuple(say(lang, _LABELS[choice]) for choice in CHOICES)
        return AskAboutBudget(job_id=job_id, text=text, labels=labels)

    async def _until_news(self, seen: int, *, nap: bool) -> None:
        if not nap:
            await self._ledger.until_changed(seen)
            return
        now = self._ledger.now()
        left = timestamps.seconds_between(now, self._ledger.limits.days.end_of_day(now))
        try:
            async with asyncio.timeout(min(max(left, 0.001), LONGEST_NAP_SEC)):
                await self._ledger.until_changed(seen)
        except TimeoutError:
            pass
