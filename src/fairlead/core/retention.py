"""When jobs, keys, bindings and entries leave the state.

These are rules of the fold: they depend on events and their times, never on a clock. And no single time is trusted,
because a clock may be wrong for a moment: days are counted as they are lived through (`State.lived_day`). An event on a
later date is one day more, however much later it says it is; an event on an earlier date is one day less. So a clock
that jumps and comes back has moved the count by nothing, and while it is wrong, by one day at most: that day is added
to what is promised below. Days without any event do not count.

1. An ended job loses its prompt at once, and its answer when its outbox entry is gone.
2. A session keeps its last 50 ended jobs and those of the last 7 days; a job whose answer is still owed stays.
3. A dedupe key is kept 14 days; then its message id raises its conversation's floor: at or below, nothing is taken.
4. A binding leaves when it ends, or 7 days after it was last touched, once it expired. A delivered outbox entry leaves
   at once; an answer that no client fetched after 7 days; a question after 7 days, unless its job still waits.
   So does a schedule that fired once, 7 days after it did.
5. A session that was spawned without a thread leaves, with its jobs, when it has done nothing for 7 days, its last
   words are delivered, it has no schedule, no worktree, and no session is below it: nobody can talk to it.
6. What is kept of a discarded worktree leaves 7 days after it was discarded. An undo leaves with the last of its jobs.
7. That an answer was given up is told with the next delivery there: of each conversation the last 20 are kept, 30 days.

Rules 2 to 7 are applied whenever a new day begins in the events: that bounds the state and costs nothing in between.
"""

from collections import Counter
from collections.abc import Iterable
from datetime import date, timedelta
from typing import Final

from fairlead.core.ids import BindingId, SessionKeyText
from fairlead.core.state import OutboxEntry, Session, State, answer_entry_id

KEPT_ENDED_JOBS: Final = 50
KEPT_JOB_DAYS: Final = 7
KEPT_KEY_DAYS: Final = 14
KEPT_UNDELIVERED: Final = 20
KEPT_UNDELIVERED_DAYS: Final = 30
MAX_RISING_DIGITS: Final = 20
"""Enough for any 64-bit id or counter; a longer run of digits is a client's random key, and slow to compare."""

_ONE_DAY: Final = timedelta(days=1)
CLOCK_MAY_BE_AHEAD_DAYS: Final = 1
"""A clock that is wrong at this moment has counted so many days too many."""


def change_day(state: State, ts: str) -> None:
    """An event has another date than the one before it."""
    today = date.fromisoformat(ts[:10])
    is_later = ts >= state.next_day
    _close_day(state)
    if state.next_day:
        state.lived_day += 1 if is_later else -1
    state.day_start = f"{today}T00:00:00.000Z"
    state.next_day = f"{today + _ONE_DAY}T00:00:00.000Z" if today < date.max else "~"
    if is_later:
        _forget_what_is_old(state, ts)


def _forget_what_is_old(state: State, ts: str) -> None:
    oldest = state.lived_day - KEPT_JOB_DAYS - CLOCK_MAY_BE_AHEAD_DAYS
    _raise_floors(state, state.lived_day - KEPT_KEY_DAYS - CLOCK_MAY_BE_AHEAD_DAYS)
    for session in state.sessions.values():
        if len(session.ended) > KEPT_ENDED_JOBS:
            _forget_ended_jobs(state, session, oldest)
    for binding in list(state.bindings.values()):
        if binding.expires_at is not None and binding.expires_at < ts and binding.touched_on < oldest:
            unbind(state, binding.binding_id)
    for question in list(state.questions.values()):
        if question.asked_on < oldest and question.job_id not in state.waiting:
            del state.questions[question.question_id]
    for entry in list(state.outbox.values()):
        if entry.awaits_fetching and entry.owed_on < oldest:
            remove_entry(state, entry)
    for schedule in [s for s in state.schedules.values() if s.status == "done" and s.done_on < oldest]:
        del state.schedules[schedule.number]
    for discarded in [d for d in state.discarded_worktrees.values() if d.discarded_on < oldest]:
        del state.discarded_worktrees[discarded.number]
    _forget_spawned_sessions(state, oldest)
    for undo in [u for u in state.undos.values() if u.is_over and not any(j in state.jobs for j in u.job_ids)]:
        del state.undos[undo.undo_id]
    _forget_old_undelivered(state, state.lived_day - KEPT_UNDELIVERED_DAYS - CLOCK_MAY_BE_AHEAD_DAYS)


