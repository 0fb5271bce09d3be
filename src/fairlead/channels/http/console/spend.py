"""The page *Spend*, and the budgets that the owner sets there."""

from typing import cast

from fairlead.channels.http.console.visit import PageContent, Visit, is_about
from fairlead.core import requests
from fairlead.core.job_states import LIVE
from fairlead.core.live import JobMoved, LiveEvent
from fairlead.core.replies import BudgetReport
from fairlead.errors import Code, error
from fairlead.render.console.charts import pick
from fairlead.render.console.spend import GROUPINGS, PATH, Grouping, SpendModel, spend_page
from fairlead.render.words import say


async def build_spend(visit: Visit) -> PageContent:
    model = SpendModel(
        budgets=await visit.command(requests.BudgetShow(), BudgetReport),
        windows=visit.view.limit_windows(),
        projects=tuple(project.name for project in visit.view.projects()),
        spending=visit.view.spending() if visit.is_owner else None,
        measure=visit.query.get("what", ""),
        grouping=cast("Grouping", pick(GROUPINGS, visit.query.get("by", ""))),
        can_change=visit.is_owner,
    )
    return PageContent(say(visit.lang, "pages.nav.spend"), spend_page(model, visit.lang, visit.now))


def is_spending_touched(event: LiveEvent) -> bool:
    """A job spends when it ends."""
    return (isinstance(event, JobMoved) and event.state not in LIVE) or is_about(event, "budget")


async def set_budget(visit: Visit) -> str:
    tokens = visit.text("tokens").strip().replace(",", "") or "0"
    if not (tokens.isascii() and tokens.isdecimal() and len(tokens) < 16):
        raise error(Code.E_INVALID_ARGS, f"{tokens[:40]!r} is no number of tokens.")
    wanted = requests.BudgetChange(project=visit.text("project"), usd=visit.text("usd"), tokens=int(tokens))
    await visit.command(wanted, BudgetReport)
    return PATH


async def clear_budget(visit: Visit) -> str:
    await visit.command(requests.BudgetClear(visit.text("project")), BudgetReport)
    return PATH
