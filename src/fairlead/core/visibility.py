"""Who may see which session, and which standing rules: a person's own session is for that person and the owner. Reads
no text."""

from fairlead.core.forks import FORK_SPACE
from fairlead.core.hooks import HOOK_SPACE
from fairlead.core.ids import SessionKeyText
from fairlead.core.keys import parse_session_key
from fairlead.core.requests import Caller
from fairlead.core.rules import StandingRule
from fairlead.core.spawn_tree import find_place
from fairlead.core.spawns import NO_THREAD_SPACE
from fairlead.core.state import State


def may_see(state: State, session_key: SessionKeyText, caller: Caller) -> bool:
    """Channels and threads are shared by all allowed people; a user's own session is not, and neither is one that was
    spawned from it without a thread. A schedule's or a hook's is seen by those who see the session in which it was
    made."""
    if caller.pre_authorised or caller.person == state.owner_id:
        return True
    above = find_place(state, session_key)
    if above:
        return may_see(state, above, caller)
    key = parse_session_key(session_key)
    if key is not None and (key.kind == "schedule" or key.space_id in {NO_THREAD_SPACE, HOOK_SPACE, FORK_SPACE}):
        return False  # the state has forgotten it, and with it, whose it was
    return key is None or key.kind != "user" or key.target_id == caller.person


def visible_rules(state: State, caller: Caller) -> list[StandingRule]:
    """A rule repeats what an agent asked for in the session where the rule was made: who may see that may see this."""
    return [rule for rule in state.rules.values() if may_see(state, rule.session_key, caller)]
