"""Tables can be read on a phone, in a chat that does not draw them."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.render.fences import is_balanced
from fairlead.render.graphemes import display_width
from fairlead.render.tables import readable_tables


def draw_tables(*lines: str, width: int = 64) -> list[str]:
    return readable_tables("\n".join(lines), width).split("\n")


def test_a_narrow_table_becomes_an_aligned_code_block():
    assert draw_tables("| Name | Size |", "|:-----|-----:|", "| api | 12 |", "| **web** | 7 |") == [
        "```",
        "Name  Size",
        "----  ----",
        "api     12",
        "web      7",
        "```",
    ]


def test_wide_characters_take_two_columns():
    block = draw_tables("| 名前 | n |", "|---|---|", "| あ | 1 |", "| 👩‍👩‍👧‍👦 | 2 |", "| abcd | 3 |")
    assert block[1:-1] == ["名前  n", "----  -", "あ    1", "👩‍👩‍👧‍👦    2", "abcd  3"]


def test_a_wide_table_becomes_a_list_with_its_markup():
    assert draw_tables(
        "| Option | Meaning |", "| --- | --- |", "| `a` | " + "long " * 20 + "|", "| b | see [x](y) |"
    ) == [
        "- **Option**: `a`",
        "  **Meaning**: " + ("long " * 20).strip(),
        "- **Option**: b",
        "  **Meaning**: see [x](y)",
    ]


def test_centred_columns_and_tables_without_outer_pipes():
    assert draw_tables("abc | d", ":-:|---", "x | y")[1:-1] == ["abc  d", "---  -", " x   y"]


def test_escaped_pipes_and_pipes_in_code_are_text():
    assert draw_tables("| op | does |", "|---|---|", r"| a \| b | or |", "| `a | b` | pipe |")[3:-1] == [
        "a | b  or",
        "a | b  pipe",
    ]


def test_ragged_rows_are_filled_up_and_nothing_is_dropped():
    assert draw_tables("| a | b |", "|---|---|", "| 1 |", "| 1 | 2 | 3 |")[3:-1] == ["1", "1  2 | 3"]


def test_one_column_is_a_table_too():
    assert draw_tables("| a |", "|---|", "| 1 |") == ["```", "a", "-", "1", "```"]


@pytest.mark.parametrize(
    "text",
    [
        "a | b is not a table",
        "a | b\nc | d",
        "| a | b |\n|---|",
        "```\n| a | b |\n|---|---|\n| 1 | 2 |\n```",
        "~~~\n| a | b |\n|---|---|\n~~~",
        "> ```\n> | a | b |\n> |---|---|\n> ```",
        "no pipes at all\n---",
        "ls | wc\n---",
    ],
)
def test_what_is_no_table_stays_as_it_is(text: str):
    assert readable_tables(text) == text


def test_the_text_around_a_table_stays_as_it_is():
    lines = draw_tables("before  ", "", "| a |", "|---|", "| 1 |", "", "  after | with a pipe")
    assert lines[:2] == ["before  ", ""]
    assert lines[-2:] == ["", "  after | with a pipe"]


def test_a_cell_with_backticks_cannot_break_out_of_the_code_block():
    assert draw_tables("| a | b |", "|---|---|", "| ```x | y |") == ["- **a**: ```x", "  **b**: y"]


cell = st.text(alphabet="ab 日本👍`|\\*-:_<>", max_size=12).map(lambda s: s.replace("\\", "").replace("|", r"\|"))
tables = st.integers(1, 5).flatmap(
    lambda columns: st.tuples(
        st.lists(cell, min_size=columns, max_size=columns),
        st.lists(st.sampled_from(["---", ":--", "--:", ":-:", "-"]), min_size=columns, max_size=columns),
        st.lists(st.lists(cell, max_size=columns + 2), max_size=6),
    )
)


def source(header: list[str], rules: list[str], rows: list[list[str]]) -> str:
    return "\n".join("| " + " | ".join(row) + " |" for row in (header, rules, *rows))


def letters(text: str) -> str:
    return "".join(sorted(re.findall(r"[ab日本👍]", text)))


@given(tables)
def test_no_letter_of_any_table_is_lost_in_a_code_block(table: tuple[list[str], list[str], list[list[str]]]):
    text = source(*table)
    assert letters(readable_tables(text, 10_000)) == letters(text) or "``" in text


@given(tables, st.integers(4, 80))
def test_no_code_block_is_wider_than_allowed(table: tuple[list[str], list[str], list[list[str]]], width: int):
    out = readable_tables(source(*table), width).split("\n")
    if out[0] == "```":
        assert all(display_width(line) <= width for line in out[1:-1])


@given(st.lists(st.sampled_from(["text", "", "a | b", "|---|---|", "| 1 |", "```", "~~~py", "> q"]), max_size=15))
def test_any_mixture_keeps_its_balance_and_is_left_alone_the_second_time(lines: list[str]):
    text = "\n".join(lines)
    once = readable_tables(text)
    assert is_balanced(once) == is_balanced(text)
    assert readable_tables(once) == once


@given(st.text(alphabet="|-: \n`ab", max_size=400))
def test_text_without_a_row_of_rules_is_never_touched(text: str):
    without = text.replace("-", "")
    assert readable_tables(without) == without
