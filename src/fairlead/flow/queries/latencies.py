"""How long things take, counted since this process began: from accepted to started, to answered, and to delivered.

Histograms as Prometheus knows them: they begin at zero with every start, and cost the same however old the journal is.
"""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Final

from fairlead.core import events as e
from fairlead.core import timestamps
from fairlead.core.ids import EntryId, JobId
from fairlead.core.state import Job, State, answered_job
from fairlead.core.views import Latency, LatencyView

BOUNDS_SEC: Final = (0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 900.0, 3600.0)


class _Histogram:
    def __init__(self) -> None:
        self._counts = [0] * (len(BOUNDS_SEC) + 1)
        self._total_sec = 0.0

    def add(self, seconds: float) -> None:
        self._counts[bisect_left(BOUNDS_SEC, seconds)] += 1
        self._total_sec += seconds

    def view(self, what: Latency, label: str) -> LatencyView:
        return LatencyView(
            what=what,
            label=label,
            bounds_sec=BOUNDS_SEC,
            counts=tuple(accumulate(self._counts)),
            total_sec=self._total_sec,
        )


class Latencies:
    """An announcer of the ledger. Starts and ends are counted when watchers are told of them, or when somebody asks:
    people wait for what follows them."""

    def __init__(self, state: State, now: Callable[[], str]) -> None:
        self._state = state
        self._now = now
        self._uncounted: list[e.JobStarted | e.JobCompleted | e.JobFailed | e.JobCancelled] = []
        self._histograms: dict[tuple[Latency, str], _Histogram] = {
            ("started", ""): _Histogram(),
            **{("answered", outcome): _Histogram() for outcome in ("success", "failed", "cancelled")},
        }

    def views(self) -> list[LatencyView]:
        self._count()
        return [histogram.view(what, label) for (what, label), histogram in self._histograms.items()]

    def note(self, events: Sequence[e.JournalEvent]) -> None:
        for event in events:
            match event:
                case e.JobStarted() | e.JobCompleted() | e.JobFailed() | e.JobCancelled():
                    self._uncounted.append(event)
                case e.PieceDelivered() | e.DeliveryAcknowledged():
                    self._measure_delivery(event.entry_id)
                case _:
                    pass

    def announce(self, _events: Sequence[e.JournalEvent]) -> None:
        self._count()

    def _count(self) -> None:
        uncounted, self._uncounted = self._uncounted, []
        for event in uncounted:
            if isinstance(event, e.JobStarted):
                self._add(event.job_id, "started", lambda job: ("", job.enqueued_at, job.started_at))
            else:
                self._add(event.job_id, "answered", lambda job: (job.state, job.enqueued_at, job.finished_at))

    def _measure_delivery(self, entry_id: EntryId) -> None:
        """An entry that is still in the outbox has more pieces to come."""
        if entry_id not in self._state.outbox:
            now = self._now()
            self._add(answered_job(entry_id), "delivered", lambda job: (job.conversation.channel, job.finished_at, now))

    def _add(self, job_id: JobId, what: Latency, read: Callable[[Job], tuple[str, str | None, str | None]]) -> None:
        job = self._state.jobs.get(job_id)
        if job is None:
            return
        label, since, until = read(job)
        if since and until:
            # A clock that was set back must not make a negative time.
            seconds = max(0.0, timestamps.seconds_between(since, until))
            self._histograms.setdefault((what, label), _Histogram()).add(seconds)
