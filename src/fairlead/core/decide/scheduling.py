"""Deciding what runs next: FIFO within a session, fairness between sessions, never more than the slots there are."""

from collections import Counter

import msgspec

from fairlead.core import message_ids
from fairlead.core.decide.budget_state import is_spent, project_of_next
from fairlead.core.decide.decision import NOTHING, Decision, refuse
from fairlead.core.decide.messages import new_job_id
from fairlead.core.decide.projects import runtime_to_keep
from fairlead.core.events import (
    JobContinued,
    JobEnqueued,
    JobHandedOver,
    JobProgress,
    JobStarted,
    ResumeKeyForgotten,
    ResumeKeyLearnt,
)
from fairlead.core.ids import JobId, ResumeKey, SessionKeyText
from fairlead.core.limits import Limits
from fairlead.core.machines.places import machine_of
from fairlead.core.state import Job, Session, State, resume_slot
from fairlead.core.worktrees import UNSETTLED
from fairlead.errors import Code


class StartNext(msgspec.Struct, frozen=True):
    """Give the next free slot to the job whose turn it is; `held` jobs may not start yet. The agents of the runtimes in
    `told_of_hand_over` get their prompt later than the start, by HandOver."""

    held: frozenset[JobId] = frozenset()
    told_of_hand_over: frozenset[str] = frozenset()
    away: frozenset[str] = frozenset()
    """Other machines that are not there: jobs of their projects wait."""


class BeginAgentTurn(msgspec.Struct, frozen=True):
    """The agent began a turn by itself: it is running already and asks for no slot. `runtime` is the agent's: a person
    may have chosen another one for the session meanwhile."""

    session_key: SessionKeyText
    generation: int
    turn_id: str
    runtime: str = ""


class HandOver(msgspec.Struct, frozen=True):
    """The agent of this job is given its prompt as soon as this is durable."""

    job_id: JobId
    machine_time: str = ""
    taken_at: str = ""


class LearnResumeKey(msgspec.Struct, frozen=True):
    job_id: JobId
    key: ResumeKey


class ForgetResumeKey(msgspec.Struct, frozen=True):
    """The tool says that it does not know the session that this key names."""

    job_id: JobId


class ReportProgress(msgspec.Struct, frozen=True):
    job_id: JobId
    tools_started: int


def start_next(state: State, command: StartNext, now: str, limits: Limits) -> Decision:
    full = _full_machines(state, limits)
    if "" in full and not state.machines:
        return NOTHING
    continued = next((job_id for job_id in state.waiting if _may_continue(state, job_id, full)), None)
    if continued is not None:
        return Decision((JobContinued(continued),), job_id=continued)
    today = limits.days.day_of(now) if state.budgets else ""
    closed = full | command.away if state.machines else frozenset[str]()
    session = _longest_unserved(state, command.held, today, closed)
    if session is None:
        return NOTHING
    job_id = session.queue[0]
    started = _start_event(state, session, job_id)
    if started.runtime in command.told_of_hand_over:
        started = msgspec.structs.replace(started, awaits_hand_over=True)
    return Decision((started,), job_id=job_id)


def _full_machines(state: State, limits: Limits) -> frozenset[str]:
    """Those whose slots are all taken; this machine is the one without a name."""
    if not state.machines:
        return frozenset({""}) if len(state.running) >= limits.global_max_running else frozenset()
    running = Counter(machine_of(state.jobs[job_id].project_path) for job_id in state.running)
    slots = {"": limits.global_max_running, **{machine.name: machine.slots for machine in state.machines.values()}}
    return frozenset(name for name, most in slots.items() if running[name] >= most)


def _may_continue(state: State, job_id: JobId, full: frozenset[str]) -> bool:
    return machine_of(state.jobs[job_id].project_path) not in full and not has_open_question(state, job_id)


def has_open_question(state: State, job_id: JobId) -> bool:
    """Of its agent, which waits for the response: a question about the budget was there before the job began."""
    return any(
        q.job_id == job_id and q.status == "open" and not q.budget_day and not q.by_message
        for q in state.questions.values()
    )


def _longest_unserved(
    state: State, held: frozenset[JobId], today: str, closed: frozenset[str] = frozenset()
) -> Session | None:
    """Of the sessions that have queued jobs and run none, the one that started a job longest ago; but none that was
    handed off to a shell, and none whose next job would begin while the budget of its project for today is spent,
    while git works on its worktree, or on a machine that is `closed`: full, or not there."""
    idle = (
        s
        for s in (state.sessions[key] for key in state.ready)
        if s.running_job_id is None and s.agent_job_id is None and s.hand_off is None and s.queue[0] not in held
    )
    if today:
        idle = (s for s in idle if not is_spent(state, project_of_next(state, s), today))
    if state.worktrees:
        idle = (s for s in idle if not _awaits_worktree(state, s))
    if closed:
        idle = (s for s in idle if _machine_of_next(state, s) not in closed)
    return min(idle, key=lambda s: s.last_started, default=None)


