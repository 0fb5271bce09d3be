"""Bugs in the work on worktrees: each must be caught, for the right reason."""

from collections.abc import Callable

import pytest

from fairlead.core.decide import worktrees as deciding
from fairlead.flow.worktrees.keeper import WorktreeKeeper
from fairlead.testing.simulator import simulate
from fairlead.testing.worktree_people import worktree_users_and_mishaps
from tests.simulator.harness import HastyLedger

MOST_SEEDS = 60

Bug = Callable[[pytest.MonkeyPatch], None]
BUGS: dict[str, tuple[Bug, str]] = {}


def caught_by(words: str) -> Callable[[Bug], Bug]:
    def register(bug: Bug) -> Bug:
        BUGS[bug.__name__] = (bug, words)
        return bug

    return register


@caught_by("was written down")
def let_git_begin_before_the_fact_is_durable(patch):
    right = WorktreeKeeper._settle

    async def at_once(self, number):
        ledger, self._ledger = self._ledger, HastyLedger(self._ledger, "until_all_durable")
        try:
            await right(self, number)
        finally:
            self._ledger = ledger

    patch.setattr(WorktreeKeeper, "_settle", at_once)


@caught_by("and nobody was told")
def tell_nobody_what_a_start_has_finished(patch):
    patch.setattr(WorktreeKeeper, "_is_to_be_told", lambda _self, _worktree: False)


@caught_by("has no end")
def forget_at_the_start_what_was_cut_off(patch):
    right = WorktreeKeeper.run

    async def forgetfully(self):
        self._busy.update(self._find_unsettled())
        await right(self)

    patch.setattr(WorktreeKeeper, "run", forgetfully)


@caught_by("ran in it")
def merge_and_discard_while_a_turn_runs(patch):
    patch.setattr(deciding, "_busy_problem", lambda _state, _worktree: None)


@caught_by("began in worktree")
def start_jobs_while_git_is_busy(patch):
    patch.setattr("fairlead.core.decide.scheduling.UNSETTLED", frozenset())


@pytest.mark.req("F5")
@pytest.mark.parametrize("name", sorted(BUGS))
def test_the_bug_is_caught(name: str, monkeypatch: pytest.MonkeyPatch):
    bug, words = BUGS[name]
    bug(monkeypatch)
    for seed in range(MOST_SEEDS):
        violations = simulate(seed, actors=worktree_users_and_mishaps).violations
        if any(words in violation for violation in violations):
            return
    pytest.fail(f"{MOST_SEEDS} worlds had this bug, and none was caught: {words}")
