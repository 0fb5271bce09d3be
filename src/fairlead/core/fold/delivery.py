"""The rules for outbox entries: planned, delivered piece by piece, and removed."""

from msgspec.structs import replace

from fairlead.core import events as e
from fairlead.core.ids import ConversationAddress, JobId
from fairlead.core.retention import KEPT_UNDELIVERED, remove_entry
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
    entry.owed_on = state.lived_day
    if event.opening is not None:
        entry.opening = event.opening
    if event.kind == "sent":
        entry.text = event.text
        entry.files = event.files
    if event.asker:
        entry.asker = event.asker
        state.returning[event.entry_id] = 0
    if event.kind == "link":
        entry.link = event.link
        entry.error_code = event.error_code
    if event.notice is not None:
        entry.notice = event.notice
    if event.worktree is not None:
        entry.worktree = event.worktree
    if event.undo is not None:
        entry.undo = event.undo
        undo = state.undos.get(event.undo.undo_id)
        if undo is not None and event.undo.is_open:
            state.undos[undo.undo_id] = replace(undo, is_told_open=True)
    if event.kind == "reminder":
        entry.link = event.link
        question = state.questions.get(event.question_id)
        if question is not None:
            state.questions[event.question_id] = replace(question, reminded=True)


def delivery_planned(state: State, _ts: str, event: e.DeliveryPlanned) -> None:
    entry = state.outbox.get(event.entry_id)
    if entry is not None and entry.plan is None:
        entry.plan = event
        if event.reports and event.destination is not None:
            _forget_undelivered(state, event.destination.address, event.reports)


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


def delivery_deferred(state: State, ts: str, event: e.DeliveryDeferred) -> None:
    entry = state.outbox.get(event.entry_id)
    if entry is not None:
        entry.attempts = event.attempts
        entry.deferred_at = ts
        entry.due = event.due
        entry.last_error = event.error_code
        entry.must_wait = event.must_wait


def delivery_acknowledged(state: State, _ts: str, event: e.DeliveryAcknowledged) -> None:
    entry = state.outbox.get(event.entry_id)
    if entry is not None:
        remove_entry(state, entry)


def delivery_abandoned(state: State, _ts: str, event: e.DeliveryAbandoned) -> None:
    entry = state.outbox.get(event.entry_id)
    if entry is None:
        return
    remove_entry(state, entry)
    job = state.jobs.get(entry.job_id) if entry.kind == "answer" else None
    if job is not None:
        job.given_up = True
    plan = entry.plan
    if plan is None or plan.destination is None:
        return
    # The first piece reports older answers that were not delivered: people have read of them if that piece arrived.
    unreported = [*(() if "0" in entry.paid else plan.reports), *([entry.job_id] if entry.kind == "answer" else ())]
    if unreported:
        here = state.undelivered.setdefault(plan.destination.address, {})
        here.update(dict.fromkeys(unreported, state.lived_day))
        for oldest in list(here)[:-KEPT_UNDELIVERED]:
            del here[oldest]


def _forget_undelivered(state: State, address: ConversationAddress, jobs: tuple[JobId, ...]) -> None:
    here = state.undelivered.get(address)
    if here is None:
        return
    for job_id in jobs:
        here.pop(job_id, None)
    if not here:
        del state.undelivered[address]
