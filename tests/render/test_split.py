"""Long answers arrive whole: in pieces that a chat takes, with every code block and every emoji intact."""

import re
import sys
from types import FrameType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.render.fences import Role, is_balanced, scan
from fairlead.render.graphemes import clusters
from fairlead.render.split import count_code_points, split_lines


def split(text: str, limit: int = 2000, measure=count_code_points) -> list[str]:
    return [piece.text for piece in split_lines(text, limit, measure)]


FAMILY = "👩‍👩‍👧‍👦"


def without_fences(text: str) -> str:
    return "\n".join(line.text for line in scan(text.split("\n")) if line.role is Role.TEXT)


def visible(text: str) -> str:
    return re.sub(r"[\s>]+", "", without_fences(text))


def utf16_length(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


words = st.sampled_from(
    [
        "alpha",
        "beta,",
        "`inline code`",
        "**bold**",
        FAMILY,
        "🇩🇪🇯🇵",
        "👍🏽",
        "e\u0301a\u0308",
        "日本語の文。",
        "한국어",
        "क्षि",
        "❤️",
    ]
)
prose = st.lists(words, min_size=1, max_size=60).map(" ".join)
unbroken = st.builds(lambda word, times: word * times, st.sampled_from(["x", FAMILY, "漢", "🇩🇪"]), st.integers(1, 400))
code_line = st.builds(lambda indent, text: " " * indent + text, st.integers(0, 8), st.one_of(prose, st.just("")))
fence_kind = st.sampled_from([("", "```"), ("", "````"), ("", "~~~"), ("   ", "```"), ("> ", "```"), ("> > ", "~~~~")])


@st.composite
def blocks(draw: st.DrawFn) -> str:
    indent, mark = draw(fence_kind)
    language = draw(st.sampled_from(["", "py", "c++", "typescript title=a.ts", "x" * 300]))
    body = [indent + line for line in draw(st.lists(code_line, max_size=25))]
    closing = [indent + mark] if draw(st.booleans()) or draw(st.booleans()) else []
    return "\n".join([f"{indent}{mark}{language}", *body, *closing])


texts = st.lists(st.one_of(prose, unbroken, blocks(), st.just(""), st.just("> quoted text")), max_size=12).map(
    "\n".join
)
limits = st.integers(200, 700)


@pytest.mark.req("B12")
@given(texts, limits)
def test_every_piece_fits_is_balanced_and_has_something_to_read(text: str, limit: int):
    for piece in split(text, limit):
        assert count_code_points(piece) <= limit
        assert is_balanced(piece)
        assert piece.strip()


@pytest.mark.req("B12")
@given(texts, limits)
def test_nothing_is_lost_but_fence_lines_and_blank_space_at_cuts(text: str, limit: int):
    assert visible("\n".join(split(text, limit))) == visible(text)


@given(texts, limits)
def test_emoji_and_combining_marks_stay_whole(text: str, limit: int):
    whole = list(clusters(visible(text)))
    arrived = [cluster for piece in split(text, limit) for cluster in clusters(visible(piece))]
    assert arrived == whole


@given(texts, limits)
def test_a_line_that_fits_is_never_cut(text: str, limit: int):
    arrived = [line for piece in split(text, limit) for line in without_fences(piece).split("\n")]
    short = [line for line in without_fences(text).split("\n") if line.strip() and len(line) < limit // 2]
    remaining = iter(arrived)
    assert all(line in remaining for line in short)


@given(st.text(max_size=3000), limits)
def test_any_text_at_all_is_split_into_balanced_pieces_that_fit(text: str, limit: int):
    for piece in split(text, limit):
        assert len(piece) <= limit
        assert is_balanced(piece)
        assert piece.strip()


marks = st.text(alphabet="`~> \n-ax1.", max_size=1500)


@given(marks, limits)
def test_even_a_heap_of_fence_marks_is_balanced_and_keeps_its_letters(text: str, limit: int):
    pieces = split(text, limit)
    assert all(is_balanced(piece) and len(piece) <= limit for piece in pieces)
    kept = visible("\n".join(pieces))
    lost = [line.text for line in scan(text.split("\n")) if line.role is Role.TEXT and len(line.text) < limit // 2]
    assert all(re.sub(r"[\s>]+", "", line) in kept for line in lost)


@given(texts)
def test_another_measure_is_kept_to_as_well(text: str):
    assert all(utf16_length(piece) <= 300 for piece in split(text, 300, utf16_length))


@pytest.mark.req("B12")
def test_a_text_of_exactly_the_limit_goes_as_it_is():
    text = "word " * 399 + "final"
    assert len(text) == 2000
    assert split(text) == [text]
    assert len(split(text + "!")) == 2


def test_discord_counts_code_points_so_2000_emoji_are_one_message():
    assert split("😀" * 2000) == ["😀" * 2000]
    assert [len(piece) for piece in split("😀" * 2001)] == [2000, 1]


@pytest.mark.req("B12")
def test_a_cut_code_block_is_closed_and_opened_again_with_its_language():
    body = [f"print({n:04})" for n in range(300)]
    first, *middle, last = split("\n".join(["Look:", "```python", *body, "```", "Done."]))
    assert first.startswith("Look:\n```python\nprint(0000)")
    assert first.endswith("\n```")
    assert all(piece.startswith("```python\nprint(") and piece.endswith(")\n```") for piece in middle)
    assert last.startswith("```python\nprint(")
    assert last.endswith("print(0299)\n```\nDone.")


@pytest.mark.req("B12")
def test_a_code_block_that_fits_into_one_message_is_moved_rather_than_cut():
    block = "```sh\n" + "make test\n" * 100 + "```"
    assert split("intro\n" * 250 + block) == ["\n".join(["intro"] * 250), block]


def test_a_longer_fence_keeps_the_shorter_one_inside_as_text():
    inner = "```js\nlet a\n```\n" * 150
    pieces = split(f"````md\n{inner}````")
    assert len(pieces) == 2
    assert all(piece.startswith("````md\n") and piece.endswith("\n````") for piece in pieces)


def test_a_fence_in_a_quote_is_closed_and_opened_inside_the_quote():
    pieces = split("> ```js\n" + "> let a = 1\n" * 300 + "> ```\nafter")
    assert all(piece.startswith("> ```js\n> let") for piece in pieces)
    assert all("\n> ```" in piece for piece in pieces)
    assert pieces[-1].endswith("> ```\nafter")


def test_a_long_line_of_a_quoted_code_block_stays_in_the_quote():
    pieces = split("> ```\n> " + "x" * 5000 + "\n> ```")
    assert all(line.startswith(">") for piece in pieces for line in piece.split("\n"))
    assert sum(piece.count("x") for piece in pieces) == 5000


def test_a_fence_behind_a_list_mark_is_opened_again_without_the_mark():
    pieces = split("- ```sh\n" + "  echo hello\n" * 300 + "  ```")
    assert pieces[0].startswith("- ```sh\n  echo")
    assert pieces[1].startswith("  ```sh\n  echo")


def test_a_fence_that_opens_behind_text_is_closed_by_the_next_one():
    text = "Output: ```\nfoo\n```\nrest"
    assert split(text) == [text]


def test_an_answer_that_was_cut_short_has_its_code_block_closed():
    assert split("```py\nprint(1)") == ["```py\nprint(1)\n```"]


def test_a_code_block_in_a_quote_that_just_ends_is_closed_where_the_quote_ends():
    assert split("> ```\n> a\ntext") == ["> ```\n> a\n> ```\ntext"]


def test_inline_code_of_three_backticks_opens_nothing():
    text = "```not a block``` and more"
    assert split(text) == [text]


def test_paragraphs_are_liked_better_than_line_ends():
    paragraph = "\n".join(["A line of some length in a paragraph."] * 30)
    pieces = split("\n\n".join([paragraph] * 3))
    assert pieces == [paragraph] * 3


def test_a_short_line_in_front_of_a_very_long_one_is_not_a_message_of_its_own():
    first, second = split("**Answer**\n" + "word " * 500)
    assert first.startswith("**Answer**\nword word")
    assert len(first) > 1900
    assert second.startswith("word")


def test_an_info_string_longer_than_a_message_shrinks_to_the_bare_fence():
    pieces = split("```" + "p" * 3000 + "\ncode\n```")
    assert pieces == ["```\ncode\n```"]


def test_a_line_that_looks_like_a_fence_only_after_the_cut_is_not_made_one():
    text = "```" + "a" * 3000 + "`"
    assert "".join(split(text)).replace("\n", "") == text


@pytest.mark.parametrize("text", ["", " ", "\n" * 5000, "\r\n" * 3000, "```\n" + "\n" * 5000 + "```", " " * 9000])
def test_nothing_to_say_is_no_message(text: str):
    assert split(text) == []


def test_windows_line_ends_do_not_hide_fences():
    pieces = split("```py\r\n" + "x = 1\r\n" * 600 + "```\r\n")
    assert all(piece.startswith("```py\nx = 1") and piece.endswith("\n```") for piece in (p.rstrip() for p in pieces))


def test_blank_pieces_in_the_middle_of_a_line_are_left_out():
    assert split("a" + " " * 9000 + "b")[-1].strip() == "b"
    assert all(piece.strip() for piece in split("a" + " " * 9000 + "b"))


MONSTERS = {
    "one line": "x",
    "flags": "🇩🇪",
    "marks": "\u0301",
    "backticks": "`",
    "openings": "```py\n",
    "blocks": "```py\na\n```\n",
    "quotes": "> ",
    "lines": "a\n",
    "words": "word ",
}


@pytest.mark.parametrize(
    "text",
    [
        "x" * 10_000_000,
        "🇩🇪" * 500_000,
        "a" + "\u0301" * 1_000_000,
        "`" * 1_000_000,
        "```py\n" * 20_000,
        "```py\na\n```\n" * 10_000,
        "> " * 500_000,
    ],
    ids=["one line", "flags", "marks", "backticks", "openings", "blocks", "quotes"],
)
def test_monstrous_answers_are_split_too(text: str):
    pieces = split(text)
    assert all(len(piece) <= 2000 for piece in pieces)


def steps_to_split(text: str) -> int:
    """The lines of code that are run, and the characters that are measured: what no machine does faster or slower."""
    steps = 0

    def measure(measured: str) -> int:
        nonlocal steps
        steps += len(measured)
        return len(measured)

    def trace(_frame: FrameType, event: str, _argument: object) -> Any:
        nonlocal steps
        steps += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        split(text, measure=measure)
    finally:
        sys.settrace(before)
    return steps


@pytest.mark.parametrize("kind", MONSTERS)
def test_the_work_is_linear_in_the_length_of_the_answer(kind: str):
    """Twice the text is twice the work. Quadratic work would be four times as much."""
    part = MONSTERS[kind]
    once, twice = (part * (length // len(part)) for length in (50_000, 100_000))
    assert steps_to_split(twice) < 2.5 * steps_to_split(once)


def test_a_limit_too_small_for_fences_is_refused_with_the_smallest_one():
    with pytest.raises(ValueError, match="at least 200"):
        split("text", 100)
