"""The rules for sessions that were started for a task."""

from typing import Final

from fairlead.core import events as e
from fairlead.core.ids import SessionKeyText
from fairlead.core.inbound import Cause
from fairlead.core.spawns import SpawnedSession
from fairlead.core.state import State

_BY_NO_AGENT: Final[frozenset[Cause]] = frozenset({"message", "retry", "answer", "reaction", "hook"})
"""Jobs that no agent asked for. Nobody can speak in the session of a hook: there each event counts anew."""


def session_spawned(state: State, _ts: str, event: e.SessionSpawned) -> None:
    order = event.order
    state.spawns[event.session_key] = SpawnedSession(
        session_key=event.session_key,
        asked_by=event.asked_by,
        parent_session_key=order.parent_session_key,
        conversation=order.conversation,
        returns=event.returns,
        depth=order.depth,
        generation=order.generation,
        by_agent=order.by_agent,
        fail_closed=order.fail_closed,
    )
    state.spawn_requests[event.asked_by] = event.session_key
    if order.by_agent:
        topmost = state.topmost(event.session_key)
        state.spawns_in_a_row[topmost] = state.spawns_in_a_row.get(topmost, 0) + 1


def begins_anew(event: e.JobEnqueued) -> bool:
    """Whether agents may spawn as many sessions after this job as ever. A schedule whose text is foreign was made by an
    agent."""
    return event.cause in _BY_NO_AGENT or (event.cause == "schedule" and not event.foreign)


def count_anew(state: State, session_key: SessionKeyText) -> None:
    """What agents spawn is counted from zero again."""
    state.spawns_in_a_row.pop(state.topmost(session_key), None)
