"""Charts: what is drawn is what is in their tables, for any numbers whatever."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fairlead.render.console.charts import MOST_SERIES, Chart, Series, bar_chart, line_chart

pytestmark = pytest.mark.req("G9")


def chart(*series: Series, labels: tuple[str, ...] = ("Mon", "Tue", "Wed")) -> Chart:
    return Chart(id="c", title="Cost", labels=labels, series=series, spell=lambda value: f"{value:g} USD")


def test_bars_stand_on_each_other_and_say_what_they_are():
    html = bar_chart(chart(Series("shop", (1.0, 0.0, 4.0)), Series("web", (1.0, 0.0, 0.0))), "en")
    titles = re.findall(r"<title>([^<]+)</title>", html)
    assert titles == ["Mon · shop · 1 USD", "Mon · web · 1 USD", "Wed · shop · 4 USD"]
    assert 'y="128.00" width="160.00" height="32.00" class="series-0"' in html
    assert 'y="96.00" width="160.00" height="32.00" class="series-1"' in html
    assert 'aria-label="Cost: a chart. The axis ends at 5 USD."' in html


def test_what_has_no_colour_of_its_own_is_added_up_and_nothing_is_lost():
    many = [Series(f"p{number}", (float(number), 0.0, 0.0)) for number in range(10)]
    html = bar_chart(chart(*many), "en")
    assert html.count("<li>") == MOST_SERIES
    assert "Mon · 5 others · 10 USD" in html
    assert "series-6" not in html


def test_a_line_breaks_where_nothing_was_measured():
    html = line_chart(chart(Series("wait", (1.0, None, 3.0))), "en")
    assert re.findall(r'points="([^"]+)"', html) == ["0.0,128.0 200.0,128.0", "400.0,64.0 600.0,64.0"]


def test_names_of_others_are_text_in_drawing_legend_and_table():
    html = bar_chart(chart(Series("<script>", (1.0, 1.0, 1.0)), Series('"><b>', (1.0, 1.0, 1.0))), "en")
    assert "<script" not in html
    assert "<b>" not in html


@example([[5e-324, 0.0, 0.0]])  # too small for any round number
@given(
    st.lists(
        st.lists(st.floats(0, 1e12, allow_nan=False, allow_infinity=False), min_size=3, max_size=3),
        min_size=0,
        max_size=9,
    )
)
def test_no_bar_leaves_the_drawing(rows: list[list[float]]):
    html = bar_chart(chart(*(Series(f"s{n}", tuple(row)) for n, row in enumerate(rows))), "en")
    tops = [float(y) for y in re.findall(r' y="(-?[0-9.]+)"', html)]
    assert all(-0.01 <= y <= 160 for y in tops)


def test_an_empty_chart_says_so_in_its_table():
    assert "Nothing to show." in bar_chart(chart(labels=()), "en")
