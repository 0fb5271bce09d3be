"""Values are put into .env, and every other line stays."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.cli.env_file import with_values

pytestmark = pytest.mark.anyio


@given(st.text(alphabet="AB=#\n\f\u2028 x", max_size=60))
def test_lines_that_are_not_asked_for_stay_as_they_are(text: str):
    after = with_values(text, {"TOKEN": "t"})
    assert after == (f"{text}\n" if text and not text.endswith("\n") else text) + "TOKEN=t\n"


def test_what_is_taken_out_stays_out_and_what_was_never_there_is_not_added():
    assert with_values("A=1\nB=2\n", {"A": "", "C": ""}) == "A=\nB=2\n"
