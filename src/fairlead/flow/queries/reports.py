"""Reports on sessions and projects, drawn from the state, and the session that a caller's command is about."""

from collections.abc import Callable, Sequence
from typing import Final

from fairlead.core import timestamps
from fairlead.core.ids import JobId
from fairlead.core.job_names import job_number
from fairlead.core.machines.places import machine_of
from fairlead.core.replies import JobRow, LastJob, ProjectReport, SessionRow, StatusReport, WorktreeRow
from fairlead.core.requests import Caller
from fairlead.core.state import RETRYABLE, Job, Project, Session, State, resume_slot, session_state
from fairlead.core.worktrees import Worktree
from fairlead.render.safe_text import one_line

ROW_LENGTH: Final = 80


def session_of_caller(state: State, caller: Caller, now: str) -> Session | None:
    """The session of this conversation; elsewhere the caller's most recently active one."""
    here = state.session_for(caller.conversation, caller.session_key, now)
    if here is not None:
        return here
    theirs = {j.session_key for j in state.jobs.values() if j.person == caller.person}
    active = [s for s in state.sessions.values() if s.session_key in theirs]
    return max(active, key=lambda s: s.last_activity_at, default=None)


def status_report(
    state: State, session: Session, *, can_ask: bool, most_running: int, away_since: Callable[[str], str]
) -> StatusReport:
    """`away_since` says of a machine since when it is not connected."""
    machine = machine_of(_directory_of(state, session))
    resume_key = session.resume_keys.get(resume_slot(session.runtime, _directory_of(state, session)))
    worktree = state.worktree_of(session.session_key, session.project)
    last = state.jobs.get(session.last_job_id or JobId(""))
    return StatusReport(
        session_id=session.session_id,
        session_key=session.session_key,
        session_key_name=session.session_key,
        project=session.project,
        tool=session.runtime,
        resume_key=resume_key,
        state=session_state(state, session),
        pending=len(session.queue),
        running_job_id=session.running_job_id or session.agent_job_id,
        last_job=_last_job(last) if last is not None else None,
        resume_ready=resume_key is not None,
        retry_job_id=last.job_id if last is not None and last.state in RETRYABLE else None,
        can_ask=can_ask,
        cost_usd=session.cost_usd,
        running_since=_running_since(state, session),
        all_running=len(state.running),
        most_running=most_running,
        handed_off_at=session.hand_off.at if session.hand_off is not None else "",
        worktree=None if worktree is None else worktree_row(state, worktree),
        machine=machine,
        machine_away_since=away_since(machine),
    )


def _directory_of(state: State, session: Session) -> str:
    project = state.projects.get(session.project)
    return "" if project is None else state.directory_of(session.session_key, project)


def _running_since(state: State, session: Session) -> str:
    running = state.jobs.get(session.running_job_id or session.agent_job_id or JobId(""))
    return "" if running is None else running.started_at or ""


def _last_job(job: Job) -> LastJob:
    finished = job.finished_at or job.enqueued_at
    seconds = timestamps.seconds_between(job.started_at, finished) if job.started_at else 0.0
    return LastJob(job.job_id, job.state, seconds, finished)


def job_row(job: Job, prompt: str, now: str) -> JobRow:
    until = now if job.is_live else job.finished_at or now
    return JobRow(
        job_id=job.job_id,
        number=job_number(job.job_id),
        state=job.state,
        prompt=one_line(prompt, ROW_LENGTH),
        project=job.project,
        tool=job.runtime or "",
        enqueued_at=job.enqueued_at,
        seconds=max(0.0, timestamps.seconds_between(job.started_at, until)) if job.started_at else 0.0,
        error_code=job.error_code or "",
    )


def project_report(state: State, project: Project, now: str) -> ProjectReport:
    sessions = [s for s in state.sessions.values() if s.project == project.name]
    ended = [state.jobs[j] for s in sessions for j in s.ended if j in state.jobs]
    since = timestamps.plus(now, -24 * 3600)
    failed = [j for j in ended if j.state in RETRYABLE]
    failed.sort(key=lambda j: j.finished_at or "")
    return ProjectReport(
        name=project.name,
        session_total=len(sessions),
        running_sessions=sum(1 for s in sessions if s.running_job_id or s.agent_job_id),
        queued_jobs=sum(len(s.queue) for s in sessions),
        failed_jobs_24h=sum(1 for j in failed if (j.finished_at or "") >= since),
        last_error=f"{failed[-1].error_code} ({failed[-1].job_id})" if failed else None,
    )


def worktree_row(state: State, worktree: Worktree) -> WorktreeRow:
    session = state.sessions.get(worktree.session_key)
    return WorktreeRow(
        number=worktree.number,
        session_id="" if session is None else session.session_id,
        project=worktree.project,
        branch=worktree.branch,
        path=_shown_path(worktree),
        status=worktree.status,
        target=worktree.target,
        merges=worktree.merges,
        error=worktree.error_message or worktree.error_code,
    )


def _shown_path(worktree: Worktree) -> str:
    """On another machine, where it is; where it is planned there, only that machine knows."""
    return (worktree.directory if machine_of(worktree.path) else "") or worktree.path


def session_row(state: State, session: Session) -> SessionRow:
    spawned = state.spawns.get(session.session_key)
    parent = None if spawned is None else state.sessions.get(spawned.parent_session_key)
    worktree = state.worktree_of(session.session_key, session.project)
    return SessionRow(
        session_id=session.session_id,
        session_key=session.session_key,
        project=session.project,
        state=session_state(state, session),
        last_activity_at=session.last_activity_at,
        conversation=session.conversation,
        parent_session_id="" if parent is None else parent.session_id,
        depth=0 if spawned is None else spawned.depth,
        branch="" if worktree is None else worktree.branch,
        path="" if worktree is None else _shown_path(worktree),
    )


def arrange_as_tree(rows: Sequence[SessionRow]) -> tuple[SessionRow, ...]:
    """In the same order, but spawned sessions right below the one that they were spawned from, if that is there too."""
    there = {row.session_id for row in rows}
    children: dict[str, list[SessionRow]] = {}
    for row in rows:
        children.setdefault(row.parent_session_id if row.parent_session_id in there else "", []).append(row)
    arranged: list[SessionRow] = []
    waiting = children.get("", [])[::-1]
    while waiting:
        row = waiting.pop()
        arranged.append(row)
        waiting += children.get(row.session_id, [])[::-1]
    return tuple(arranged)
