"""/budget: set, shown, cleared."""

import pytest

from fairlead.core import requests as ask
from fairlead.core.budgets import Budget
from fairlead.core.limits import Limits
from fairlead.errors import Code, FairleadError
from fairlead.flow.commands.budgets import budget_handlers
from fairlead.render.replies import reply_text
from tests.flow.harness import run_flow, virtually

pytestmark = pytest.mark.req("E6")


@virtually
async def test_a_budget_is_set_shown_and_cleared():
    async with run_flow() as flow:
        assert "no project has a budget" in reply_text(await flow.command(ask.BudgetShow()), "en")
        await flow.command(ask.BudgetChange(project="1", usd="$2.50", tokens=1000))
        assert flow.state.budgets == {"api": Budget(2.5, 1000)}
        await flow.answered("/usage 100 20 0.5")
        shown = reply_text(await flow.command(ask.BudgetShow()), "en")
        assert shown.endswith("api: $0.50 of $2.50, 120 of 1,000 tokens")
        await flow.command(ask.BudgetClear("api"))
        assert flow.state.budgets == {}
        assert reply_text(await flow.command(ask.BudgetShow()), "en").endswith("api: $0.50, 120 tokens")
        assert budget_handlers is not None


@pytest.mark.parametrize("usd", ["", "much", "-1", "nan", "inf", "1,5"])
def test_what_is_no_amount_is_refused(usd: str):
    @virtually
    async def story() -> None:
        async with run_flow() as flow:
            with pytest.raises(FairleadError) as refused:
                await flow.command(ask.BudgetChange(project="api", usd=usd))
            assert (refused.value.code, flow.state.budgets) == (Code.E_INVALID_ARGS, {})

    story()


@virtually
async def test_everybody_who_is_allowed_sees_the_budgets_and_only_the_owner_sets_them():
    async with run_flow(limits=Limits(allowed_people=("ben",))) as flow:
        ben = flow.caller("ben", pre_authorised=False)
        await flow.gate.command(ask.BudgetShow(), ben)
        for request in (ask.BudgetChange(project="api", usd="1"), ask.BudgetClear("api")):
            with pytest.raises(FairleadError) as refused:
                await flow.gate.command(request, ben)
            assert refused.value.code == Code.E_OWNER_ONLY
