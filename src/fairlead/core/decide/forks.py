"""Deciding about forks: a session that begins with all that was said in another one, in a thread where the channel has
threads, else in the conversation itself. What is copied is decided here; the agent copies it in the first turn.

The fork has the project, the agent and the model of the other session. It has none of the permissions that people gave
for that session, and none of its queue."""

from hashlib import sha256

import msgspec

from fairlead.core.conversation import ConversationRef
from fairlead.core.decide.decision import Decision, refuse
from fairlead.core.decide.sessions import binding_events
from fairlead.core.decide.spawns import thread_place
from fairlead.core.engine import ForkOrigin
from fairlead.core.events import (
    DeliveryOwed,
    ForkPlanned,
    JournalEvent,
    ModelChosen,
    SessionCreated,
    SessionForked,
    ThreadOpening,
    WorktreePlanned,
)
from fairlead.core.fork_origins import find_origin, find_origin_after
from fairlead.core.forks import FORK_SPACE, ForkOrder
from fairlead.core.ids import NO_SESSION, JobId, SessionKeyText
from fairlead.core.keys import SessionKey, thread_key
from fairlead.core.limits import Limits
from fairlead.core.state import Project, Session, State, thread_start_entry_id
from fairlead.core.worktree_plans import plan_worktree, taken_branches
from fairlead.core.worktrees import branch_name, free_branch
from fairlead.errors import Code, FairleadError


class ForkSession(msgspec.Struct, frozen=True, kw_only=True):
    """Fork the session `forked_from`, or, with `after`, what was said in it up to the end of that job. `session_key` is
    that of the conversation. `has_points`: the agent can keep less than the whole talk."""

    asked_by: str
    forked_from: SessionKeyText
    conversation: ConversationRef
    session_key: SessionKey
    person: str
    after: JobId = JobId("")
    has_threads: bool = False
    has_points: bool = False
    worktree: bool | None = None
    branches: frozenset[str] = frozenset()


class SwitchSession(msgspec.Struct, frozen=True, kw_only=True):
    """This conversation goes on with another session that belongs to it."""

    conversation: ConversationRef
    session_key: SessionKeyText


def fork_session(state: State, command: ForkSession, now: str, limits: Limits) -> Decision:
    entry_id = thread_start_entry_id(command.asked_by)
    if entry_id in state.outbox:
        return Decision(entry_id=entry_id, duplicate=True)
    parent = state.sessions.get(command.forked_from)
    project = None if parent is None else state.project_named(parent.project)
    if parent is None or project is None:
        return refuse(Code.E_SESSION_NOT_FOUND)
    order = _make_order(state, command, parent, project)
    if order is None:
        return refuse(Code.E_FORK_UNAVAILABLE, _why_not(command))
    branch = _choose_branch(state, command, project, now)
    place = thread_place(command.conversation, command.session_key) if command.has_threads else None
    if place is not None:
        return _open_thread(command, order, place, parent=parent, branch=branch)
    return _begin_here(state, command, order, now, limits, branch=branch)


def _make_order(state: State, command: ForkSession, parent: Session, project: Project) -> ForkOrder | None:
    runtime, directory = parent.runtime, state.directory_of(parent.session_key, project)
    job = state.jobs.get(command.after) if command.after else None
    origin = find_origin(parent, runtime, directory) if job is None else find_origin_after(parent, job)
    if origin is None or (command.after and job is None):
        return None
    is_latest = job is None or parent.last_job_id == job.job_id
    if not command.has_points:
        if not is_latest:
            return None
        origin = ForkOrigin(origin.key)
    return ForkOrder(
        forked_from=parent.session_key,
        origin=origin,
        after=command.after or parent.last_job_id or JobId(""),
        model=parent.models.get(runtime, ""),
    )


def _why_not(command: ForkSession) -> str:
    if command.after:
        return "This agent can fork what was said so far, and not what was said up to an earlier turn."
    return "Its agent has not answered yet, so there is nothing to begin with."


def _choose_branch(state: State, command: ForkSession, project: Project, now: str) -> str:
    """A session that works in a worktree has a fork that works in one, unless somebody says otherwise."""
    usual = project.worktrees or state.worktree_of(command.forked_from, project.name) is not None
    if not (usual if command.worktree is None else command.worktree):
        return ""
    return free_branch(branch_name("", project.name, now), taken_branches(state) | command.branches)


def _open_thread(
    command: ForkSession, order: ForkOrder, place: ConversationRef, *, parent: Session, branch: str
) -> Decision:
    entry_id = thread_start_entry_id(command.asked_by)
    opening = ThreadOpening(
        asked_by=command.asked_by,
        person=command.person,
        project=parent.project,
        runtime=parent.runtime,
        agent_id=command.session_key.agent_id,
        space_id=command.session_key.space_id or "",
        branch=branch,
        fork=order,
    )
    owed = DeliveryOwed(entry_id=entry_id, kind="opening", session_key=NO_SESSION, requester=place, opening=opening)
    return Decision((owed,), entry_id=entry_id)


def _begin_here(
    state: State, command: ForkSession, order: ForkOrder, now: str, limits: Limits, *, branch: str
) -> Decision:
    """The conversation goes on in the fork; `SwitchSession` leads back."""
    name = sha256(command.asked_by.encode()).hexdigest()[:10]
    key = thread_key(agent_id=command.session_key.agent_id, space_id=FORK_SPACE, thread_id=f"fork-{name}")
    if key.text in state.sessions:
        return Decision(duplicate=True)
    parent = state.sessions[order.forked_from]
    created = SessionCreated(
        session_key=key.text,
        session_id=key.session_id,
        project=parent.project,
        runtime=parent.runtime,
        conversation=command.conversation,
        person=command.person,
    )
    planned = (
        plan_worktree(
            state,
            session_key=key.text,
            project=state.projects[parent.project],
            person=command.person,
            branch=branch,
            limits=limits,
        )
        if branch
        else None
    )
    if isinstance(planned, FairleadError):
        return Decision(refusal=planned)
    begun = fork_events(state, created, order, asked_by=command.asked_by, worktree=planned)
    bound = binding_events(state, key.text, command.conversation, now)
    return Decision((created, *(() if planned is None else (planned,)), *begun, *bound))


def fork_events(
    state: State, created: SessionCreated, order: ForkOrder, *, asked_by: str, worktree: WorktreePlanned | None
) -> tuple[JournalEvent, ...]:
    """What makes a new session a fork: where it comes from, what its agent begins with, and the model."""
    forked = SessionForked(
        session_key=created.session_key,
        forked_from=order.forked_from,
        asked_by=asked_by,
        person=created.person,
        after=order.after,
    )
    planned = ForkPlanned(
        session_key=created.session_key,
        generation=0,
        runtime=created.runtime,
        project_path=state.projects[created.project].path if worktree is None else worktree.path,
        fork=order.origin,
    )
    model = (ModelChosen(created.session_key, created.runtime, order.model),) if order.model else ()
    return (forked, planned, *model)


def switch_session(state: State, command: SwitchSession, now: str, _limits: Limits) -> Decision:
    """To the conversation's own session, or to one that was forked in it."""
    session = state.sessions.get(command.session_key)
    if session is None or session.conversation.address != command.conversation.address:
        return refuse(Code.E_SESSION_NOT_FOUND)
    if state.session_at(command.conversation, now) is session:
        return Decision()
    return Decision(binding_events(state, session.session_key, command.conversation, now))
