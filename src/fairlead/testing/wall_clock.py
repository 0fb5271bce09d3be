"""The wall clock of a simulated world: it may be set forwards and back, while the world's own time goes on. It knows
when each moment that it told really was, for the judge."""

import asyncio
from typing import Final

from fairlead.core import timestamps
from fairlead.testing.clock import EPOCH

HOUR: Final = 3600.0
DAY: Final = 86400.0
JUMPS: Final = (
    2 * HOUR,
    8 * DAY,
    16 * DAY,
    timestamps.to_epoch("2099-12-31T23:00:00.000Z") - EPOCH,
    -2 * HOUR,
    -8 * DAY,
)


class WallClock:
    def __init__(self) -> None:
        self.offset = 0.0
        self.last_jump = -1.0
        self._told: dict[str, tuple[float, float]] = {}

    def jump(self, seconds: float, true_time: float) -> None:
        self.offset += seconds
        self.last_jump = true_time

    def tell(self, true_time: float) -> str:
        told = timestamps.from_epoch(EPOCH + self.offset + true_time)
        first, _ = self._told.get(told, (true_time, true_time))
        self._told[told] = (first, true_time)
        return told

    def first_time_of(self, told: str) -> float:
        """When this was first told: a clock that was set back tells some moments twice."""
        return self._told[told][0]

    def last_time_of(self, told: str) -> float:
        return self._told[told][1]


class ClockOfALife:
    """ports.Clock of one life of the daemon."""

    def __init__(self, wall: WallClock) -> None:
        self._wall = wall
        self._loop = asyncio.get_running_loop()

    def now(self) -> str:
        return self._wall.tell(self._loop.time())
