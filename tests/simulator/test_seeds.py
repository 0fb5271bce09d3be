"""Many small worlds, each from its own seed: whatever happens in them, every promise is kept.

A seed that fails prints its story; `simulate(seed)` repeats it step by step.
"""

import pytest

from fairlead.testing.simulator import simulate

SEEDS = 160
AT_A_TIME = 20


@pytest.mark.req("A7", "A8", "A15", "A16", "A17", "B8")
@pytest.mark.parametrize("first", range(0, SEEDS, AT_A_TIME))
def test_nothing_is_lost_run_twice_or_out_of_order_whatever_happens(first):
    reports = [simulate(seed) for seed in range(first, first + AT_A_TIME)]
    for report in reports:
        assert not report.violations, str(report)
    # Worlds in which nothing happens would prove nothing.
    assert sum(r.lives for r in reports) > AT_A_TIME
    assert sum(r.accepted for r in reports) > 5 * AT_A_TIME
    assert sum(r.invoked for r in reports) > 4 * AT_A_TIME
    assert sum(r.posts for r in reports) > 5 * AT_A_TIME


def test_the_same_seed_tells_the_same_story():
    assert simulate(7) == simulate(7)


@pytest.mark.torture
@pytest.mark.parametrize("first", range(1000, 21000, 1000))
def test_thousands_of_worlds(first):
    for seed in range(first, first + 1000):
        report = simulate(seed)
        assert not report.violations, str(report)
