"""Who may see which session: a person's own session is for that person and the owner. Reads no text."""

from fairlead.core.ids import SessionKeyText
from fairlead.core.keys import parse_session_key
from fairlead.core.requests import Caller
from fairlead.core.state import State


def may_see(state: State, session_key: SessionKeyText, caller: Caller) -> bool:
    """Channels and threads are shared by all allowed people; a user's own session is not."""
    if caller.pre_authorised or caller.person == state.owner_id:
        return True
    key = parse_session_key(session_key)
    return key is None or key.kind != "user" or key.target_id == caller.person
