"""When jobs, keys, bindings and entries leave the state.

These are rules of the fold: they depend on events and their times, never on a clock.

1. An ended job loses its prompt at once, and its answer when its outbox entry is gone.
2. A session keeps its last 50 ended jobs and those of the last 7 days; a job whose answer is still owed stays.
3. A dedupe key is kept 14 days; then its message id raises its conversation's floor: at or below, nothing is taken.
4. A binding leaves when it ends, or 7 days after it expired. A delivered outbox entry leaves at once;
   an answer that no client fetched after 7 days; a question 7 days after its deadline.

Rules 2 to 4 are applied whenever a new day begins in the events: that bounds the state and costs nothing in between.
"""

from collections.abc import Iterable
from datetime import date, timedelta
from typing import Final

from fairlead.core.ids import BindingId
from fairlead.core.state import OutboxEntry, Session, State, answer_entry_id

KEPT_ENDED_JOBS: Final = 50
KEPT_JOB_DAYS: Final = 7
KEPT_KEY_DAYS: Final = 14
MAX_RISING_DIGITS: Final = 20
"""Enough for any 64-bit id or counter; a longer run of digits is a client's random key, and slow to compare."""

_ONE_DAY: Final = timedelta(days=1)


def begin_day(state: State, ts: str) -> None:
    today = date.fromisoformat(ts[:10])
    job_cutoff = f"{today - timedelta(days=KEPT_JOB_DAYS)}{ts[10:]}"
    _close_day(state, today)
    _raise_floors(state, today)
    for session in state.sessions.values():
        if len(session.ended) > KEPT_ENDED_JOBS:
            _forget_ended_jobs(state, session, job_cutoff)
    for binding in list(state.bindings.values()):
        if binding.expires_at is not None and binding.expires_at < job_cutoff:
            unbind(state, binding.binding_id)
    for question in list(state.questions.values()):
        if question.deadline < job_cutoff and question.job_id not in state.waiting:
            del state.questions[question.question_id]
    for entry in list(state.outbox.values()):
        if entry.awaits_fetching and entry.owed_at < job_cutoff:
            remove_entry(state, entry)


def remove_entry(state: State, entry: OutboxEntry) -> None:
    del state.outbox[entry.entry_id]
    if entry.kind == "answer":
        job = state.jobs.get(entry.job_id)
        if job is not None:
            job.answer = ""


def unbind(state: State, binding_id: BindingId) -> None:
    binding = state.bindings.pop(binding_id, None)
    if binding is not None and state.bound.get(binding.conversation.address) == binding_id:
        del state.bound[binding.conversation.address]


def _close_day(state: State, today: date) -> None:
    if state.next_day and state.outcomes_today:
        last_day = date.fromisoformat(state.next_day[:10]) - _ONE_DAY
        state.outcomes_by_day[last_day.isoformat()] = state.outcomes_today
        state.outcomes_today = {}
    state.next_day = f"{today + _ONE_DAY}T00:00:00.000Z"


def _raise_floors(state: State, today: date) -> None:
    cutoff = (today - timedelta(days=KEPT_KEY_DAYS)).isoformat()
    floors = state.dedupe_floors
    for day in [d for d in state.outcomes_by_day if d < cutoff]:
        for address, outcomes in state.outcomes_by_day.pop(day).items():
            highest = highest_rising(outcomes)
            if highest > floors.get(address, -1):
                floors[address] = highest


def highest_rising(message_ids: Iterable[str]) -> int:
    """-1 if none of them is a number that rises."""
    return max([int(i) for i in message_ids if is_rising(i)], default=-1)


def is_rising(message_id: str) -> bool:
    """Whether a channel numbers its messages so that later ones are higher: a decimal number of at most 20 digits."""
    return len(message_id) <= MAX_RISING_DIGITS and message_id.isdecimal()


def _forget_ended_jobs(state: State, session: Session, cutoff: str) -> None:
    jobs, outbox = state.jobs, state.outbox
    gone = 0
    for job_id in session.ended[:-KEPT_ENDED_JOBS]:
        job = jobs.get(job_id)
        if (job is not None and (job.finished_at or "") >= cutoff) or (outbox and answer_entry_id(job_id) in outbox):
            break
        jobs.pop(job_id, None)
        gone += 1
    del session.ended[:gone]