def _machine_of_next(state: State, session: Session) -> str:
    return machine_of(state.projects[project_of_next(state, session)].path)


def _awaits_worktree(state: State, session: Session) -> bool:
    worktree = state.worktree_of(session.session_key, project_of_next(state, session))
    return worktree is not None and worktree.status in UNSETTLED


def _start_event(state: State, session: Session, job_id: JobId, runtime: str = "") -> JobStarted:
    """A job whose message asked for a project runs there, wherever its session works by now. `runtime` is that of an
    agent which began the turn by itself."""
    job = state.jobs.get(job_id)
    project = state.projects[(job.project if job is not None else "") or session.project]
    if not runtime:
        runtime = session.runtime if project.name == session.project else runtime_to_keep(session, project)
    directory = state.directory_of(session.session_key, project)
    slot = resume_slot(runtime, directory)
    return JobStarted(
        job_id=job_id,
        session_key=session.session_key,
        runtime=runtime,
        project=project.name,
        project_path=directory,
        generation=session.generation,
        resume_key=session.resume_keys.get(slot, ResumeKey("")),
        fork=session.forks.get(slot),
    )


def begin_agent_turn(state: State, command: BeginAgentTurn, now: str, _limits: Limits) -> Decision:
    session = state.sessions.get(command.session_key)
    if session is None:
        return refuse(Code.E_SESSION_NOT_FOUND, f"An agent reported for {command.session_key!r}, which does not exist.")
    if command.generation != session.generation:
        # The agent's words and its resume key belong to the generation that the reset ended.
        return refuse(Code.E_SESSION_NOT_FOUND, f"An agent reported for {command.session_key!r} from before a reset.")
    if session.hand_off is not None:
        # Its process is being ended; a turn that it still begins would write beside the shell.
        return refuse(Code.E_SESSION_HANDED_OFF, f"An agent reported for {command.session_key!r}, which is handed off.")
    message_id = message_ids.agent_turn_id(command.turn_id)
    conversation = session.conversation
    if state.outcome_of(conversation, message_id) is not None:
        return Decision(duplicate=True)
    job_id = new_job_id(state, now)
    enqueued = JobEnqueued(
        job_id=job_id,
        session_key=session.session_key,
        conversation=conversation,
        message_id=message_id,
        person="",
        prompt="",
        cause="agent",
    )
    return Decision((enqueued, _start_event(state, session, job_id, command.runtime)), job_id=job_id)


def hand_over(state: State, command: HandOver, _now: str, _limits: Limits) -> Decision:
    job = state.jobs.get(command.job_id)
    if job is None or job.state != "running" or not job.awaits_hand_over:
        return NOTHING
    return Decision((JobHandedOver(command.job_id, command.machine_time, command.taken_at),), job_id=command.job_id)


def learn_resume_key(state: State, command: LearnResumeKey, _now: str, _limits: Limits) -> Decision:
    """A late key of an older generation changes nothing, and a key that is known needs no second line."""
    job = state.jobs.get(command.job_id)
    session = state.sessions.get(job.session_key) if job is not None else None
    if job is None or session is None or job.generation != session.generation or job.runtime is None or not job.is_live:
        return NOTHING
    if session.resume_keys.get(resume_slot(job.runtime or "", job.project_path)) == command.key:
        return NOTHING
    return Decision((_resume_key_event(job, command.key),))


def forget_resume_key(state: State, command: ForgetResumeKey, _now: str, _limits: Limits) -> Decision:
    """Only a key that never led to an answer: a conversation that people remember must not silently start over."""
    job = state.jobs.get(command.job_id)
    session = state.sessions.get(job.session_key) if job is not None else None
    if job is None or session is None or job.generation != session.generation or not job.is_live:
        return NOTHING
    slot = resume_slot(job.runtime or "", job.project_path)
    if slot not in session.unproven:
        return NOTHING
    return Decision((ResumeKeyForgotten(job.session_key, job.generation, job.runtime or "", job.project_path),))


def _resume_key_event(job: Job, key: ResumeKey) -> ResumeKeyLearnt:
    return ResumeKeyLearnt(
        session_key=job.session_key,
        generation=job.generation,
        runtime=job.runtime or "",
        project_path=job.project_path,
        key=key,
    )


def report_progress(state: State, command: ReportProgress, _now: str, _limits: Limits) -> Decision:
    job = state.jobs.get(command.job_id)
    if job is None or not job.is_live:
        return NOTHING
    return Decision((JobProgress(command.job_id, command.tools_started),))
