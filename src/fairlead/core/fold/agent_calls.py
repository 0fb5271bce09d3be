"""The rule for the calls that agents make of Fairlead's own tools."""

from typing import Final

from fairlead.core import events as e
from fairlead.core.state import State

KEPT_CALLS: Final = 100
"""Of each session: who repeats a call does so within seconds, and the rate limit lets fewer pass in a minute."""


def agent_tool_called(state: State, _ts: str, event: e.AgentToolCalled) -> None:
    state.agent_calls_made += 1
    session = state.sessions.get(event.session_key)
    if session is not None:
        session.calls.append(event.call_id)
        del session.calls[:-KEPT_CALLS]
