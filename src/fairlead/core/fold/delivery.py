"""What becomes of what is owed: planned, paid piece by piece, and settled."""

from fairlead.core import events as e
from fairlead.core.retention import settle
from fairlead.core.state import Debt, State


def delivery_owed(state: State, ts: str, event: e.DeliveryOwed) -> None:
    debt = state.debts[event.debt_id] = Debt(
        event.debt_id,
        event.kind,
        event.session_key,
        event.requester,
        ts,
        event.job_id,
        event.question_id,
        event.text,
        event.fail_closed,
    )
    if event.opening is not None:
        debt.opening = event.opening


def delivery_planned(state: State, ts: str, event: e.DeliveryPlanned) -> None:
    debt = state.debts.get(event.debt_id)
    if debt is not None and debt.plan is None:
        debt.plan = event
        debt.planned_at = ts


def piece_delivered(state: State, _ts: str, event: e.PieceDelivered) -> None:
    debt = state.debts.get(event.debt_id)
    plan = debt.plan if debt is not None else None
    if debt is None or plan is None:
        return
    to = plan.destination
    if to is not None:
        state.last_posts[f"{to.channel}/{to.account_id}/{to.conversation_id}"] = event.message_id
    if len(plan.pieces) == 1:  # nearly always, so nothing is written that goes in the next line
        settle(state, debt)
        return
    debt.paid[str(event.index)] = event.message_id
    if len(debt.paid) == len(plan.pieces):
        settle(state, debt)
    elif debt.attempts or debt.due:  # what was waited for is there: the next piece need not wait for it
        debt.attempts = 0
        debt.due = ""


def delivery_deferred(state: State, _ts: str, event: e.DeliveryDeferred) -> None:
    debt = state.debts.get(event.debt_id)
    if debt is not None:
        debt.attempts = event.attempts
        debt.due = event.due
        debt.last_error = event.error_code


def delivery_acknowledged(state: State, _ts: str, event: e.DeliveryAcknowledged) -> None:
    debt = state.debts.get(event.debt_id)
    if debt is not None:
        settle(state, debt)


def delivery_abandoned(state: State, _ts: str, event: e.DeliveryAbandoned) -> None:
    debt = state.debts.get(event.debt_id)
    if debt is not None:
        settle(state, debt)
