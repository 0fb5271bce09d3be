"""Many small worlds, each from its own seed: whatever happens in them, every promise is kept.

A seed that fails prints its story; `simulate(seed)`, with the same actors, repeats it step by step.
"""

from collections import Counter

import pytest

from fairlead.testing.agent_people import everybody_and_agents
from fairlead.testing.hard_times import (
    everybody_and_a_speaker,
    everybody_during_a_ban,
    everybody_in_rough_weather,
    everybody_where_much_is_deleted,
    everybody_while_the_clock_jumps,
    impatient_people,
)
from fairlead.testing.months import over_months
from fairlead.testing.simulator import Report, simulate
from fairlead.testing.world import ActorMaker

SEEDS = 120
AT_A_TIME = 20


def simulate_all(seeds: range, actors: ActorMaker) -> tuple[list[Report], Counter[str]]:
    """The reports of worlds without a violation, and how often everything happened in them."""
    reports = [simulate(seed, actors=actors) for seed in seeds]
    happened: Counter[str] = Counter()
    for report in reports:
        assert not report.violations, str(report)
        happened.update(report.happened)
    return reports, happened


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
    happened = sum((Counter(r.happened) for r in reports), Counter[str]())
    assert happened["journals that lost lines"] > 5
    assert happened["restorations on purpose"] > 5
    assert happened["flipped bits below a snapshot"] > AT_A_TIME
    assert happened["damaged lines read back"] > AT_A_TIME
    assert happened["marks of refusals"] > 5
    if first == 0:  # about one in ten worlds has one
        assert happened["torn tails"] > 0


@pytest.mark.req("B5", "B7", "E1")
@pytest.mark.parametrize("first", range(0, 2 * AT_A_TIME, AT_A_TIME))
def test_agents_that_are_started_first_replaced_and_bound_by_no_limit_keep_every_promise(first):
    reports, _ = simulate_all(range(first, first + AT_A_TIME), everybody_and_agents)
    told = [line for report in reports for line in report.story]
    for happened in ("has the thread", "was refused: E_ACP_CONNECTION", "goose 1 is configured"):
        assert any(happened in line for line in told), happened


HARD_TIMES: dict[ActorMaker, dict[str, int]] = {
    over_months: {
        "days lived through": 120,
        "jumps of the clock": 20,
        "repeats": 100,
        "floors that rose": 5,
        "answers to fetch": 20,
        "sends that failed in one place": 100,
        "sends without the right": 100,
    },
    everybody_while_the_clock_jumps: {"jumps of the clock": 80, "sends that failed in one place": 300},
    everybody_during_a_ban: {"bans": 12},
    everybody_in_rough_weather: {},
    everybody_and_a_speaker: {"messages that were missed": 100, "waits for room": 300},
    everybody_where_much_is_deleted: {},
    impatient_people: {"marks of refusals": 150},
}
"""Worlds in which one thing is hard all the time, and how often it must have happened in twelve of them."""


@pytest.mark.req("A2", "A8", "A15", "A16", "B8", "B11", "B14")
@pytest.mark.parametrize("actors", HARD_TIMES, ids=lambda actors: actors.__name__)
def test_every_promise_is_kept_where_one_thing_is_hard_all_the_time(actors):
    reports, happened = simulate_all(range(12), actors)
    assert sum(r.lives for r in reports) > 12
    assert sum(r.posts for r in reports) > 60
    for what, at_least in HARD_TIMES[actors].items():
        assert happened[what] >= at_least, f"{what}: {happened[what]}"


def test_the_same_seed_tells_the_same_story():
    assert simulate(7) == simulate(7)


@pytest.mark.torture
@pytest.mark.parametrize("first", range(1000, 21000, 1000))
def test_thousands_of_worlds(first):
    for seed in range(first, first + 1000):
        report = simulate(seed)
        assert not report.violations, str(report)


@pytest.mark.torture
@pytest.mark.parametrize("actors", HARD_TIMES, ids=lambda actors: actors.__name__)
def test_thousands_of_hard_worlds(actors):
    simulate_all(range(1000, 3000), actors)
