"""The page *Spend*: money and tokens by day, project and agent; what may be spent today; the limits of accounts."""

from collections.abc import Callable, Sequence
from typing import Final, Literal
from urllib.parse import urlencode

import msgspec

from fairlead.core.budgets import Budget, DaySpending
from fairlead.core.engine import LimitWindow
from fairlead.core.replies import BudgetReport, BudgetRow
from fairlead.core.spending import Spending, SpentPart
from fairlead.render.budgets import budget_words
from fairlead.render.console.charts import Chart, Series, bar_chart, meter
from fairlead.render.console.markup import Content, Html, el
from fairlead.render.console.parts import button, clock_time, go_form, hidden_field, isolate, nothing, section
from fairlead.render.words import say

PATH: Final = "/console/spend"
Measure = Literal["usd", "tokens"]
Grouping = Literal["project", "agent"]
GROUPINGS: Final = ("project", "agent")
_SPANS: Final = {1: "pages.spend.span.1", 7: "pages.spend.span.7", 30: "pages.spend.span.30"}
_CHART_TITLES: Final[dict[Measure, str]] = {"usd": "pages.spend.chart.usd", "tokens": "pages.spend.chart.tokens"}
_MEASURE_WORDS: Final = {"usd": "pages.spend.what.usd", "tokens": "pages.spend.what.tokens"}
_GROUPING_WORDS: Final = {"project": "pages.spend.by.project", "agent": "pages.spend.by.agent"}


class SpendModel(msgspec.Struct, frozen=True, kw_only=True):
    """`spending` is the owner's alone: it tells of everybody. `budgets` and `windows` are told to all by commands."""

    budgets: BudgetReport
    windows: dict[str, tuple[LimitWindow, ...]]
    projects: tuple[str, ...] = ()
    spending: Spending | None = None
    measure: str = ""
    grouping: Grouping = "project"
    can_change: bool = False


def spend_page(model: SpendModel, lang: str, now: str) -> Html:
    return el(
        "div",
        el("h1", say(lang, "pages.nav.spend")),
        _history(model, model.spending, lang) if model.spending is not None else None,
        _budgets(model, lang),
        _windows(model.windows, lang, now),
        id="page",
    )


# --- the last days


def _history(model: SpendModel, spending: Spending, lang: str) -> Content:
    measure = pick_measure(spending, model.measure)
    value_of = _VALUES[measure]
    chart = Chart(
        id="spend-chart",
        title=say(lang, _CHART_TITLES[measure]),
        labels=spending.days,
        series=tuple(_series(spending, name, model.grouping, value_of) for name in _names(spending, model.grouping)),
        spell=_SPELLINGS[measure],
        label_head=say(lang, "pages.spend.day"),
    )
    return section(
        say(lang, "pages.spend.history"),
        _totals(spending, lang),
        _choices(measure, model.grouping, lang),
        bar_chart(chart, lang) if spending.parts else nothing(say(lang, "pages.spend.none")),
        _sums(spending, "project", lang) if spending.parts else None,
        _sums(spending, "agent", lang) if spending.parts else None,
        id_="history",
    )


def pick_measure(spending: Spending, wanted: str) -> Measure:
    """Money, unless it is tokens that are asked for, or only tokens that agents told of."""
    if wanted in {"tokens", "usd"}:
        return "tokens" if wanted == "tokens" else "usd"
    has_money = any(part.usd for part in spending.parts)
    return "usd" if has_money or not spending.parts else "tokens"


def _names(spending: Spending, grouping: Grouping) -> list[str]:
    return list(dict.fromkeys(_name_of(part, grouping) for part in spending.parts))


def _name_of(part: SpentPart, grouping: Grouping) -> str:
    return (part.project if grouping == "project" else part.agent) or "-"


def _series(spending: Spending, name: str, grouping: Grouping, value_of: Callable[[SpentPart], float]) -> Series:
    sums = dict.fromkeys(spending.days, 0.0)
    for part in spending.parts:
        if _name_of(part, grouping) == name:
            sums[part.day] += value_of(part)
    return Series(name, tuple(sums.values()))


def _totals(spending: Spending, lang: str) -> Html:
    """Today, the last seven days, the last thirty."""
    cards = [
        el(
            "li",
            el("span", say(lang, key), class_="label"),
            el("strong", spell_usd(sum(p.usd for p in _within(spending, span)))),
            el("span", _count_tokens(_within(spending, span), lang), class_="label"),
        )
        for span, key in _SPANS.items()
    ]
    return el("ul", cards, class_="tiles")


def _count_tokens(parts: Sequence[SpentPart], lang: str) -> str:
    return say(lang, "pages.spend.token_count", count=spell_tokens(sum(part.tokens for part in parts)))


def _within(spending: Spending, span: int) -> list[SpentPart]:
    days = set(spending.days[-span:])
    return [part for part in spending.parts if part.day in days]


def _choices(measure: str, grouping: str, lang: str) -> Html:
    def link(key: str, *, what: str, by: str) -> Html:
        is_current = (what, by) == (measure, grouping)
        path = f"{PATH}?{urlencode({'what': what, 'by': by})}"
        return el("a", say(lang, key), href=path, class_="button small", aria_current="true" if is_current else None)

    return el(
        "div",
        [link(key, what=what, by=grouping) for what, key in _MEASURE_WORDS.items()],
        [link(key, what=measure, by=by) for by, key in _GROUPING_WORDS.items()],
        class_="row choices",
        role="group",
        aria_label=say(lang, "pages.spend.choose"),
    )


