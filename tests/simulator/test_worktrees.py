"""Worlds in which sessions work in worktrees, and people merge and discard them while the daemon crashes."""

import pytest

from fairlead.testing.worktree_people import worktree_users_and_mishaps
from tests.simulator.test_seeds import AT_A_TIME, simulate_all


@pytest.mark.req("F5")
@pytest.mark.parametrize("first", range(0, 3 * AT_A_TIME, AT_A_TIME))
def test_what_was_begun_with_a_worktree_ends_once_and_no_work_is_lost(first: int):
    reports, happened = simulate_all(range(first, first + AT_A_TIME), worktree_users_and_mishaps)
    assert sum(r.lives for r in reports) > AT_A_TIME
    assert happened["jobs in worktrees"] > 5 * AT_A_TIME
    assert happened["WorktreeMergeBegun"] > AT_A_TIME
    assert happened["WorktreeDiscardBegun"] > AT_A_TIME / 4
    cut_off = sum(times for what, times in happened.items() if "Worktree" in what and "cut off" in what)
    assert cut_off > 3


@pytest.mark.torture
@pytest.mark.parametrize("first", range(1000, 5000, 1000))
def test_thousands_of_worlds_with_worktrees(first: int):
    simulate_all(range(first, first + 1000), worktree_users_and_mishaps)
