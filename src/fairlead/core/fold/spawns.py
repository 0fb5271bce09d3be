"""The rules for sessions that were started for a task."""

from typing import Final

from fairlead.core import events as e
from fairlead.core.ids import SessionKeyText
from fairlead.core.inbound import Cause
from fairlead.core.spawns import SpawnedSession
from fairlead.core.state import State

BY_A_PERSON: Final[frozenset[Cause]] = frozenset({"message", "retry", "answer", "reaction"})
"""Jobs that a person asked for, so that somebody sees what the agents of this tree of sessions do."""


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


def forget_spawn(state: State, session_key: SessionKeyText) -> None:
    spawned = state.spawns.pop(session_key, None)
    if spawned is not None and state.spawn_requests.get(spawned.asked_by) == session_key:
        del state.spawn_requests[spawned.asked_by]


def person_spoke(state: State, session_key: SessionKeyText) -> None:
    """What agents spawn is counted from zero again."""
    state.spawns_in_a_row.pop(state.topmost(session_key), None)
