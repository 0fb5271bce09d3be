"""What leaves the state, and when. Rules of the fold: they depend on events and their times, never on a clock.

1. An ended job loses its prompt at once, and its answer when the debt for it is settled.
2. A session keeps its last 50 ended jobs and those of the last 7 days; a job whose answer is still owed stays.
3. A dedupe key is kept 14 days; then its message id raises its conversation's floor: at or below, nothing is taken.
4. A binding leaves when it ends, or 7 days after it expired. A settled debt leaves at once; an answer that no client
   fetched after 7 days; a question 7 days after its deadline.

Rules 2 to 4 are applied whenever a new day begins in the events: that bounds the state and costs nothing in between.
"""

from typing import Final

from fairlead.core import moments
from fairlead.core.state import Debt, Session, State, answer_debt_id

KEPT_ENDED_JOBS: Final = 50
KEPT_JOB_DAYS: Final = 7
KEPT_KEY_DAYS: Final = 14


def begin_day(state: State, ts: str) -> None:
    job_cutoff = moments.plus(ts, -KEPT_JOB_DAYS * 86400)
    key_cutoff = moments.plus(ts, -KEPT_KEY_DAYS * 86400)[:10]
    _turn_the_page(state, ts)
    for day in [d for d in state.keys_of_days if d < key_cutoff]:
        for key in state.keys_of_days.pop(day):
            _raise_floor(state, key)
    for session in state.sessions.values():
        _forget_ended_jobs(state, session, job_cutoff)
    for binding in list(state.bindings.values()):
        if binding.expires_at is not None and binding.expires_at < job_cutoff:
            unbind(state, binding.binding_id)
    for question in list(state.questions.values()):
        if question.deadline < job_cutoff and question.job_id not in state.waiting:
            del state.questions[question.question_id]
    for debt in list(state.debts.values()):
        if debt.awaits_fetching and debt.owed_at < job_cutoff:
            settle(state, debt)


def settle(state: State, debt: Debt) -> None:
    del state.debts[debt.debt_id]
    job = state.jobs.get(debt.job_id)
    if job is not None and debt.kind == "answer":
        job.answer = ""


def unbind(state: State, binding_id: str) -> None:
    binding = state.bindings.pop(binding_id, None)
    if binding is not None and state.bound.get(binding.conversation.address) == binding_id:
        del state.bound[binding.conversation.address]


def _turn_the_page(state: State, ts: str) -> None:
    if state.next_day and state.keys_of_today:
        state.keys_of_days[moments.plus(state.next_day, -1)[:10]] = state.keys_of_today
        state.keys_of_today = {}
    state.next_day = moments.plus(f"{ts[:10]}T00:00:00.000Z", 86400)


def _raise_floor(state: State, key: str) -> None:
    address, _, message_id = key.rpartition(":")
    if message_id.isdecimal() and int(message_id) > state.floors.get(address, -1):
        state.floors[address] = int(message_id)


def _forget_ended_jobs(state: State, session: Session, cutoff: str) -> None:
    spare = len(session.ended) - KEPT_ENDED_JOBS
    gone = 0
    while gone < spare:
        job_id = session.ended[gone]
        job = state.jobs.get(job_id)
        if (job is not None and (job.finished_at or "") >= cutoff) or answer_debt_id(job_id) in state.debts:
            break
        state.jobs.pop(job_id, None)
        gone += 1
    del session.ended[: max(gone, 0)]
