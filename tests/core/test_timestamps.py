"""Journal times: fixed width, so that text order is time order."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.core import timestamps

pytestmark = pytest.mark.req("A15")

milliseconds = st.integers(0, 4_000_000_000_000)


@given(milliseconds, milliseconds)
def test_text_order_is_time_order(one: int, other: int):
    first, second = timestamps.from_epoch(one / 1000), timestamps.from_epoch(other / 1000)
    assert len(first) == len("2026-03-01T08:00:00.000Z")
    assert (first < second) == (timestamps.to_epoch(first) < timestamps.to_epoch(second))


@given(milliseconds)
def test_a_moment_survives_to_the_millisecond(ms: int):
    ts = timestamps.from_epoch(ms / 1000)
    assert abs(timestamps.to_epoch(ts) * 1000 - ms) <= 1
    assert timestamps.moment(timestamps.parse(ts)) == ts


@given(milliseconds, st.integers(-10_000_000, 10_000_000))
def test_what_is_added_is_what_lies_between(ms: int, seconds: int):
    ts = timestamps.from_epoch(ms / 1000 + 20_000_000)
    assert timestamps.seconds_between(ts, timestamps.plus(ts, seconds)) == seconds
