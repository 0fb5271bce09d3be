"""Worlds in which people speak into turns that run."""

import pytest

from fairlead.testing.steer_people import everybody_and_steerers
from tests.simulator.test_seeds import AT_A_TIME, simulate_all


@pytest.mark.req("F6", "A7", "A8")
@pytest.mark.parametrize("first", range(0, 3 * AT_A_TIME, AT_A_TIME))
def test_no_text_is_both_taken_and_run_and_none_is_lost(first: int):
    reports, happened = simulate_all(range(first, first + AT_A_TIME), everybody_and_steerers)
    assert sum(r.lives for r in reports) > AT_A_TIME
    assert happened["texts taken into turns"] > AT_A_TIME
    for reason in ("no_turn", "too_late", "refused"):
        assert happened[f"texts not taken: {reason}"] > 2
    assert happened["texts that a crash made unknown"] > 0


@pytest.mark.torture
@pytest.mark.parametrize("first", range(1000, 5000, 1000))
def test_thousands_of_worlds_with_texts(first: int):
    simulate_all(range(first, first + 1000), everybody_and_steerers)
