"""Worlds in which people and agents give tasks to sessions of their own, some of them without end."""

import pytest

from fairlead.testing.spawn_people import everybody_and_spawns
from tests.simulator.test_seeds import AT_A_TIME, simulate_all


@pytest.mark.req("D4", "D6", "A8", "E10")
@pytest.mark.parametrize("first", range(0, 2 * AT_A_TIME, AT_A_TIME))
def test_every_completion_comes_once_to_who_asked_and_no_tree_grows_for_ever(first):
    reports, happened = simulate_all(range(first, first + AT_A_TIME), everybody_and_spawns)
    assert sum(r.lives for r in reports) > AT_A_TIME
    assert happened["sessions spawned"] > 2 * AT_A_TIME
    assert happened["completions returned to agents"] > AT_A_TIME
    assert happened["threads spawned"] > AT_A_TIME // 2
    assert happened["tasks refused with E_SPAWN_DEPTH"] > 5
    assert happened["tasks refused with E_SPAWN_LIMIT"] > 5
    assert happened["trees cancelled"] > 0


@pytest.mark.torture
@pytest.mark.parametrize("first", range(1000, 5000, 1000))
def test_thousands_of_worlds_with_tasks(first):
    simulate_all(range(first, first + 1000), everybody_and_spawns)
