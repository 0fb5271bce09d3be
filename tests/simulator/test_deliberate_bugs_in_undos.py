"""Bugs in snapshots and undos: each must be caught, for the right reason."""

import asyncio
from collections.abc import Callable
from contextlib import asynccontextmanager

import msgspec
import pytest

from fairlead.core import decide as deciding
from fairlead.core.decide.undos import EndUndo
from fairlead.core.events import DeliveryOwed
from fairlead.flow.work_trees.turn_snapshots import TurnSnapshots
from fairlead.flow.work_trees.undoing import Undoing
from fairlead.testing.simulator import simulate
from fairlead.testing.undo_people import undoers_and_mishaps
from tests.simulator.harness import HastyLedger

MOST_SEEDS = 200

Bug = Callable[[pytest.MonkeyPatch], None]
BUGS: dict[str, tuple[Bug, str]] = {}


def caught_by(words: str) -> Callable[[Bug], Bug]:
    def register(bug: Bug) -> Bug:
        BUGS[bug.__name__] = (bug, words)
        return bug

    return register


@caught_by("ended 0 times")
def forget_at_the_start_what_was_cut_off(patch):
    async def nothing(_self):
        return None

    patch.setattr(Undoing, "finish_begun", nothing)
    patch.setattr(Undoing, "finish_in", lambda _self, _key: nothing(_self))


@caught_by("and nobody was told")
def tell_nobody_what_a_start_has_finished(patch):
    right = deciding._DECIDERS[EndUndo]

    def silently(*given):
        decision = right(*given)
        facts = tuple(fact for fact in decision.events if not isinstance(fact, DeliveryOwed))
        return msgspec.structs.replace(decision, events=facts)

    patch.setitem(deciding._DECIDERS, EndUndo, silently)


@caught_by("before that was written down")
def write_files_before_the_plan_is_durable(patch):
    right = Undoing._carry_out

    async def at_once(self, begin, steps):
        ledger, self._ledger = self._ledger, HastyLedger(self._ledger, "record_durably")
        try:
            return await right(self, begin, steps)
        finally:
            self._ledger = ledger

    patch.setattr(Undoing, "_carry_out", at_once)


@caught_by("while an undo wrote them")
def let_turns_begin_during_an_undo(patch):
    @asynccontextmanager
    async def nothing(_self, _path):
        yield

    patch.setattr(TurnSnapshots, "hold", nothing)


@caught_by("is said to have changed")
def begin_a_turn_before_the_end_of_the_last_one_was_taken(patch):
    patch.setattr(TurnSnapshots, "_order", lambda _self, _path: asyncio.Lock())


@caught_by("was undone twice")
def let_a_turn_be_undone_again(patch):
    patch.setattr("fairlead.core.decide.undos._has_changes", lambda job: job.tree.changed is not None)


@pytest.mark.req("F1", "F4")
@pytest.mark.parametrize("name", sorted(BUGS))
def test_the_bug_is_caught(name: str, monkeypatch: pytest.MonkeyPatch):
    bug, words = BUGS[name]
    bug(monkeypatch)
    for seed in range(MOST_SEEDS):
        violations = simulate(seed, actors=undoers_and_mishaps).violations
        if any(words in violation for violation in violations):
            return
    pytest.fail(f"{MOST_SEEDS} worlds had this bug, and none was caught: {words}")
