"""The read models of `core/console_views.py`, made from the state for one caller. Pure; what the caller may not see is
left out. What a page asks for all the time costs as much as there is at work, and not as much as there was."""

from collections.abc import Iterator
from heapq import nlargest
from typing import Final

from fairlead.core import timestamps
from fairlead.core.console_views import (
    Board,
    BoardDelivery,
    BoardJob,
    BoardQuestion,
    MessageLine,
    MessagePage,
    OutcomeName,
    SessionLine,
    SessionPage,
    TurnUndo,
)
from fairlead.core.decide.undos import can_be_undone, undos_that_hold
from fairlead.core.ids import JobId, SessionKeyText
from fairlead.core.job_names import job_number
from fairlead.core.job_states import RETRYABLE
from fairlead.core.message_outcomes import Enqueued, decode_outcome
from fairlead.core.read_models import job_view, question_view, undo_reply
from fairlead.core.requests import Caller
from fairlead.core.spawn_tree import live_children
from fairlead.core.state import Job, OutboxEntry, Session, State, session_state
from fairlead.core.visibility import may_see

MOST_ROWS: Final = 50
BOARD_ROWS: Final = 20
"""How much of each list stands on the board, which is built again with every change."""
FAILURES_SHOWN_SEC: Final = 24 * 3600.0
_PROMPT_LENGTH: Final = 240
_STATES: Final[dict[OutcomeName, str]] = {
    "answered": "success",
    "failed": "failed",
    "cancelled": "cancelled",
    "unknown": "unknown_after_crash",
    "withdrawn": "withdrawn",
    "steered": "steered",
    "queued": "queued",
    "running": "running",
    "waiting": "waiting",
    "steering": "steering",
}


def session_title(session: Session | None) -> str:
    """What people see the session called; without a title, the person whose own it is, or its id."""
    if session is None:
        return ""
    key = session.key
    return session.title or (key.target_id if key.kind == "user" else session.session_id)


# --- what needs somebody


def board(state: State, caller: Caller, now: str) -> Board:
    queued = [(job_id, place) for job_id, place in _queued_places(state) if _sees_job(state, job_id, caller)]
    undelivered = [entry for entry in state.outbox.values() if _is_late(entry) and _sees_entry(state, entry, caller)]
    return Board(
        questions=tuple(_board_questions(state, caller)),
        running=tuple(
            _board_job(state, state.jobs[job_id])
            for job_id in (*state.waiting, *state.running)
            if may_see(state, state.jobs[job_id].session_key, caller)
        ),
        queued=tuple(_board_job(state, state.jobs[job_id], place) for job_id, place in queued[:BOARD_ROWS]),
        queued_total=len(queued),
        failed=tuple(_failed_rows(state, caller, timestamps.plus(now, -FAILURES_SHOWN_SEC))),
        undelivered=tuple(_board_delivery(state, entry) for entry in undelivered[:BOARD_ROWS]),
        undelivered_total=len(undelivered),
    )


def _board_questions(state: State, caller: Caller) -> Iterator[BoardQuestion]:
    for question in state.open_questions():
        if may_see(state, question.session_key, caller):
            session = state.sessions.get(question.session_key)
            yield BoardQuestion(
                question=question_view(state, question),
                session_id=_session_id(session),
                title=session_title(session),
            )


def _board_job(state: State, job: Job, position: int = 0) -> BoardJob:
    session = state.sessions.get(job.session_key)
    return BoardJob(
        job=job_view(state, job),
        session_id=_session_id(session),
        title=session_title(session),
        prompt=(job.prompt or job.result_excerpt or "")[:_PROMPT_LENGTH],
        position=position,
    )


def _queued_places(state: State) -> Iterator[tuple[JobId, int]]:
    for key in state.ready:
        for position, job_id in enumerate(state.sessions[key].queue):
            yield job_id, position


def _sees_job(state: State, job_id: JobId, caller: Caller) -> bool:
    return may_see(state, state.jobs[job_id].session_key, caller)


def _failed_rows(state: State, caller: Caller, since: str) -> list[BoardJob]:
    """The sessions whose last job failed lately, and in which nothing has been asked for since."""
    jobs, recent = state.jobs, list[Job]()
    for session in state.sessions.values():  # plain, because it looks at every session each time
        last = session.last_job_id
        if last is None or session.queue or session.running_job_id or session.last_activity_at < since:
            continue
        job = jobs.get(last)
        if job is not None and job.state in RETRYABLE and (job.finished_at or "") >= since:
            recent.append(job)
    seen = (job for job in recent if may_see(state, job.session_key, caller))
    shown = nlargest(BOARD_ROWS, seen, key=lambda j: (j.finished_at or "", j.job_id))
    return [_board_job(state, job) for job in shown]


def _is_late(entry: OutboxEntry) -> bool:
    """What is owed to an agent is not a person's, and what is being sent for the first time is on its way. A question
    that waits to be fetched stands among the questions."""
    return not entry.asker and (entry.attempts > 0 or (entry.awaits_fetching and entry.kind != "question"))


def _sees_entry(state: State, entry: OutboxEntry, caller: Caller) -> bool:
    return may_see(state, entry.session_key, caller)