def _forget_spawned_sessions(state: State, oldest: int) -> None:
    """The newest first, so that those below are gone before the one above is looked at."""
    needed_by = Counter(spawned.parent_session_key for spawned in state.spawns.values())
    needed_by.update(schedule.terms.session_key for schedule in state.schedules.values())
    needed_by.update(worktree.session_key for worktree in state.worktrees.values())
    for spawned in reversed(list(state.spawns.values())):
        session = state.sessions[spawned.session_key]
        if spawned.returns == "thread" or needed_by[spawned.session_key] or not _is_long_over(state, session, oldest):
            continue
        needed_by[spawned.parent_session_key] -= 1
        for job_id in session.ended:
            state.jobs.pop(job_id, None)
        del state.sessions[spawned.session_key]
        forget_spawn(state, spawned.session_key)


def _is_long_over(state: State, session: Session, oldest: int) -> bool:
    if session.queue or session.running_job_id or session.agent_job_id or session.hand_off is not None:
        return False
    ended = (state.jobs[job_id] for job_id in session.ended if job_id in state.jobs)
    return all(job.ended_on < oldest and answer_entry_id(job.job_id) not in state.outbox for job in ended)


def forget_spawn(state: State, session_key: SessionKeyText) -> None:
    spawned = state.spawns.pop(session_key, None)
    if spawned is not None and state.spawn_requests.get(spawned.asked_by) == session_key:
        del state.spawn_requests[spawned.asked_by]


def _forget_old_undelivered(state: State, oldest: int) -> None:
    for address, jobs in list(state.undelivered.items()):
        kept = {job_id: given_up_on for job_id, given_up_on in jobs.items() if given_up_on >= oldest}
        if kept:
            state.undelivered[address] = kept
        else:
            del state.undelivered[address]


def remove_entry(state: State, entry: OutboxEntry) -> None:
    del state.outbox[entry.entry_id]
    if entry.asker:
        state.returning.pop(entry.entry_id, None)
    if entry.kind == "answer":
        job = state.jobs.get(entry.job_id)
        if job is not None:
            job.answer = ""


def unbind(state: State, binding_id: BindingId) -> None:
    binding = state.bindings.pop(binding_id, None)
    if binding is not None and state.bound.get(binding.conversation.address) == binding_id:
        del state.bound[binding.conversation.address]


def _close_day(state: State) -> None:
    """A day that was closed before, because the clock went back since, gets the outcomes of both."""
    closed = state.outcomes_by_day.setdefault(str(state.lived_day), {}) if state.outcomes_today else {}
    for address, outcomes in state.outcomes_today.items():
        closed.setdefault(address, {}).update(outcomes)
    state.outcomes_today = {}


def _raise_floors(state: State, oldest: int) -> None:
    floors = state.dedupe_floors
    for day in [d for d in state.outcomes_by_day if int(d) < oldest]:
        for address, outcomes in state.outcomes_by_day.pop(day).items():
            highest = highest_rising(outcomes)
            if highest > floors.get(address, -1):
                floors[address] = highest


def highest_rising(message_ids: Iterable[str]) -> int:
    """-1 if none of them is a number that rises. The test is that of `is_rising`, without a call for each message."""
    return max([int(i) for i in message_ids if len(i) <= MAX_RISING_DIGITS and i.isdecimal()], default=-1)


def is_rising(message_id: str) -> bool:
    """Whether a channel numbers its messages so that later ones are higher: a decimal number of at most 20 digits."""
    return len(message_id) <= MAX_RISING_DIGITS and message_id.isdecimal()


def _forget_ended_jobs(state: State, session: Session, oldest: int) -> None:
    jobs, outbox = state.jobs, state.outbox
    gone = 0
    for job_id in session.ended[:-KEPT_ENDED_JOBS]:
        job = jobs.get(job_id)
        if (job is not None and job.ended_on >= oldest) or (outbox and answer_entry_id(job_id) in outbox):
            break
        jobs.pop(job_id, None)
        gone += 1
    del session.ended[:gone]
