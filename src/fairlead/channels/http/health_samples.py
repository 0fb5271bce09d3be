"""How the daemon was lately: four measurements a minute, the last three hours of them, in memory. It begins with the
start of the process, and says so. Knows no page; loaded at the start, so it imports little."""

import asyncio
from collections import deque
from typing import Final

import msgspec

from fairlead.core.health_views import HealthSample
from fairlead.kit.durations import DurationMeter
from fairlead.kit.process_usage import read_own_usage
from fairlead.ports import Clock, View

EVERY_SEC: Final = 15.0
MOST: Final = 720


class HealthMeters(msgspec.Struct, frozen=True):
    """What other parts note while they work."""

    syncs: DurationMeter
    rate_limit: DurationMeter


class HealthSamples:
    def __init__(self, view: View, clock: Clock, meters: HealthMeters) -> None:
        self._view = view
        self._clock = clock
        self._meters = meters
        self._samples: deque[HealthSample] = deque(maxlen=MOST)
        self.began_at = clock.now()

    def all(self) -> tuple[HealthSample, ...]:
        """Oldest first."""
        return tuple(self._samples)

    async def keep_sampling(self) -> None:
        """For ever."""
        loop = asyncio.get_running_loop()
        due = loop.time()
        while True:
            self.take(late_sec=max(0.0, loop.time() - due))
            due = loop.time() + EVERY_SEC
            await asyncio.sleep(EVERY_SEC)

    def take(self, *, late_sec: float = 0.0) -> None:
        counts, syncs, waits = self._view.counts(), self._meters.syncs.take(), self._meters.rate_limit.take()
        live = counts.live_jobs
        self._samples.append(
            HealthSample(
                at=self._clock.now(),
                queued=live.get("queued", 0),
                running=live.get("running", 0) + live.get("waiting", 0),
                owed=counts.outbox_entries,
                sync_sec=syncs.longest_sec if syncs.count else None,
                rate_limit_sec=waits.longest_sec if waits.count else None,
                late_sec=late_sec,
                memory_bytes=read_own_usage().resident_bytes,
            )
        )
