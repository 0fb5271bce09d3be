"""Deciding about outbox entries: planned once, delivered piece by piece, deferred, or given up openly."""

import msgspec

from fairlead.core import timestamps
from fairlead.core.decide.decision import NOTHING, Decision
from fairlead.core.decide.sessions import touch_events
from fairlead.core.decide.thread_start import discard_events, session_events, task_events
from fairlead.core.events import (
    DeliveryAbandoned,
    DeliveryAcknowledged,
    DeliveryDeferred,
    DeliveryPlanned,
    Piece,
    PieceDelivered,
)
from fairlead.core.ids import BindingId, EntryId, JobId, MessageId
from fairlead.core.limits import Limits
from fairlead.core.retention import CLOCK_MAY_BE_AHEAD_DAYS
from fairlead.core.routing import Destination
from fairlead.core.state import OutboxEntry, State
from fairlead.errors import Code


class PlanDelivery(msgspec.Struct, frozen=True):
    """`pieces` is empty where the client fetches for itself. `reports` names the jobs of which the pieces say that
    their answers could not be delivered."""

    entry_id: EntryId
    destination: Destination
    pieces: tuple[Piece, ...] = ()
    reports: tuple[JobId, ...] = ()


class MarkPieceSent(msgspec.Struct, frozen=True):
    entry_id: EntryId
    index: int
    message_id: MessageId


class DeferDelivery(msgspec.Struct, frozen=True, kw_only=True):
    """`counts` is false while the channel is away: waiting for it is not a failed attempt, and makes no pause longer.
    `must_wait` is true where the channel itself named the time to wait."""

    entry_id: EntryId
    wait_sec: float
    code: Code | None = None
    counts: bool = True
    must_wait: bool = False


class Acknowledge(msgspec.Struct, frozen=True):
    entry_id: EntryId


class AbandonDelivery(msgspec.Struct, frozen=True):
    entry_id: EntryId
    code: Code
    reason: str


def plan_delivery(state: State, command: PlanDelivery, _now: str, _limits: Limits) -> Decision:
    entry = state.outbox.get(command.entry_id)
    if entry is None or entry.plan is not None:
        return NOTHING
    to = command.destination
    planned = DeliveryPlanned(
        entry_id=command.entry_id,
        destination=to.conversation,
        route=to.mode,
        reason=to.reason,
        pieces=command.pieces,
        reports=command.reports,
    )
    if entry.kind == "card" and not command.pieces:
        # A client that fetches reads what changed in the job itself.
        return Decision((planned, DeliveryAcknowledged(command.entry_id)))
    if to.conversation is not None:
        return Decision((planned,))
    return Decision((planned, DeliveryAbandoned(command.entry_id, Code.E_UNDELIVERABLE, to.reason)))


def _entry_with_piece(state: State, entry_id: EntryId, index: int) -> OutboxEntry | None:
    entry = state.outbox.get(entry_id)
    if entry is None or entry.plan is None or not 0 <= index < len(entry.plan.pieces):
        return None
    return entry


def mark_piece_sent(state: State, command: MarkPieceSent, now: str, limits: Limits) -> Decision:
    """In one batch with the session that the piece opens: no opening message is marked as sent without its session.

    A piece that arrived is activity of its conversation: it moves the expiry of the binding there (requirement D1)."""
    entry = _entry_with_piece(state, command.entry_id, command.index)
    if entry is None or str(command.index) in entry.paid:
        return NOTHING
    paid = PieceDelivered(command.entry_id, command.index, command.message_id)
    started = session_events(state, entry, command.message_id, now, limits) if command.index == 0 else ()
    if entry.plan is not None and command.index == len(entry.plan.pieces) - 1 and "0" in entry.paid:
        started = task_events(state, entry, entry.paid["0"], now)
    to = entry.plan.destination if entry.plan is not None else None
    binding_id = state.bound.get(to.address, BindingId("")) if to is not None else BindingId("")
    return Decision((paid, *started, *touch_events(state, binding_id, now, active_at=now)))


def defer_delivery(state: State, command: DeferDelivery, now: str, limits: Limits) -> Decision:
    """Time alone decides when an entry is given up: a ban or an outage uses up any number of attempts. Days
    count as they are lived through, as they do in `retention`: no clock that jumps makes anybody give up."""
    entry = state.outbox.get(command.entry_id)
    if entry is None:
        return NOTHING
    attempts = entry.attempts + (1 if command.counts else 0)
    code = command.code or Code.E_UNDELIVERABLE
    days = state.lived_day - entry.owed_on
    if days > limits.delivery_patience_days + CLOCK_MAY_BE_AHEAD_DAYS:
        reason = f"abandoned after {attempts} attempts in {days} days"
        return _give_up(state, entry, code, reason)
    due = timestamps.plus(now, command.wait_sec)
    deferred = DeliveryDeferred(
        entry_id=command.entry_id,
        attempts=attempts,
        due=due,
        error_code=command.code or "",
        must_wait=command.must_wait,
    )
    return Decision((deferred,))


def acknowledge(state: State, command: Acknowledge, _now: str, _limits: Limits) -> Decision:
    """A client may fetch before there is a plan; an entry that is planned in pieces is delivered in pieces."""
    entry = state.outbox.get(command.entry_id)
    if entry is None or (entry.plan is not None and not entry.awaits_fetching):
        return NOTHING
    return Decision((DeliveryAcknowledged(command.entry_id),))


def abandon_delivery(state: State, command: AbandonDelivery, _now: str, _limits: Limits) -> Decision:
    entry = state.outbox.get(command.entry_id)
    return NOTHING if entry is None else _give_up(state, entry, command.code, command.reason)


def _give_up(state: State, entry: OutboxEntry, code: Code, reason: str) -> Decision:
    return Decision((*discard_events(state, entry, code), DeliveryAbandoned(entry.entry_id, code, reason)))
