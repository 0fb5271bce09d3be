"""The numbers of Fairlead as Prometheus reads them. What counts messages and jobs comes from the state, and is right
after a restart; times and the use of the machine are those of this process."""

import time
from collections.abc import Callable, Iterator
from typing import Final

from fairlead import __version__
from fairlead.channels.http.call import Service
from fairlead.core import timestamps
from fairlead.core.replies import MachineRow
from fairlead.core.views import Counts, Latency, LatencyView
from fairlead.kit.process_usage import ProcessUsage, read_own_usage

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


def metrics_text(service: Service) -> str:
    counts = service.view.counts()
    usage = read_own_usage()
    lines = [
        *_daemon(service, counts),
        *_messages(counts),
        *_live(counts),
        *_machines(service.view.machines()),
        *_latencies(service.view.latencies()),
        *_process(usage, time.time()),
    ]
    return "\n".join(lines) + "\n"


def _daemon(service: Service, counts: Counts) -> Iterator[str]:
    yield from _metric("fairlead_build_info", "gauge", "The version that runs.", {f'version="{__version__}"': 1})
    yield from _metric("fairlead_journal_events_total", "counter", "Facts decided.", {"": counts.seq})
    durable = {"": service.vitals.durable_seq}
    yield from _metric("fairlead_journal_durable_events_total", "counter", "Journal events on disk.", durable)
    stalled = {"": int(service.vitals.is_stalled)}
    yield from _metric("fairlead_journal_stalled", "gauge", "1 while the disk takes no more bytes.", stalled)
    damaged = {"": int(bool(service.vitals.damage))}
    yield from _metric("fairlead_journal_damaged", "gauge", "1 when a damaged line was found.", damaged)
    checked = {"": service.vitals.checked_bytes}
    yield from _metric("fairlead_journal_checked_bytes", "gauge", "Progress of the journal check.", checked)


def _messages(counts: Counts) -> Iterator[str]:
    yield from _metric("fairlead_messages_received_total", "counter", "Messages taken.", {"": counts.received})
    settled = {f'outcome="{name}"': count for name, count in counts.settled.items()}
    yield from _metric("fairlead_messages_settled_total", "counter", "Messages by outcome.", settled)


def _live(counts: Counts) -> Iterator[str]:
    jobs = {f'state="{name}"': count for name, count in counts.live_jobs.items()}
    yield from _metric("fairlead_jobs", "gauge", "Jobs that are not over.", jobs)
    queues = {f'session="{_escape(key)}"': length for key, length in counts.queued.items()}
    yield from _metric("fairlead_queue_length", "gauge", "Jobs that wait, per session.", queues)
    yield from _metric("fairlead_sessions", "gauge", "Sessions known.", {"": counts.sessions})
    asked = {"": counts.open_questions}
    yield from _metric("fairlead_questions_open", "gauge", "Questions that wait for a person.", asked)
    owed = {"": counts.outbox_entries}
    yield from _metric("fairlead_deliveries_owed", "gauge", "Answers and questions that are pending delivery.", owed)
    yield from _metric("fairlead_cost_usd", "gauge", "What the known sessions have cost.", {"": counts.cost_usd})


def _machines(rows: tuple[MachineRow, ...]) -> Iterator[str]:
    """Nothing where there is one machine alone."""
    gauges: list[tuple[str, str, Callable[[MachineRow], float]]] = [
        ("fairlead_machine_connected", "1 while this machine is connected.", lambda row: int(row.is_there)),
        ("fairlead_machine_presence_timestamp_seconds", "When it came or went, since 1970.", _since),
        ("fairlead_machine_jobs_running", "Jobs that run on this machine.", lambda row: row.running),
        ("fairlead_machine_jobs_waiting", "Jobs that wait for this machine.", lambda row: row.waiting),
        ("fairlead_machine_slots", "How many jobs it runs at once.", lambda row: row.slots),
    ]
    for name, words, value in gauges if rows else ():
        yield from _metric(name, "gauge", words, {f'machine="{row.name}"': value(row) for row in rows})


def _since(row: MachineRow) -> float:
    return round(timestamps.to_epoch(row.since), 3) if row.since else 0


_HISTOGRAMS: Final[dict[Latency, tuple[str, str, str]]] = {
    "started": ("fairlead_job_start_delay_seconds", "From accepted to started.", ""),
    "answered": ("fairlead_job_answer_delay_seconds", "From accepted to the end of the job.", "outcome"),
    "delivered": ("fairlead_delivery_delay_seconds", "From the end of a job until its answer arrived.", "channel"),
}


def _latencies(views: list[LatencyView]) -> Iterator[str]:
    for what, (name, words, label) in _HISTOGRAMS.items():
        yield from _metric(name, "histogram", words, {})
        for view in views:
            if view.what == what:
                yield from _histogram(name, view, f'{label}="{_escape(view.label)}"' if label else "")


def _histogram(name: str, view: LatencyView, label: str) -> Iterator[str]:
    bounds = [*(f"{bound:g}" for bound in view.bounds_sec), "+Inf"]
    for bound, count in zip(bounds, view.counts, strict=True):
        yield _sample(f"{name}_bucket", ",".join(filter(None, (label, f'le="{bound}"'))), count)
    yield _sample(f"{name}_sum", label, round(view.total_sec, 3))
    yield _sample(f"{name}_count", label, view.counts[-1])


def _process(usage: ProcessUsage, now: float) -> Iterator[str]:
    """Under the names that every client library of Prometheus uses."""
    uptime = {"": round(max(0.0, now - usage.started_at), 3)}
    yield from _metric("fairlead_uptime_seconds", "gauge", "How long the process has been running.", uptime)
    known: list[tuple[str, str, str, float | None]] = [
        ("process_start_time_seconds", "gauge", "When the process began, since 1970.", round(usage.started_at, 2)),
        ("process_cpu_seconds_total", "counter", "User and system CPU time.", round(usage.cpu_seconds, 3)),
        ("process_resident_memory_bytes", "gauge", "Resident memory.", usage.resident_bytes),
        ("process_virtual_memory_bytes", "gauge", "Virtual memory.", usage.virtual_bytes),
        ("process_open_fds", "gauge", "Open file descriptors.", usage.open_files),
        ("process_max_fds", "gauge", "The most file descriptors that may be open.", usage.max_files),
    ]
    for name, kind, words, value in known:
        if value is not None:
            yield from _metric(name, kind, words, {"": value})


def _metric(name: str, kind: str, words: str, samples: dict[str, int] | dict[str, float]) -> Iterator[str]:
    yield f"# HELP {name} {words}"
    yield f"# TYPE {name} {kind}"
    for labels, value in samples.items():
        yield _sample(name, labels, value)


def _sample(name: str, labels: str, value: float) -> str:
    return f"{name}{{{labels}}} {value}" if labels else f"{name} {value}"


def _escape(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
