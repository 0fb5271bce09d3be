"""Worlds with several machines: a daemon, runners, a wire that fails, and every process killed now and then.

A seed that fails prints its story; `simulate_machines(seed)` repeats it step by step.
"""

from collections import Counter

import pytest

from fairlead.testing.machine_worlds import simulate_machines

SEEDS = 60
AT_A_TIME = 15

pytestmark = pytest.mark.req("H2", "H3", "H4", "H5", "H6")


@pytest.mark.parametrize("first", range(0, SEEDS, AT_A_TIME))
def test_no_prompt_twice_no_answer_lost_or_doubled_whatever_fails_between_machines(first: int):
    reports = [simulate_machines(seed) for seed in range(first, first + AT_A_TIME)]
    happened: Counter[str] = Counter()
    for report in reports:
        assert not report.violations, str(report)
        happened.update(report.happened)
    # Worlds in which nothing happens would prove nothing.
    assert happened["turns on other machines"] > 6 * AT_A_TIME
    things = (
        "runners killed",
        "daemons killed",
        "cuts",
        "superseded runners",
        "wiped servers",
        "old copies of runners",
    )
    for what in things:
        assert happened[what] > 0, what


def test_the_same_seed_tells_the_same_story():
    one, other = simulate_machines(7), simulate_machines(7)
    assert (one.story, one.happened, one.violations) == (other.story, other.happened, other.violations)


@pytest.mark.torture
@pytest.mark.parametrize("first", range(1000, 11000, 1000))
def test_thousands_of_worlds(first: int):
    for seed in range(first, first + 1000):
        report = simulate_machines(seed)
        assert not report.violations, str(report)
