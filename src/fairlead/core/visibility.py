"""Who may see which session, and which standing rules: a person's own session is for that person and the owner. Reads
no text."""

from fairlead.core.ids import SessionKeyText
from fairlead.core.keys import parse_session_key
from fairlead.core.requests import Caller
from fairlead.core.rules import StandingRule
from fairlead.core.state import State


def may_see(state: State, session_key: SessionKeyText, caller: Caller) -> bool:
    """Channels and threads are shared by all allowed people; a user's own session is not, and neither is one that was
    spawned from it without a thread."""
    if caller.pre_authorised or caller.person == state.owner_id:
        return True
    spawned = state.spawns.get(session_key)
    if spawned is not None and spawned.returns != "thread" and spawned.parent_session_key:
        return may_see(state, spawned.parent_session_key, caller)
    key = parse_session_key(session_key)
    return key is None or key.kind != "user" or key.target_id == caller.person


def visible_rules(state: State, caller: Caller) -> list[StandingRule]:
    """A rule repeats what an agent asked for in the session where the rule was made: who may see that may see this."""
    return [rule for rule in state.rules.values() if may_see(state, rule.session_key, caller)]
