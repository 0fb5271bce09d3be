"""Delays grow, never past the ceiling."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.kit.backoff import Backoff


@given(
    attempt=st.integers(1, 10**6),
    jitter=st.floats(0, 1),
    factor=st.floats(1, 1e300),
    chance=st.floats(0, 0.999),
)
def test_every_delay_lies_between_the_jittered_and_the_full_one(
    attempt: int, jitter: float, factor: float, chance: float
):
    backoff = Backoff(first=0.5, factor=factor, ceiling=60, jitter=jitter)
    delay = backoff.delay(attempt, lambda: chance)
    assert backoff.longest(attempt) * (1 - jitter) <= delay <= backoff.longest(attempt) <= 60


def test_without_jitter_the_delays_double_up_to_the_ceiling():
    backoff = Backoff(first=1, ceiling=10, jitter=0)
    assert [backoff.delay(n, random.Random(1).random) for n in range(1, 7)] == [1, 2, 4, 8, 10, 10]


def test_the_same_seed_gives_the_same_delays_and_another_seed_others():
    def delays(seed: int) -> list[float]:
        chance = random.Random(seed).random
        return [Backoff().delay(n, chance) for n in range(1, 6)]

    assert delays(1) == delays(1)
    assert delays(1) != delays(2)


@pytest.mark.parametrize("wrong", [{"first": 0}, {"first": 61}, {"factor": 0.5}, {"jitter": 1.1}, {"jitter": -0.1}])
def test_settings_that_make_no_sense_are_refused(wrong: dict[str, float]):
    with pytest.raises(ValueError, match="needs 0 < first"):
        Backoff(**wrong)


def test_attempts_are_counted_from_one():
    with pytest.raises(ValueError, match="from 1, not 0"):
        Backoff().delay(0, random.Random(1).random)
