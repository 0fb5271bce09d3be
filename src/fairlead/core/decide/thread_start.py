"""Deciding about sessions that begin in a thread of their own: first an opening message goes into the
outbox, and the id that its channel gives it names the session. So every thread that exists is in the journal."""

from typing import Final

import msgspec

from fairlead.core.conversation import ConversationRef
from fairlead.core.decide.decision import Decision, refuse
from fairlead.core.decide.sessions import binding_events, project_and_runtime
from fairlead.core.events import (
    BindingEnded,
    DeliveryOwed,
    JournalEvent,
    SessionCreated,
    SessionDiscarded,
    ThreadOpening,
)
from fairlead.core.ids import NO_SESSION, MessageId
from fairlead.core.keys import SessionKey, thread_key
from fairlead.core.limits import Limits
from fairlead.core.state import OutboxEntry, State, thread_start_entry_id
from fairlead.errors import Code, FairleadError

_NO_THREAD: Final = "its thread could not be created"


class StartThread(msgspec.Struct, frozen=True, kw_only=True):
    """`conversation` and `session_key` are those of the text channel that the thread shall grow in."""

    asked_by: str
    conversation: ConversationRef
    session_key: SessionKey
    person: str
    project: str | None = None
    runtime: str | None = None


def start_thread(state: State, command: StartThread, _now: str, _limits: Limits) -> Decision:
    entry_id = thread_start_entry_id(command.asked_by)
    if entry_id in state.outbox:
        return Decision(entry_id=entry_id, duplicate=True)
    key = command.session_key
    if key.kind != "channel" or key.space_id is None:
        return refuse(Code.E_NOT_IN_TEXT_CHANNEL)
    chosen = project_and_runtime(state, command.person, command.project, command.runtime)
    if isinstance(chosen, FairleadError):
        return Decision(refusal=chosen)
    project, runtime = chosen
    opening = ThreadOpening(
        asked_by=command.asked_by,
        person=command.person,
        project=project.name,
        runtime=runtime,
        agent_id=key.agent_id,
        space_id=key.space_id,
    )
    return Decision(
        (
            DeliveryOwed(
                entry_id=entry_id,
                kind="opening",
                session_key=NO_SESSION,
                requester=command.conversation,
                opening=opening,
            ),
        ),
        entry_id=entry_id,
    )


def thread_of(entry: OutboxEntry, message_id: MessageId) -> SessionKey | None:
    """The session that this message opens; None if it is not one that opens anything."""
    opening = entry.opening
    if opening is None:
        return None
    return thread_key(agent_id=opening.agent_id, space_id=opening.space_id, thread_id=message_id)


def session_events(state: State, entry: OutboxEntry, message_id: MessageId, now: str) -> tuple[JournalEvent, ...]:
    """The opening message stands: the session and its binding, before the thread itself is made."""
    opening, key = entry.opening, thread_of(entry, message_id)
    if opening is None or key is None or key.text in state.sessions:
        return ()
    parent = entry.requester
    there = ConversationRef(parent.channel, parent.account_id, message_id, parent.conversation_id)
    created = SessionCreated(
        session_key=key.text,
        session_id=key.session_id,
        project=opening.project,
        runtime=opening.runtime,
        conversation=there,
        person=opening.person,
    )
    return (created, *binding_events(state, key.text, there, now))


def discard_events(state: State, entry: OutboxEntry) -> tuple[JournalEvent, ...]:
    """The thread can never be made: nothing stays bound to it, and its session was never talked to."""
    key = thread_of(entry, entry.paid["0"]) if "0" in entry.paid else None
    if key is None or key.text not in state.sessions:
        return ()
    bound = [b.binding_id for b in state.bindings.values() if b.target_session_key == key.text]
    ended = (BindingEnded(binding_id, _NO_THREAD) for binding_id in bound)
    return (*ended, SessionDiscarded(key.text, _NO_THREAD))
