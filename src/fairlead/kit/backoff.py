"""How long to wait before the next attempt. No clock, no randomness of its own: the caller brings both."""

from collections.abc import Callable

import msgspec


class Backoff(msgspec.Struct, frozen=True, kw_only=True):
    """Exponential, never above `ceiling`; jitter only shortens, so that the ceiling holds.

    `jitter` is the share of each delay that is left to chance: 0 gives exact delays, 1 gives "full jitter".
    """

    first: float = 1.0
    factor: float = 2.0
    ceiling: float = 60.0
    jitter: float = 0.5

    def __post_init__(self) -> None:
        if not (0 < self.first <= self.ceiling and self.factor >= 1 and 0 <= self.jitter <= 1):
            raise ValueError(f"needs 0 < first <= ceiling, factor >= 1 and 0 <= jitter <= 1: {self}")

    def longest(self, attempt: int) -> float:
        """The delay after failed attempt number `attempt` (the first is 1), before jitter."""
        if attempt < 1:
            raise ValueError(f"attempts are counted from 1, not {attempt}")
        try:
            return min(self.ceiling, self.first * self.factor ** (attempt - 1))
        except OverflowError:
            return self.ceiling

    def delay(self, attempt: int, chance: Callable[[], float]) -> float:
        """`chance` gives numbers in [0, 1), as `random.Random(seed).random` does."""
        return self.longest(attempt) * (1 - self.jitter * chance())