def _board_delivery(state: State, entry: OutboxEntry) -> BoardDelivery:
    session = state.sessions.get(entry.session_key)
    planned = entry.plan.destination if entry.plan is not None else None
    return BoardDelivery(
        entry_id=entry.entry_id,
        kind=entry.kind,
        job_id=entry.job_id,
        session_id=_session_id(session),
        title=session_title(session),
        where=planned or entry.requester,
        owed_at=entry.owed_at,
        awaits_fetching=entry.awaits_fetching,
        attempts=entry.attempts,
        due=entry.due,
        last_error=entry.last_error,
    )


def _session_id(session: Session | None) -> str:
    return "" if session is None else session.session_id


# --- sessions


def session_page(state: State, caller: Caller, words: str, after: str, limit: int) -> SessionPage:
    """Most recently active first. All of the words must be in the session's names; `after` is a place in that order, as
    `following` of the page before says it."""
    wanted = words.lower().split()
    found = [s for s in state.sessions.values() if _fits(s, wanted) and may_see(state, s.session_key, caller)]
    behind = [s for s in found if not after or _place_of(s) < after]
    shown = nlargest(limit + 1, behind, key=_place_of)
    return SessionPage(
        sessions=tuple(session_line(state, session) for session in shown[:limit]),
        following=_place_of(shown[limit - 1]) if len(shown) > limit else "",
        total=len(found),
    )


def session_line(state: State, session: Session) -> SessionLine:
    spawned = state.spawns.get(session.session_key)
    parent = None if spawned is None else state.sessions.get(spawned.parent_session_key)
    return SessionLine(
        session_key=session.session_key,
        session_id=session.session_id,
        title=session_title(session),
        project=session.project,
        tool=session.runtime,
        state=session_state(state, session),
        last_activity_at=session.last_activity_at,
        pending=len(session.queue),
        cost_usd=session.cost_usd,
        parent_session_id=_session_id(parent),
    )


def session_children(state: State, session_key: str) -> list[SessionLine]:
    """The sessions that this one started and that have something to do; who sees this one sees them."""
    there = [state.sessions.get(SessionKeyText(key)) for key in live_children(state, SessionKeyText(session_key))]
    lines = [session_line(state, session) for session in there if session is not None]
    return sorted(lines, key=lambda line: line.session_id)


def _fits(session: Session, wanted: list[str]) -> bool:
    if not wanted:
        return True
    names = f"{session.title} {session.session_id} {session.session_key} {session.project} {session.runtime}".lower()
    return all(word in names for word in wanted)


def _place_of(session: Session) -> str:
    return f"{session.last_activity_at}~{session.session_id}"


def session_jobs(state: State, session_key: str) -> list[Job]:
    """The jobs of a session that the state has, oldest first; texts on their way into a turn are in no queue."""
    session = state.sessions.get(SessionKeyText(session_key))
    if session is None:
        return []
    on_their_way = [job_id for job_id in state.steering if state.jobs[job_id].session_key == session_key]
    live = (session.running_job_id, session.agent_job_id, *on_their_way, *session.queue)
    ids = dict.fromkeys((*session.ended, *(job_id for job_id in live if job_id is not None)))
    return sorted((state.jobs[job_id] for job_id in ids if job_id in state.jobs), key=lambda j: job_number(j.job_id))


def turn_undo(state: State, job_id: str) -> TurnUndo:
    job = state.jobs.get(JobId(job_id))
    if job is None:
        return TurnUndo()
    undone = undos_that_hold(state, job.session_key)
    mine = next((undo for undo in undone if undo.undo_id == (job.tree.undone_by if job.tree is not None else "")), None)
    return TurnUndo(
        can_undo=not job.is_live and can_be_undone(job),
        can_redo=mine is not None and mine is undone[-1],
        undone=None if mine is None else undo_reply(mine),
    )


# --- what became of messages


def message_page(state: State, caller: Caller, outcome: OutcomeName, limit: int = MOST_ROWS) -> MessagePage:
    """The account is everybody's: a guest is told how many of their own are still known."""
    sees_all = caller.pre_authorised or caller.person == state.owner_id
    if outcome in {"refused", "skipped"}:
        lines = _outcome_lines(state, outcome) if sees_all else []
        known = len(lines)
    else:
        jobs = [j for j in state.jobs.values() if j.state == _STATES[outcome] and may_see(state, j.session_key, caller)]
        latest = nlargest(limit, jobs, key=lambda j: job_number(j.job_id))
        lines = [_message_line(state, job) for job in latest]
        known = len(jobs)
    live = state.live_counts()
    counted = live[outcome] if outcome in live else getattr(state.account, outcome)
    return MessagePage(outcome=outcome, lines=tuple(lines[:limit]), counted=counted if sees_all else known)


def _message_line(state: State, job: Job) -> MessageLine:
    session = state.sessions.get(job.session_key)
    return MessageLine(
        message_id=job.message_id,
        job_id=job.job_id,
        session_id=_session_id(session),
        title=session_title(session),
        state=job.state,
        prompt=(job.prompt or job.result_excerpt or "")[:_PROMPT_LENGTH],
        at=job.enqueued_at,
        detail=job.error_code or "",
    )


def _outcome_lines(state: State, outcome: str) -> list[MessageLine]:
    """Messages that became no job, newest day first."""
    days = [state.outcomes_today, *reversed(state.outcomes_by_day.values())]
    lines: list[MessageLine] = []
    for day in days:
        for here in day.values():
            for message_id, stored in reversed(here.items()):
                if stored.startswith(f"{outcome} ") and not isinstance(decode_outcome(stored), Enqueued):
                    lines.append(MessageLine(message_id=message_id, detail=stored.partition(" ")[2]))
    return lines
