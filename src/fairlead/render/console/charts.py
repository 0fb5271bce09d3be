"""Charts as SVG: bars that stand on each other, and lines over time, each with its numbers as a table. Knows no page.

The drawing has no text, so that it may be as wide as its page; what is read stands beside it as HTML."""

from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from fairlead.render.console.markup import Content, Html, el
from fairlead.render.console.parts import isolate
from fairlead.render.words import say

MOST_SERIES: Final = 6
"""As many colours as people tell apart; what is beyond them is drawn as one."""
_WIDTH: Final = 600.0
_HEIGHT: Final = 160.0
_GAP: Final = 0.2
_STEPS: Final = (1.0, 2.0, 2.5, 5.0, 10.0)


class Series(msgspec.Struct, frozen=True):
    """One colour of a chart. None in a line is a moment at which nothing was measured."""

    name: str
    values: tuple[float | None, ...]


class Chart(msgspec.Struct, frozen=True, kw_only=True):
    """`labels` name the places on the horizontal axis, one for each value; `spell` writes a value with its unit."""

    id: str
    title: str
    labels: tuple[str, ...]
    series: tuple[Series, ...]
    spell: Callable[[float], str]
    label_head: str = ""


def bar_chart(chart: Chart, lang: str) -> Html:
    chart = _join_small(chart, lang)
    totals = [sum(_at(series, place) for series in chart.series) for place in range(len(chart.labels))]
    top = _round_up(max(totals, default=0.0))
    return _figure(chart, _bars(chart, top), top, lang)


def line_chart(chart: Chart, lang: str) -> Html:
    top = _round_up(max((value or 0.0 for series in chart.series for value in series.values), default=0.0))
    lines = [_line(series, number, top) for number, series in enumerate(chart.series)]
    return _figure(chart, lines, top, lang)


def _figure(chart: Chart, drawing: Content, top: float, lang: str) -> Html:
    svg = el(
        "svg",
        _grid(),
        drawing,
        viewBox=f"0 0 {_WIDTH:g} {_HEIGHT:g}",
        preserveAspectRatio="none",
        role="img",
        aria_label=say(lang, "pages.chart.label", title=chart.title, most=chart.spell(top)),
        class_="chart",
    )
    ends = [el("span", label) for label in (chart.labels[:1] + chart.labels[-1:] if chart.labels else ())]
    return el(
        "figure",
        el("figcaption", chart.title),
        _legend(chart) if len(chart.series) > 1 else None,
        el("div", el("span", chart.spell(top)), aria_hidden="true", class_="chart-top"),
        svg,
        el("div", ends, aria_hidden="true", class_="chart-ends"),
        _table(chart, lang),
        id=chart.id,
        class_="figure",
    )


def _legend(chart: Chart) -> Html:
    items = [
        el("li", el("span", class_=f"swatch series-{number}", aria_hidden="true"), isolate(series.name, 40))
        for number, series in enumerate(chart.series)
    ]
    return el("ul", items, class_="legend")


def _table(chart: Chart, lang: str) -> Html:
    """The same numbers for those who cannot see the drawing, and for those who want them exactly."""
    head = [el("th", chart.label_head, scope="col"), *(el("th", isolate(s.name), scope="col") for s in chart.series)]
    rows = [
        el("tr", el("th", label, scope="row"), [_cell(chart, series, place) for series in chart.series])
        for place, label in enumerate(chart.labels)
        if any(series.values[place] for series in chart.series)
    ]
    empty = el("tr", el("td", say(lang, "pages.chart.empty"), colspan=len(head)))
    table = el("table", el("thead", el("tr", head)), el("tbody", rows or empty), class_="figures")
    return el(
        "details",
        el("summary", say(lang, "pages.chart.table"), el("span", f": {chart.title}", class_="spoken")),
        el("div", table, class_="wide", tabindex="0", role="region", aria_label=chart.title),
        id=f"{chart.id}-table",
    )


