"""A very long answer is shown by its head and its tail, and is whole in a file."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.render.fences import is_balanced
from fairlead.render.pieces import Pieces, plan_pieces
from fairlead.render.split import split_lines


def split(text: str, limit: int = 2000) -> list[str]:
    return [piece.text for piece in split_lines(text, limit)]


LONG = "\n".join(f"line {number:04}" for number in range(3000))


def test_an_answer_of_few_pieces_is_just_those_pieces():
    text = "\n".join(["a line of text"] * 300)
    assert plan_pieces(text, 2000, 5) == Pieces(tuple(split(text)))


@pytest.mark.req("B12")
def test_beyond_the_limit_come_head_tail_and_the_whole_as_a_file():
    pieces = plan_pieces(LONG, 2000, 5)
    assert len(pieces.messages) == 2
    assert pieces.file == LONG.encode()
    assert pieces.messages[0].startswith("line 0000\n")
    assert pieces.messages[-1].endswith("\nline 2999")
    assert len(pieces.messages[-1]) > 1900


def test_the_note_says_exactly_how_many_lines_are_left_out():
    *_, head, tail = plan_pieces(LONG, 2000, 5).messages
    *shown, note = head.split("\n")
    found = re.fullmatch(r"… (\d+) more lines in answer\.md", note)
    assert found
    last, first = int(shown[-1].split()[1]), int(tail.split("\n", 1)[0].split()[1])
    assert int(found[1]) == first - last - 1


def test_zero_means_always_split():
    assert plan_pieces(LONG, 2000, 0) == Pieces(tuple(split(LONG)))


def test_one_message_holds_head_note_and_tail():
    (message,) = plan_pieces(LONG, 2000, 1).messages
    assert message.startswith("line 0000")
    assert "more lines in answer.md\n" in message
    assert message.endswith("line 2999")
    assert len(message) <= 2000


def test_a_single_endless_line_is_counted_in_characters():
    pieces = plan_pieces("x" * 50_000, 2000, 3)
    assert len(pieces.messages) == 2
    assert re.search(r"… 4\d{4} more characters in answer\.md$", pieces.messages[0])


def test_the_note_speaks_the_persons_language():
    assert "行は answer.md にあります" in plan_pieces(LONG, 2000, 2, lang="ja").messages[0]


def test_code_is_closed_before_the_note_and_opened_again_for_the_tail():
    pieces = plan_pieces("```py\n" + "x = 1\n" * 3000 + "```", 2000, 3)
    assert re.search(r"\n```\n… \d+ more lines in answer.md$", pieces.messages[0])
    assert pieces.messages[1].startswith("```py\nx = 1")


lines = st.sampled_from(
    ["text", "", "```py", "```", "> quote", "> ```", "~~~", "word " * 80, "x" * 900, "    indented"]
)


@given(st.lists(lines, max_size=120).map("\n".join), st.integers(400, 900), st.integers(1, 6))
def test_the_plan_keeps_to_its_numbers_whatever_the_answer(text: str, limit: int, most: int):
    pieces = plan_pieces(text, limit, most)
    assert len(pieces.messages) <= most
    assert all(len(message) <= limit and is_balanced(message) and message.strip() for message in pieces.messages)
    assert pieces.file in {None, text.encode()}
    assert (pieces.file is None) == (len(split(text, limit)) <= most)
