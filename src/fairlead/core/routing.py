"""Decides where an outbox entry goes, always with a reason. Knows nothing of its text."""

import msgspec

from fairlead.core.conversation import ConversationRef, SessionBindingRecord
from fairlead.core.events import Route
from fairlead.core.ids import SessionKeyText
from fairlead.core.state import State


class Destination(msgspec.Struct, frozen=True):
    binding: SessionBindingRecord | None
    mode: Route
    reason: str
    conversation: ConversationRef | None


def requester_destination(requester: ConversationRef) -> Destination:
    """A thread is started where it was asked for: its session has no binding yet. A link goes to where the session was
    asked for, a reminder to the person that it reminds."""
    return Destination(None, "asked", "it goes to where it was asked for", requester)


def resolve_destination(
    state: State, *, target_session_key: SessionKeyText, requester: ConversationRef | None, fail_closed: bool, now: str
) -> Destination:
    """The requester's own binding; else the only one; else, openly, back to the requester; else nowhere.

    `fail_closed` is for requirement D2: such an entry goes to a binding or nowhere."""
    own = None if requester is None else state.binding_at(requester, now)
    if own is not None and own.target_session_key == target_session_key:
        return Destination(own, "bound", "the requester's own binding", own.conversation)
    live = [b for b in state.bindings.values() if b.target_session_key == target_session_key and b.is_live(now)]
    if len(live) == 1:
        return Destination(live[0], "bound", "the session's only binding", live[0].conversation)
    why = "several bindings, none of them the requester's" if live else "no active binding"
    if fail_closed:
        return Destination(None, "nowhere", f"{why}; fail_closed forbids a fallback", None)
    if requester is None:
        return Destination(None, "nowhere", f"{why}, and no requester to fall back to", None)
    return Destination(None, "fallback", f"{why}; back to the requester", requester)
