"""Deciding about sessions that are started for a task: may it be, where does it run, where does its completion go.

A session with a thread begins with an opening message in the outbox, as one that a person starts does; its task is
enqueued when the thread stands, in one batch with that fact. A session without a thread begins at once, and its
questions and its status are shown where it was asked for.
"""

from typing import Final

import msgspec

from fairlead.core import message_ids
from fairlead.core.conversation import ConversationRef
from fairlead.core.decide.decision import NOTHING, Decision
from fairlead.core.decide.enabled_agents import find_agent_problem
from fairlead.core.decide.messages import new_job_id
from fairlead.core.decide.projects import project_to_work_in, runtime_called, runtime_to_keep
from fairlead.core.events import (
    DeliveryAbandoned,
    DeliveryAcknowledged,
    DeliveryOwed,
    JobEnqueued,
    SessionCreated,
    SessionSpawned,
    ThreadOpening,
)
from fairlead.core.forks import FORK_SPACE
from fairlead.core.hooks import HOOK_SPACE
from fairlead.core.ids import NO_SESSION, EntryId, JobId, SessionKeyText
from fairlead.core.inbound import clean_text
from fairlead.core.keys import SessionKey, thread_key
from fairlead.core.limits import Limits
from fairlead.core.message_outcomes import Enqueued
from fairlead.core.spawn_tree import agents_openings, live_children
from fairlead.core.spawns import NO_THREAD_SPACE, SpawnOrder
from fairlead.core.state import Project, Session, State, thread_start_entry_id
from fairlead.core.worktree_plans import plan_worktree, taken_branches
from fairlead.core.worktrees import branch_name, free_branch
from fairlead.errors import Code, FairleadError, error

MAX_TASK_BYTES: Final = 64 * 1024


class SpawnSession(msgspec.Struct, frozen=True, kw_only=True):
    """`parent` is the session that asks; where a person asks in a conversation that has none, the one that it would
    have. `session_key` names the conversation. With `has_threads`, its channel has threads."""

    asked_by: str
    task: str
    person: str
    parent: SessionKeyText
    conversation: ConversationRef
    session_key: SessionKey
    by_agent: bool = False
    foreign: bool = False
    has_threads: bool = False
    project: str | None = None
    runtime: str | None = None
    worktree: bool = False
    """A worktree of its own; without it, the session works where the one that it was spawned from works."""


class FinishReturn(msgspec.Struct, frozen=True):
    """The session that asked has the completion, as a message; with a `code`, it never will."""

    entry_id: EntryId
    code: Code | None = None
    reason: str = ""


def spawn_session(state: State, command: SpawnSession, now: str, limits: Limits) -> Decision:
    seen = _decide_duplicate(state, command)
    if seen is not None:
        return seen
    problem = _task_problem(command.task) or _limit_problem(state, command, limits)
    if problem is not None:
        return Decision(refusal=problem)
    chosen = _project_and_runtime(state, command)
    if isinstance(chosen, FairleadError):
        return Decision(refusal=chosen)
    order = _make_order(state, command, limits)
    place = thread_place(command.conversation, command.session_key) if command.has_threads else None
    if limits.spawn_threads and place is not None:
        return _open_thread(command, order, place, chosen, branch=_branch(state, command, chosen[0], now))
    return _begin_without_thread(state, command, order, chosen, now=now, limits=limits)


def thread_place(conversation: ConversationRef, key: SessionKey) -> ConversationRef | None:
    """The conversation that a thread can grow in: a channel itself, and beside a thread, its parent."""
    if key.space_id in {None, NO_THREAD_SPACE, HOOK_SPACE, FORK_SPACE}:
        return None
    if key.kind == "channel":
        return conversation
    parent = conversation.parent_conversation_id
    return None if parent is None else ConversationRef(conversation.channel, conversation.account_id, parent)


def _decide_duplicate(state: State, command: SpawnSession) -> Decision | None:
    entry_id = thread_start_entry_id(command.asked_by)
    if entry_id in state.outbox:
        return Decision(entry_id=entry_id, duplicate=True)
    key = state.spawn_requests.get(command.asked_by)
    if key is None:
        return None
    outcome = state.outcome_of(state.sessions[key].conversation, message_ids.spawn_id(command.asked_by))
    return Decision(job_id=outcome.job_id, duplicate=True) if isinstance(outcome, Enqueued) else NOTHING


def _task_problem(task: str) -> FairleadError | None:
    if not task.strip():
        return error(Code.E_EMPTY_MESSAGE)
    size = len(task.encode("utf-8", "replace"))
    if size <= MAX_TASK_BYTES:
        return None
    return error(Code.E_MESSAGE_TOO_LARGE, f"The task has {size:,} bytes; the limit is {MAX_TASK_BYTES:,}.")


