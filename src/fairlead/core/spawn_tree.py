"""The trees of sessions: who is below whom, and who still has something to do. Only reads the state.

What is asked for often looks only at what is alive, however many sessions there have been."""

from collections.abc import Iterator

from fairlead.core import message_ids
from fairlead.core.forks import FORK_SPACE
from fairlead.core.hooks import HOOK_SPACE
from fairlead.core.ids import NO_SESSION, EntryId, SessionKeyText
from fairlead.core.spawns import SpawnedSession
from fairlead.core.state import OutboxEntry, Session, State


def live_children(state: State, parent: SessionKeyText) -> set[SessionKeyText | EntryId]:
    """Sessions that this one spawned and that have something to do, and those whose thread is being opened."""
    children = {key for key in _busy(state) if key in state.spawns and state.spawns[key].parent_session_key == parent}
    return {*children, *openings_below(state, frozenset({parent}))}


def openings_below(state: State, parents: frozenset[SessionKeyText]) -> list[EntryId]:
    """The sessions that these spawned and whose thread is not there yet, by their outbox entries."""
    opening = ((entry, entry.opening.spawn) for entry in _openings(state) if entry.opening is not None)
    return [entry.entry_id for entry, order in opening if order is not None and order.parent_session_key in parents]


def agents_openings(state: State, topmost: SessionKeyText) -> int:
    """How many sessions agents of this tree have asked for that are not there yet, and so not counted yet."""
    unborn = (e.opening.spawn for e in _openings(state) if e.opening is not None and "0" not in e.paid)
    return sum(o is not None and o.by_agent and state.topmost(o.parent_session_key) == topmost for o in unborn)


def descendants(state: State, session_key: SessionKeyText) -> list[SessionKeyText]:
    """Every session below this one, parents before their children."""
    children: dict[SessionKeyText, list[SessionKeyText]] = {}
    for spawned in state.spawns.values():
        children.setdefault(spawned.parent_session_key, []).append(spawned.session_key)
    found = [session_key]
    for above in found:
        found += children.get(above, [])
    return found[1:]


def awaits_completion(state: State, session_key: SessionKeyText) -> bool:
    """Whether a session below this one has yet to report to it: then what this one says now is not its last word."""
    session = state.sessions[session_key]
    queued = any(state.jobs[job_id].cause == "child" for job_id in session.queue)
    owed = (state.outbox[entry_id] for entry_id in state.returning)
    arriving = any(entry.asker == session_key and not _has_arrived(state, entry) for entry in owed)
    return queued or arriving or any(_reports_to(state, key, session_key) for key in _busy(state))


def _has_arrived(state: State, entry: OutboxEntry) -> bool:
    """The message comes before the note that it is there."""
    there = state.sessions[entry.asker].conversation
    return state.outcome_of(there, message_ids.child_id(entry.job_id)) is not None


def is_seen_from(state: State, session_key: SessionKeyText, above: SessionKeyText) -> bool:
    """Whether what happens in this session is shown where `above` is talked to."""
    while session_key not in {above, NO_SESSION}:
        session_key = find_place(state, session_key)
    return session_key == above


def find_place(state: State, session_key: SessionKeyText) -> SessionKeyText:
    """Where people see what happens in a session that no conversation leads to: in the one that it was spawned from, or
    in which its schedule or its hook was made. NO_SESSION for one that has a conversation."""
    spawned = state.spawns.get(session_key)
    if spawned is not None:
        return NO_SESSION if spawned.returns == "thread" else spawned.parent_session_key
    session = state.sessions.get(session_key)
    if session is not None and session.key.space_id == FORK_SPACE:
        return session.forked_from
    return NO_SESSION if session is None or not is_apart(session) else session.parent_session_key


def is_apart(session: Session) -> bool:
    """Whether it is the own session of a schedule or of a hook."""
    return session.key.kind == "schedule" or session.key.space_id == HOOK_SPACE


def still_waits(state: State, spawned: SpawnedSession) -> bool:
    """Whether the session whose agent asked wants the completion: a reset begins another talk, which asked nothing."""
    parent = state.sessions.get(spawned.parent_session_key)
    return parent is not None and parent.generation == spawned.generation


def _reports_to(state: State, below: SessionKeyText, above: SessionKeyText) -> bool:
    spawned = state.spawns.get(below)
    while spawned is not None and spawned.returns == "session" and still_waits(state, spawned):
        if spawned.parent_session_key == above:
            return True
        spawned = state.spawns.get(spawned.parent_session_key)
    return False


def _busy(state: State) -> set[SessionKeyText]:
    return {*state.ready, *(state.jobs[job_id].session_key for job_id in (*state.running, *state.waiting))}


def _openings(state: State) -> Iterator[OutboxEntry]:
    return (entry for entry in state.outbox.values() if entry.opening is not None)
