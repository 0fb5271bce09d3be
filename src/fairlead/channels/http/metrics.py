"""The numbers of Fairlead as Prometheus reads them: from the state alone, so that they are right after a restart."""

from collections.abc import Iterator

from fairlead import __version__
from fairlead.channels.http.call import Service
from fairlead.core.views import Counts

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


def metrics_text(service: Service) -> str:
    counts = service.view.counts()
    lines = [*_daemon(service, counts), *_messages(counts), *_live(counts)]
    return "\n".join(lines) + "\n"


def _daemon(service: Service, counts: Counts) -> Iterator[str]:
    yield from _metric("fairlead_build_info", "gauge", "The version that runs.", {f'version="{__version__}"': 1})
    yield from _metric("fairlead_journal_seq", "counter", "The last fact decided.", {"": counts.seq})
    durable = {"": service.vitals.durable_seq}
    yield from _metric("fairlead_journal_durable_seq", "counter", "The last fact that is safely on disk.", durable)
    stalled = {"": int(service.vitals.is_stalled)}
    yield from _metric("fairlead_journal_stalled", "gauge", "1 while the disk takes no more bytes.", stalled)


def _messages(counts: Counts) -> Iterator[str]:
    yield from _metric("fairlead_messages_received_total", "counter", "Messages taken.", {"": counts.received})
    settled = {f'outcome="{name}"': count for name, count in counts.settled.items()}
    yield from _metric("fairlead_messages_settled_total", "counter", "Messages by what became of them.", settled)


def _live(counts: Counts) -> Iterator[str]:
    jobs = {f'state="{name}"': count for name, count in counts.live_jobs.items()}
    yield from _metric("fairlead_jobs", "gauge", "Jobs that are not over.", jobs)
    queues = {f'session="{_escape(key)}"': length for key, length in counts.queued.items()}
    yield from _metric("fairlead_queue_length", "gauge", "Jobs that wait, per session.", queues)
    yield from _metric("fairlead_sessions", "gauge", "Sessions known.", {"": counts.sessions})
    asked = {"": counts.open_questions}
    yield from _metric("fairlead_questions_open", "gauge", "Questions that wait for a person.", asked)
    owed = {"": counts.outbox_entries}
    yield from _metric("fairlead_deliveries_owed", "gauge", "Answers and questions owed.", owed)
    yield from _metric("fairlead_cost_usd", "gauge", "What the known sessions have cost.", {"": counts.cost_usd})


def _metric(name: str, kind: str, words: str, samples: dict[str, int] | dict[str, float]) -> Iterator[str]:
    yield f"# HELP {name} {words}"
    yield f"# TYPE {name} {kind}"
    for labels, value in samples.items():
        yield f"{name}{{{labels}}} {value}" if labels else f"{name} {value}"


def _escape(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
