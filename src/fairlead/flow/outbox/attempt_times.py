"""When this process began an entry, and when the next attempt is due, in the event loop's own time: the wall clock may
be set, forwards or back, while an entry waits. What an earlier process left is known by its wall time alone."""

import asyncio

from fairlead.core import timestamps
from fairlead.core.ids import EntryId
from fairlead.core.state import OutboxEntry


class AttemptTimes:
    def __init__(self) -> None:
        self._begun: dict[EntryId, float] = {}
        self._due: dict[EntryId, tuple[str, float]] = {}
        self._noted_away: dict[EntryId, float] = {}

    @property
    def entries(self) -> set[EntryId]:
        return {*self._begun, *self._due, *self._noted_away}

    def begin(self, entry_id: EntryId) -> None:
        """From now on this process makes attempts at this entry's next piece, and none was made before."""
        self._begun[entry_id] = _loop_time()

    def seconds_since_begin(self, entry_id: EntryId) -> float | None:
        """None where an earlier process may have made attempts."""
        begun = self._begun.get(entry_id)
        return None if begun is None else _loop_time() - begun

    def defer(self, entry: OutboxEntry, wait_sec: float) -> None:
        """Call it when the deferral is in the state."""
        self._due[entry.entry_id] = (entry.due, _loop_time() + wait_sec)

    def seconds_until_due(self, entry: OutboxEntry, now: str) -> float:
        """Never more than the pause that was once chosen, wherever the clock stands now."""
        if not entry.due:
            return 0.0
        due, at = self._due.get(entry.entry_id, ("", 0.0))
        if due == entry.due:
            return at - _loop_time()
        whole = timestamps.seconds_between(entry.deferred_at, entry.due)
        return min(timestamps.seconds_between(now, entry.due), whole)

    def note_away(self, entry_id: EntryId) -> None:
        self._noted_away[entry_id] = _loop_time()

    def seconds_since_noted_away(self, entry_id: EntryId) -> float | None:
        noted = self._noted_away.get(entry_id)
        return None if noted is None else _loop_time() - noted

    def forget(self, entry_id: EntryId) -> None:
        for times in (self._begun, self._due, self._noted_away):
            times.pop(entry_id, None)


def _loop_time() -> float:
    return asyncio.get_running_loop().time()