def _sums(spending: Spending, grouping: Grouping, lang: str) -> Html:
    """Who spent what: the dearest first."""
    names = sorted(_names(spending, grouping), key=lambda name: _sum_of(spending, name, grouping), reverse=True)
    head = [say(lang, _GROUPING_WORDS[grouping]), *(say(lang, key) for key in _SPANS.values())]
    rows = [
        el(
            "tr",
            el("th", isolate(name, 60), scope="row"),
            [_sum_cell([p for p in _within(spending, n) if _name_of(p, grouping) == name]) for n in _SPANS],
        )
        for name in names
    ]
    heads = [el("th", words, scope="col", class_="number" if number else None) for number, words in enumerate(head)]
    table = el("table", el("thead", el("tr", heads)), el("tbody", rows), class_="figures")
    return el("div", table, class_="wide", tabindex="0", role="region", aria_label=head[0])


def _sum_of(spending: Spending, name: str, grouping: Grouping) -> tuple[float, int]:
    parts = [part for part in spending.parts if _name_of(part, grouping) == name]
    return sum(p.usd for p in parts), sum(p.tokens for p in parts)


def _sum_cell(parts: Sequence[SpentPart]) -> Html:
    usd, tokens = sum(p.usd for p in parts), sum(p.tokens for p in parts)
    return el("td", spell_usd(usd), el("small", spell_tokens(tokens)), class_="number")


def spell_usd(amount: float) -> str:
    return f"${amount:,.2f}" if amount >= 0.01 or amount == 0 else f"${amount:.4f}"


def spell_tokens(count: float) -> str:
    """`1.2M`: a chart has no room for more."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if count >= size:
            return f"{count / size:.3g}{letter}" if count / size < 1000 else f"{count / size:.0f}{letter}"
    return f"{count:.0f}"


_VALUES: Final[dict[Measure, Callable[[SpentPart], float]]] = {
    "usd": lambda part: part.usd,
    "tokens": lambda part: float(part.tokens),
}
_SPELLINGS: Final[dict[Measure, Callable[[float], str]]] = {"usd": spell_usd, "tokens": spell_tokens}


# --- what may be spent


def _budgets(model: SpendModel, lang: str) -> Html:
    rows = [_budget_row(row, lang, can_change=model.can_change) for row in model.budgets.rows]
    return section(
        say(lang, "pages.spend.budgets"),
        el("p", say(lang, "pages.spend.budgets.what"), class_="lead"),
        el("ul", rows, class_="rows") if rows else nothing(say(lang, "pages.spend.budgets.none")),
        _budget_form(model.projects, lang) if model.can_change and model.projects else None,
        id_="budgets",
    )


def _budget_row(row: BudgetRow, lang: str, *, can_change: bool) -> Html:
    has_budget = row.usd is not None or row.tokens is not None
    held = el("p", say(lang, "pages.spend.held"), class_="warning") if row.held else None
    clear = go_form(
        f"{PATH}/budget/clear",
        hidden_field("project", row.project),
        button(say(lang, "pages.spend.clear"), kind="small", label=say(lang, "pages.spend.clear.of", name=row.project)),
    )
    return el(
        "li",
        el(
            "div",
            el("strong", isolate(row.project, 60)),
            el("p", budget_words(Budget(row.usd, row.tokens), DaySpending(row.spent_usd, row.spent_tokens))),
            meter(share_of(row), say(lang, "pages.spend.share", name=row.project)) if has_budget else None,
            held,
            class_="text",
        ),
        clear if can_change and has_budget else None,
        class_="row-item",
        id=f"budget-{row.project}",
    )


def share_of(row: BudgetRow) -> float:
    """How much of the budget is spent, by the limit that is reached first."""
    shares = [
        spent / limit if limit else 1.0
        for spent, limit in ((row.spent_usd, row.usd), (float(row.spent_tokens), row.tokens))
        if limit is not None
    ]
    return max(shares, default=0.0)


def _budget_form(projects: tuple[str, ...], lang: str) -> Html:
    options = [el("option", name, value=name) for name in projects]
    return go_form(
        f"{PATH}/budget",
        el("h3", say(lang, "pages.spend.set")),
        el(
            "div",
            _field(say(lang, "pages.spend.by.project"), el("select", options, name="project", id="budget-project")),
            _field(say(lang, "pages.spend.usd"), _input("usd", "decimal")),
            _field(say(lang, "pages.spend.tokens"), _input("tokens", "numeric")),
            button(say(lang, "pages.spend.set.do")),
            class_="row fields",
        ),
        label=say(lang, "pages.spend.set"),
    )


def _field(label: str, field: Html) -> Html:
    return el("label", el("span", label), field, class_="field")


def _input(name: str, mode: str) -> Html:
    return el("input", type="text", name=name, inputmode=mode, autocomplete="off", maxlength=20)


# --- the limits of accounts


def _windows(windows: dict[str, tuple[LimitWindow, ...]], lang: str, now: str) -> Html:
    rows = [_window_row(agent, window, lang, now) for agent, known in windows.items() for window in known]
    return section(
        say(lang, "pages.spend.windows"),
        el("ul", rows, class_="rows") if rows else nothing(say(lang, "pages.spend.windows.none")),
        id_="windows",
    )


def _window_row(agent: str, window: LimitWindow, lang: str, now: str) -> Html:
    label = f"{agent} · {window.name}"
    used = "" if window.used is None else f"{100 * window.used:.0f} %"
    words = say(lang, "pages.spend.window.spent") if window.is_spent else used
    is_ahead = window.resets_at > now
    resets = (say(lang, "pages.spend.window.resets"), " ", clock_time(window.resets_at)) if is_ahead else None
    has_share = window.used is not None or window.is_spent
    return el(
        "li",
        el(
            "div",
            el("strong", isolate(label, 80)),
            el("p", words, " · " if words and resets else None, resets),
            meter(window.used or 0.0, label, is_full=window.is_spent) if has_share else None,
            class_="text",
        ),
        class_="row-item",
    )
