"""Deciding about what is owed: planned once, paid piece by piece, deferred, or given up openly."""

import msgspec

from fairlead.core import timestamps
from fairlead.core.decide.decision import NOTHING, Decision
from fairlead.core.decide.thread_start import begun, undone
from fairlead.core.events import (
    DeliveryAbandoned,
    DeliveryAcknowledged,
    DeliveryDeferred,
    DeliveryPlanned,
    Piece,
    PieceDelivered,
)
from fairlead.core.limits import Limits
from fairlead.core.routing import Destination
from fairlead.core.state import Debt, State
from fairlead.errors import Code


class PlanDelivery(msgspec.Struct, frozen=True):
    """`pieces` is empty where the client fetches for itself."""

    debt_id: str
    destination: Destination
    pieces: tuple[Piece, ...] = ()


class PayPiece(msgspec.Struct, frozen=True):
    debt_id: str
    index: int
    message_id: str


class DeferDelivery(msgspec.Struct, frozen=True):
    """`counts` is false while the whole channel is away: waiting for it is not a failed attempt."""

    debt_id: str
    wait_sec: float
    code: Code | None = None
    counts: bool = True


class Acknowledge(msgspec.Struct, frozen=True):
    debt_id: str


class Abandon(msgspec.Struct, frozen=True):
    debt_id: str
    code: Code
    reason: str


def plan_delivery(state: State, command: PlanDelivery, _now: str, _limits: Limits) -> Decision:
    debt = state.debts.get(command.debt_id)
    if debt is None or debt.plan is not None:
        return NOTHING
    to = command.destination
    planned = DeliveryPlanned(command.debt_id, to.conversation, to.mode, to.reason, command.pieces)
    if to.conversation is not None:
        return Decision((planned,), subject=command.debt_id)
    return Decision((planned, DeliveryAbandoned(command.debt_id, Code.E_UNDELIVERABLE, to.reason)))


def _debt_with_piece(state: State, debt_id: str, index: int) -> Debt | None:
    debt = state.debts.get(debt_id)
    if debt is None or debt.plan is None or not 0 <= index < len(debt.plan.pieces):
        return None
    return debt


def pay_piece(state: State, command: PayPiece, now: str, _limits: Limits) -> Decision:
    """In one batch with what the piece began: there is never an opening message whose session nobody knows."""
    debt = _debt_with_piece(state, command.debt_id, command.index)
    if debt is None or str(command.index) in debt.paid:
        return NOTHING
    paid = PieceDelivered(command.debt_id, command.index, command.message_id)
    return Decision((paid, *(begun(state, debt, command.message_id, now) if command.index == 0 else ())))


def defer_delivery(state: State, command: DeferDelivery, now: str, limits: Limits) -> Decision:
    debt = state.debts.get(command.debt_id)
    if debt is None:
        return NOTHING
    attempts = debt.attempts + (1 if command.counts else 0)
    code = command.code or Code.E_UNDELIVERABLE
    age = timestamps.seconds_between(debt.owed_at, now)
    if attempts >= limits.max_delivery_attempts or age > limits.delivery_patience_sec:
        reason = f"given up after {attempts} attempts and {age / 3600:.1f} hours"
        return _given_up(state, debt, code, reason)
    due = timestamps.plus(now, command.wait_sec)
    return Decision((DeliveryDeferred(command.debt_id, attempts, due, command.code or ""),))


def acknowledge(state: State, command: Acknowledge, _now: str, _limits: Limits) -> Decision:
    """A client may be quicker than the plan; what is planned in pieces is paid in pieces."""
    debt = state.debts.get(command.debt_id)
    if debt is None or (debt.plan is not None and not debt.awaits_fetching):
        return NOTHING
    return Decision((DeliveryAcknowledged(command.debt_id),))


def abandon(state: State, command: Abandon, _now: str, _limits: Limits) -> Decision:
    debt = state.debts.get(command.debt_id)
    return NOTHING if debt is None else _given_up(state, debt, command.code, command.reason)


def _given_up(state: State, debt: Debt, code: Code, reason: str) -> Decision:
    return Decision((*undone(state, debt), DeliveryAbandoned(debt.debt_id, code, reason)))
