"""The server's clock, which tests can move, and the ids and time stamps made from it.

Knows nothing of Discord's objects.
"""

import time
from collections.abc import Callable
from datetime import UTC, datetime

DISCORD_EPOCH_MS = 1_420_070_400_000


class Clock:
    """Wall time plus whatever the test has advanced it by; `frozen` time moves by `advance` only."""

    def __init__(self, *, frozen: bool = False) -> None:
        self._frozen_at = time.time() if frozen else None
        self._offset = 0.0
        self._listeners: list[Callable[[], None]] = []

    def now(self) -> float:
        base = time.time() if self._frozen_at is None else self._frozen_at
        return base + self._offset

    def advance(self, seconds: float) -> None:
        self._offset += seconds
        for listener in self._listeners:
            listener()

    def on_advance(self, listener: Callable[[], None]) -> None:
        self._listeners.append(listener)

    def iso(self, at: float | None = None) -> str:
        moment = self.now() if at is None else at
        return datetime.fromtimestamp(moment, UTC).isoformat(timespec="microseconds")


class Snowflakes:
    """Ids that rise strictly, even when the clock stands still or is set back."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._last = 0

    def next(self) -> int:
        wanted = (int(self._clock.now() * 1000) - DISCORD_EPOCH_MS) << 22
        self._last = max(wanted, self._last + 1)
        return self._last


def time_of(snowflake: int) -> float:
    return ((snowflake >> 22) + DISCORD_EPOCH_MS) / 1000
