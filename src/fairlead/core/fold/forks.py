"""The rules for talks that begin as copies of other talks."""

from fairlead.core import events as e
from fairlead.core.state import State, resume_slot


def fork_planned(state: State, ts: str, event: e.ForkPlanned) -> None:
    session = state.sessions.get(event.session_key)
    if session is None or event.generation != session.generation:
        return
    slot = resume_slot(event.runtime, event.project_path)
    session.forks[slot] = event.fork
    session.resume_keys.pop(slot, None)
    if slot in session.unproven:
        session.unproven.remove(slot)
    if event.fork.point:
        session.points[slot] = event.fork.point
    else:
        session.points.pop(slot, None)
    session.updated_at = ts


def session_forked(state: State, _ts: str, event: e.SessionForked) -> None:
    session = state.sessions.get(event.session_key)
    if session is not None:
        session.forked_from = event.forked_from
        session.forked_after = event.after or None
