"""How long something took, since somebody last asked. Knows nothing of what it was."""

import threading

import msgspec


class Durations(msgspec.Struct, frozen=True):
    """Of so many, the sum and the longest."""

    count: int = 0
    total_sec: float = 0.0
    longest_sec: float = 0.0


class DurationMeter:
    """Any thread may note, and any may take."""

    def __init__(self) -> None:
        self._noted = Durations()
        self._in_use = threading.Lock()

    def note(self, seconds: float) -> None:
        with self._in_use:
            before = self._noted
            longest = max(before.longest_sec, seconds)
            self._noted = Durations(before.count + 1, before.total_sec + seconds, longest)

    def take(self) -> Durations:
        """What was noted since this was last called."""
        with self._in_use:
            noted, self._noted = self._noted, Durations()
        return noted