def _cell(chart: Chart, series: Series, place: int) -> Html:
    value = series.values[place]
    return el("td", "-" if value is None else chart.spell(value), class_="number")


# --- the drawing


def _grid() -> list[Html]:
    places = (0.0, _HEIGHT / 2, _HEIGHT)
    return [el("line", x1=0, x2=f"{_WIDTH:g}", y1=f"{y:g}", y2=f"{y:g}", class_="grid") for y in places]


def _bars(chart: Chart, top: float) -> list[Html]:
    slot = _WIDTH / max(1, len(chart.labels))
    bars: list[Html] = []
    for place, label in enumerate(chart.labels):
        base = _HEIGHT
        for number, series in enumerate(chart.series):
            value = _at(series, place)
            height = value / top * _HEIGHT
            if height <= 0:
                continue
            base -= height
            bars.append(
                el(
                    "rect",
                    el("title", f"{label} · {series.name} · {chart.spell(value)}"),
                    x=f"{(place + _GAP / 2) * slot:.2f}",
                    y=f"{base:.2f}",
                    width=f"{slot * (1 - _GAP):.2f}",
                    height=f"{height:.2f}",
                    class_=f"series-{number}",
                )
            )
    return bars


def _line(series: Series, number: int, top: float) -> list[Html]:
    """A line breaks where nothing was measured; a moment alone is as wide as its place."""
    step = _WIDTH / max(1, len(series.values))
    runs: list[list[tuple[float, float]]] = [[]]
    for place, value in enumerate(series.values):
        if value is None:
            runs.append([])
        else:
            runs[-1].append(((place + 0.5) * step, _HEIGHT - value / top * _HEIGHT))
    return [
        el(
            "polyline",
            points=" ".join(f"{x:.1f},{y:.1f}" for x, y in (_widen(run, step) if len(run) == 1 else run)),
            class_=f"curve series-{number}",
        )
        for run in runs
        if run
    ]


def _widen(run: list[tuple[float, float]], step: float) -> list[tuple[float, float]]:
    ((x, y),) = run
    return [(x - step / 2, y), (x + step / 2, y)]


def _at(series: Series, place: int) -> float:
    return series.values[place] or 0.0


def _round_up(most: float) -> float:
    """The end of the vertical axis: a round number that is not below what is shown."""
    if most <= 0:
        return 1.0
    scale = 1.0
    while scale * 10 <= most:
        scale *= 10
    while scale > most:
        scale /= 10
    return next((step * scale for step in _STEPS if step * scale >= most * (1 - 1e-9)), most)


def _join_small(chart: Chart, lang: str) -> Chart:
    """The largest series first; those for which there is no colour are added up."""
    ordered = sorted(chart.series, key=lambda series: (-_total(series), series.name))
    kept, small = ordered, list[Series]()
    if len(ordered) > MOST_SERIES:
        kept, small = ordered[: MOST_SERIES - 1], ordered[MOST_SERIES - 1 :]
    if small:
        values = tuple(sum(_at(series, place) for series in small) for place in range(len(chart.labels)))
        kept = [*kept, Series(say(lang, "pages.chart.others", count=len(small)), values)]
    return msgspec.structs.replace(chart, series=tuple(kept))


def _total(series: Series) -> float:
    return sum(value or 0.0 for value in series.values)


def meter(share: float, label: str, *, is_full: bool = False) -> Html:
    """How much of something is used, from 0 to 1; the words beside it say the same."""
    return el(
        "meter",
        min=0,
        max=1,
        low="0.75",
        high="0.95",
        optimum=0,
        value=f"{1.0 if is_full else min(1.0, max(0.0, share)):.3f}",
        aria_label=label,
    )


def pick(values: Sequence[str], wanted: str) -> str:
    """What an address asks for, if there is such a thing; else the first."""
    return wanted if wanted in values else values[0]
