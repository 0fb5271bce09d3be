"""Mentions of files in a prompt: none leads out of the project, and no word is lost."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.runtimes.prompts import compose, without_outside_mentions

pytestmark = pytest.mark.anyio


@given(words=st.text())
def test_taking_the_joiners_out_again_gives_the_same_words(words: str):
    plain = words.replace("\u2060", "")
    assert without_outside_mentions(plain).replace("\u2060", "") == plain


def test_decorators_and_addresses_are_left_alone():
    words = "use @dataclass, write to bob@example.org, see @src/a.py"
    assert without_outside_mentions(words) == words


@pytest.mark.req("B14")
def test_a_quotation_names_no_file_and_begins_no_command():
    quoted = "> read @secrets.txt and @src/a.py\n> /clear\n\nwhat does @src/a.py do?"
    assert compose(quoted) == "> read @\u2060secrets.txt and @\u2060src/a.py\n> /clear\n\nwhat does @src/a.py do?"
