"""Worlds in which agents change files, and people take that back while the daemon crashes."""

import pytest

from fairlead.testing.undo_people import undoers_and_mishaps
from tests.simulator.test_seeds import AT_A_TIME, simulate_all


@pytest.mark.req("F1", "F4")
@pytest.mark.parametrize("first", range(0, 3 * AT_A_TIME, AT_A_TIME))
def test_every_undo_ends_once_and_every_change_is_told_of_its_turn(first: int):
    reports, happened = simulate_all(range(first, first + AT_A_TIME), undoers_and_mishaps)
    assert sum(r.lives for r in reports) > AT_A_TIME
    assert happened["undos"] > 2 * AT_A_TIME
    assert happened["undos that a crash cut off"] > 3
    assert happened["redone jobs"] > 3
    assert happened["turns that changed files alone"] > 5 * AT_A_TIME


@pytest.mark.torture
@pytest.mark.parametrize("first", range(1000, 5000, 1000))
def test_thousands_of_worlds_with_undos(first: int):
    simulate_all(range(first, first + 1000), undoers_and_mishaps)
