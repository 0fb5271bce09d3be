"""The rules for sessions of the agents' own: one is adopted, goes on in a shell, and is taken back."""

from fairlead.core import events as e
from fairlead.core.agent_sessions import HandOff
from fairlead.core.state import State, resume_slot


def session_adopted(state: State, ts: str, event: e.SessionAdopted) -> None:
    """What belonged to the agent's session before, such as a permission for the session, ends with it. The key of the
    adopted one is proven: if its agent does not know it, no other one may begin in its place."""
    session = state.sessions.get(event.session_key)
    if session is None or event.generation <= session.generation:
        return
    slot = resume_slot(event.runtime, event.project_path)
    session.generation = event.generation
    session.runtime = event.runtime
    session.resume_keys = {other: key for other, key in session.resume_keys.items() if key != event.key}
    session.resume_keys[slot] = event.key
    session.unproven = [other for other in session.unproven if other in session.resume_keys and other != slot]
    session.forks.pop(slot, None)
    session.points.pop(slot, None)
    session.rules = []
    session.updated_at = ts
    if session.titled_by != "person":
        session.titled_by = ""


def session_handed_off(state: State, ts: str, event: e.SessionHandedOff) -> None:
    session = state.sessions.get(event.session_key)
    if session is not None:
        session.hand_off = HandOff(
            runtime=event.runtime,
            project_path=event.project_path,
            key=event.key,
            person=event.person,
            at=ts,
            position=event.position,
        )
        session.updated_at = ts


def session_taken_back(state: State, ts: str, event: e.SessionTakenBack) -> None:
    session = state.sessions.get(event.session_key)
    if session is None:
        return
    hand_off, session.hand_off = session.hand_off, None
    session.updated_at = ts
    if hand_off is not None and (event.exchanges or event.unread):
        session.points.pop(resume_slot(hand_off.runtime, hand_off.project_path), None)
        session.outside_until = state.jobs_ended
