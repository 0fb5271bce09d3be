"""The numbers of Fairlead as Prometheus reads them: from the state alone, so that they are right after a restart."""

from collections.abc import Iterator

from fairlead import __version__
from fairlead.channels.http.call import Service
from fairlead.core.state import State

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_OUTCOMES = ("answered", "failed", "cancelled", "unknown", "withdrawn", "refused", "skipped")


def metrics_text(service: Service) -> str:
    state = service.view.state
    lines = [*_house(service), *_messages(state), *_live(state)]
    return "\n".join(lines) + "\n"


def _house(service: Service) -> Iterator[str]:
    yield from _metric("fairlead_build_info", "gauge", "The version that runs.", {f'version="{__version__}"': 1})
    yield from _metric("fairlead_journal_seq", "counter", "The last fact decided.", {"": service.view.state.seq})
    durable = {"": service.vitals.durable_seq}
    yield from _metric("fairlead_journal_durable_seq", "counter", "The last fact that is safely on disk.", durable)
    stalled = {"": int(service.vitals.is_stalled)}
    yield from _metric("fairlead_journal_stalled", "gauge", "1 while the disk takes no more bytes.", stalled)


def _messages(state: State) -> Iterator[str]:
    account = state.account
    yield from _metric("fairlead_messages_received_total", "counter", "Messages taken.", {"": account.received})
    ended = {f'outcome="{name}"': int(getattr(account, name)) for name in _OUTCOMES}
    yield from _metric("fairlead_messages_settled_total", "counter", "Messages by what became of them.", ended)


def _live(state: State) -> Iterator[str]:
    jobs = {f'state="{name}"': count for name, count in state.live_counts().items()}
    yield from _metric("fairlead_jobs", "gauge", "Jobs that are not over.", jobs)
    queues = {f'session="{_escaped(s.session_key)}"': len(s.queue) for s in state.sessions.values() if s.queue}
    yield from _metric("fairlead_queue_length", "gauge", "Jobs that wait, per session.", queues)
    yield from _metric("fairlead_sessions", "gauge", "Sessions known.", {"": len(state.sessions)})
    open_now = len(state.open_questions())
    yield from _metric("fairlead_questions_open", "gauge", "Questions that wait for a person.", {"": open_now})
    yield from _metric("fairlead_deliveries_owed", "gauge", "Answers and questions owed.", {"": len(state.outbox)})
    spent = sum(s.cost_usd for s in state.sessions.values())
    yield from _metric("fairlead_cost_usd", "gauge", "What the known sessions have cost.", {"": spent})


def _metric(name: str, kind: str, words: str, samples: dict[str, int] | dict[str, float]) -> Iterator[str]:
    yield f"# HELP {name} {words}"
    yield f"# TYPE {name} {kind}"
    for labels, value in samples.items():
        yield f"{name}{{{labels}}} {value}" if labels else f"{name} {value}"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