def _limit_problem(state: State, command: SpawnSession, limits: Limits) -> FairleadError | None:
    if _depth_below(state, command.parent) > limits.spawn_max_depth:
        return error(Code.E_SPAWN_DEPTH, f"Sessions may be spawned {limits.spawn_max_depth} deep.")
    if len(live_children(state, command.parent)) >= limits.spawn_max_children:
        return error(Code.E_SPAWN_LIMIT, f"{limits.spawn_max_children} spawned sessions are still at work.")
    topmost = state.topmost(command.parent)
    in_a_row = state.spawns_in_a_row.get(topmost, 0) + agents_openings(state, topmost)
    if command.by_agent and in_a_row >= limits.spawn_max_in_a_row:
        return error(Code.E_SPAWN_LIMIT, f"Agents have spawned {in_a_row} sessions since a person last spoke.")
    return None


def _depth_below(state: State, parent: SessionKeyText) -> int:
    above = state.spawns.get(parent)
    return 1 if above is None else above.depth + 1


def _project_and_runtime(state: State, command: SpawnSession) -> tuple[Project, str] | FairleadError:
    """Those of the session that asks, where nobody names others."""
    parent = state.sessions.get(command.parent)
    project = project_to_work_in(state, session=parent, person=command.person, asked_for=command.project)
    if isinstance(project, FairleadError):
        return project
    runtime = runtime_called(command.runtime or _usual_runtime(parent, project), project)
    return find_agent_problem(state, runtime, project) or (project, runtime)


def _usual_runtime(parent: Session | None, project: Project) -> str:
    is_same = parent is not None and parent.project == project.name
    return runtime_to_keep(parent if is_same else None, project)


def _make_order(state: State, command: SpawnSession, limits: Limits) -> SpawnOrder:
    parent = state.sessions.get(command.parent)
    ttl = limits.spawn_binding_ttl_sec
    return SpawnOrder(
        parent_session_key=command.parent,
        conversation=command.conversation,
        person=command.person,
        task=clean_text(command.task),
        depth=_depth_below(state, command.parent),
        generation=0 if parent is None else parent.generation,
        by_agent=command.by_agent,
        foreign=command.foreign,
        fail_closed=limits.spawn_fail_closed,
        binding_ttl_ms=int(ttl * 1000) if ttl else None,
    )


def _branch(state: State, command: SpawnSession, project: Project, now: str) -> str:
    """The branch of the session's own worktree; empty where it has none."""
    inherits = state.worktree_of(command.parent, project.name) is not None
    if not command.worktree and (inherits or not project.worktrees):
        return ""
    title = next(iter(command.task.strip().splitlines()), "")
    return free_branch(branch_name(title, project.name, now), taken_branches(state))


def _open_thread(
    command: SpawnSession, order: SpawnOrder, place: ConversationRef, chosen: tuple[Project, str], *, branch: str
) -> Decision:
    project, runtime = chosen
    entry_id = thread_start_entry_id(command.asked_by)
    opening = ThreadOpening(
        asked_by=command.asked_by,
        person=command.person,
        project=project.name,
        runtime=runtime,
        agent_id=command.session_key.agent_id,
        space_id=command.session_key.space_id or "",
        spawn=order,
        branch=branch,
    )
    owed = DeliveryOwed(entry_id=entry_id, kind="opening", session_key=NO_SESSION, requester=place, opening=opening)
    return Decision((owed,), entry_id=entry_id)


def _begin_without_thread(
    state: State, command: SpawnSession, order: SpawnOrder, chosen: tuple[Project, str], *, now: str, limits: Limits
) -> Decision:
    project, runtime = chosen
    agent_id = command.session_key.agent_id
    key = thread_key(agent_id=agent_id, space_id=NO_THREAD_SPACE, thread_id=f"spawn-{state.jobs_made + 1}")
    created = SessionCreated(
        session_key=key.text,
        session_id=key.session_id,
        project=project.name,
        runtime=runtime,
        conversation=order.conversation,
        person=order.person,
        parent_session_key=order.parent_session_key,
    )
    spawned = SessionSpawned(
        session_key=key.text,
        asked_by=command.asked_by,
        order=msgspec.structs.replace(order, task=""),
        returns="session" if order.by_agent else "person",
    )
    job = task_event(
        order,
        job_id=new_job_id(state, now),
        session_key=key.text,
        conversation=order.conversation,
        asked_by=command.asked_by,
    )
    branch = _branch(state, command, project, now)
    planned = plan_worktree(
        state, session_key=key.text, project=project, person=order.person, branch=branch, limits=limits
    )
    if branch and isinstance(planned, FairleadError):
        return Decision(refusal=planned)
    worktree = (planned,) if branch and not isinstance(planned, FairleadError) else ()
    return Decision((created, spawned, *worktree, job), job_id=job.job_id)


def task_event(
    order: SpawnOrder, *, job_id: JobId, session_key: SessionKeyText, conversation: ConversationRef, asked_by: str
) -> JobEnqueued:
    return JobEnqueued(
        job_id=job_id,
        session_key=session_key,
        conversation=conversation,
        message_id=message_ids.spawn_id(asked_by),
        person=order.person,
        prompt=order.task,
        cause="spawn",
        foreign=order.foreign,
    )


def finish_return(state: State, command: FinishReturn, _now: str, _limits: Limits) -> Decision:
    if command.entry_id not in state.returning:
        return NOTHING
    if command.code is None:
        return Decision((DeliveryAcknowledged(command.entry_id),))
    return Decision((DeliveryAbandoned(command.entry_id, command.code, command.reason),))
