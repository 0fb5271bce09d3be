"""The page *Spend*: what the owner sees, what a guest sees, and that names of others are text."""

import pytest

from fairlead.core.engine import LimitWindow
from fairlead.core.replies import BudgetReport, BudgetRow
from fairlead.core.spending import Spending, SpentPart
from fairlead.render.console.spend import SpendModel, pick_measure, share_of, spell_tokens, spell_usd, spend_page

pytestmark = pytest.mark.req("G9")

NOW = "2026-11-18T07:00:00.000Z"
DAYS = ("2026-11-17", "2026-11-18")
PARTS = (SpentPart("2026-11-17", "shop", "claude", 1.5, 1000), SpentPart("2026-11-18", "shop", "codex", 0.0, 2_500_000))
NO_BUDGETS = BudgetReport("2026-11-18", "2026-11-19T00:00:00.000Z", ())


def test_the_owner_sees_sums_chart_and_tables():
    model = SpendModel(budgets=NO_BUDGETS, windows={}, spending=Spending(DAYS, PARTS))
    page = spend_page(model, "en", NOW)
    assert "<title>2026-11-17 · shop · $1.50</title>" in page
    assert "2.5M tokens" in page
    assert page.index("claude") < page.index("codex"), "the dearest first"


def test_a_guest_sees_budgets_and_limits_and_neither_history_nor_forms():
    rows = (BudgetRow(project="shop", spent_usd=3.0, usd=2.0, held=True),)
    window = LimitWindow(name="week", used=0.5, resets_at="2026-11-20T00:00:00.000Z")
    model = SpendModel(budgets=BudgetReport("d", "e", rows), windows={"claude": (window,)}, projects=("shop",))
    page = spend_page(model, "en", NOW)
    assert "$3.00 of $2.00" in page
    assert "the jobs of this project wait" in page
    assert "50 %" in page
    assert [part for part in ("<form", "spend-chart", "The last 30 days") if part in page] == []


def test_names_of_projects_and_agents_are_text():
    parts = (SpentPart("2026-11-18", "<img src=x>", "<script>", 1.0, 1),)
    rows = (BudgetRow(project='"><b>', spent_usd=1.0, usd=2.0),)
    model = SpendModel(
        budgets=BudgetReport("d", "e", rows), windows={}, spending=Spending(DAYS, parts), can_change=True
    )
    page = spend_page(model, "en", NOW)
    assert [tag for tag in ("<img", "<script", "<b>") if tag in page] == []


def test_tokens_are_shown_where_no_agent_told_of_money():
    assert pick_measure(Spending(DAYS, PARTS), "") == "usd"
    assert pick_measure(Spending(DAYS, PARTS[1:]), "") == "tokens"
    assert pick_measure(Spending(DAYS, PARTS[1:]), "usd") == "usd"
    assert pick_measure(Spending(DAYS, ()), "<b>") == "usd"


def test_the_limit_that_is_reached_first_is_shown():
    assert share_of(BudgetRow(project="p", spent_usd=1.0, usd=4.0, spent_tokens=90, tokens=100)) == 0.9
    assert share_of(BudgetRow(project="p", usd=0.0)) == 1.0


@pytest.mark.parametrize(("amount", "text"), [(0.0, "$0.00"), (0.004, "$0.0040"), (1234.5, "$1,234.50")])
def test_money_is_exact_enough_to_be_seen(amount: float, text: str):
    assert spell_usd(amount) == text


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0"), (999, "999"), (1000, "1k"), (12_345, "12.3k"), (2_500_000, "2.5M"), (3e12, "3000G")]
)
def test_tokens_are_short(count: float, text: str):
    assert spell_tokens(count) == text
