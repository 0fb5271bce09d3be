"""The rules for outbox entries: planned, delivered piece by piece, and removed."""

from fairlead.core import events as e
from fairlead.core.ids import ConversationAddress
from fairlead.core.retention import remove_entry
from fairlead.core.state import OutboxEntry, State


def delivery_owed(state: State, ts: str, event: e.DeliveryOwed) -> None:
    entry = state.outbox[event.entry_id] = OutboxEntry(
        entry_id=event.entry_id,
        kind=event.kind,
        session_key=event.session_key,
        requester=event.requester,
        owed_at=ts,
        job_id=event.job_id,
        question_id=event.question_id,
        fail_closed=event.fail_closed,
    )
    if event.opening is not None:
        entry.opening = event.opening


def delivery_planned(state: State, ts: str, event: e.DeliveryPlanned) -> None:
    entry = state.outbox.get(event.entry_id)
    if entry is not None and entry.plan is None:
        entry.plan = event
        entry.planned_at = ts


def piece_delivered(state: State, _ts: str, event: e.PieceDelivered) -> None:
    entry = state.outbox.get(event.entry_id)
    plan = entry.plan if entry is not None else None
    if entry is None or plan is None:
        return
    to = plan.destination
    if to is not None:
        address = ConversationAddress(f"{to.channel}/{to.account_id}/{to.conversation_id}")
        state.last_posts[address] = event.message_id
    if len(plan.pieces) == 1:  # the usual case: the entry goes at once, so its fields need no update
        remove_entry(state, entry)
        return
    entry.paid[str(event.index)] = event.message_id
    if len(entry.paid) == len(plan.pieces):
        remove_entry(state, entry)
    elif entry.attempts or entry.due:  # the channel takes messages again: the next piece need not wait
        entry.attempts = 0
        entry.due = ""


def delivery_deferred(state: State, _ts: str, event: e.DeliveryDeferred) -> None:
    entry = state.outbox.get(event.entry_id)
    if entry is not None:
        entry.attempts = event.attempts
        entry.due = event.due
        entry.last_error = event.error_code
        entry.must_wait = event.must_wait


def delivery_acknowledged(state: State, _ts: str, event: e.DeliveryAcknowledged) -> None:
    entry = state.outbox.get(event.entry_id)
    if entry is not None:
        remove_entry(state, entry)


def delivery_abandoned(state: State, _ts: str, event: e.DeliveryAbandoned) -> None:
    entry = state.outbox.get(event.entry_id)
    if entry is not None:
        remove_entry(state, entry)
