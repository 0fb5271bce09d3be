"""Markdown that arrives in pieces."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.channels.terminal.markdown_stream import MarkdownStream

ANSWER = "First.\n\n```python\na = 1\n\nb = 2\n```\n\nLast"


def in_pieces(text: str, size: int) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


@pytest.mark.req("C6")
@pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
def test_blocks_settle_whole_whatever_the_pieces(size: int):
    flowing = MarkdownStream()
    settled = [part for piece in in_pieces(ANSWER, size) if (part := flowing.add(piece))]
    assert "".join(settled) == "First.\n\n```python\na = 1\n\nb = 2\n```\n\n"
    assert all(part.count("```") % 2 == 0 for part in settled)
    assert flowing.tail == "Last"


@given(st.lists(st.text(alphabet="a`~ \n>-", max_size=12), max_size=20))
def test_nothing_is_lost_or_said_twice(pieces: list[str]):
    flowing = MarkdownStream()
    joined = "".join([*(flowing.add(piece) for piece in pieces), flowing.flush()])
    assert joined == "".join(pieces) == flowing.shown
    assert flowing.missing_from("".join(pieces)) == ""


def test_the_final_answer_is_shown_once():
    flowing = MarkdownStream()
    flowing.add("Let me look. ")
    flowing.flush()
    flowing.add("It is blue.")
    flowing.flush()
    assert flowing.missing_from("It is blue.") == ""
    assert flowing.missing_from("Let me look. It is blue. Really.") == " Really."
    assert flowing.missing_from("It is red.") == "It is red."
