"""Deciding about sessions that begin in a thread of their own: first an opening message goes into the
outbox, and the id that its channel gives it names the session. So every thread that exists is in the journal."""

from typing import Final

import msgspec

from fairlead.core.conversation import ConversationRef
from fairlead.core.decide.decision import Decision, refuse
from fairlead.core.decide.forks import fork_events
from fairlead.core.decide.messages import new_job_id
from fairlead.core.decide.sessions import binding_events, project_and_runtime
from fairlead.core.decide.spawns import task_event
from fairlead.core.events import (
    BindingEnded,
    DeliveryOwed,
    JournalEvent,
    SessionCreated,
    SessionDiscarded,
    SessionSpawned,
    ThreadOpening,
    WorktreeDiscardBegun,
    WorktreePlanned,
)
from fairlead.core.ids import NO_SESSION, MessageId
from fairlead.core.keys import SessionKey, thread_key
from fairlead.core.limits import Limits
from fairlead.core.spawns import SpawnOrder
from fairlead.core.state import OutboxEntry, Project, State, link_entry_id, thread_start_entry_id
from fairlead.core.worktree_plans import plan_worktree, taken_branches
from fairlead.core.worktrees import branch_name, free_branch
from fairlead.errors import Code, FairleadError

_NO_THREAD: Final = "its thread could not be created"


class StartThread(msgspec.Struct, frozen=True, kw_only=True):
    """`conversation` and `session_key` are those of the text channel that the thread shall grow in."""

    asked_by: str
    conversation: ConversationRef
    session_key: SessionKey
    person: str
    project: str | None = None
    runtime: str | None = None
    worktree: bool | None = None
    """Whether the session works in a worktree of its own; None leaves that to the project."""
    branches: frozenset[str] = frozenset()
    """The branches that the project's repository has, where a worktree is asked for."""


def start_thread(state: State, command: StartThread, now: str, _limits: Limits) -> Decision:
    entry_id = thread_start_entry_id(command.asked_by)
    if entry_id in state.outbox:
        return Decision(entry_id=entry_id, duplicate=True)
    key = command.session_key
    if key.kind != "channel" or key.space_id is None:
        return refuse(Code.E_NOT_IN_TEXT_CHANNEL)
    chosen = project_and_runtime(state, command.person, command.project, command.runtime)
    if isinstance(chosen, FairleadError):
        return Decision(refusal=chosen)
    project, runtime = chosen
    opening = ThreadOpening(
        asked_by=command.asked_by,
        person=command.person,
        project=project.name,
        runtime=runtime,
        agent_id=key.agent_id,
        space_id=key.space_id,
        branch=_branch(state, command, project, now),
    )
    return Decision(
        (
            DeliveryOwed(
                entry_id=entry_id,
                kind="opening",
                session_key=NO_SESSION,
                requester=command.conversation,
                opening=opening,
            ),
        ),
        entry_id=entry_id,
    )


def _branch(state: State, command: StartThread, project: Project, now: str) -> str:
    """The branch of the worktree that the session shall have; empty where it shall have none."""
    wanted = project.worktrees if command.worktree is None else command.worktree
    taken = taken_branches(state) | command.branches
    return free_branch(branch_name("", project.name, now), taken) if wanted else ""


def thread_of(entry: OutboxEntry, message_id: MessageId) -> SessionKey | None:
    """The session that this message opens; None if it is not one that opens anything."""
    opening = entry.opening
    if opening is None:
        return None
    return thread_key(agent_id=opening.agent_id, space_id=opening.space_id, thread_id=message_id)


def session_events(
    state: State, entry: OutboxEntry, message_id: MessageId, now: str, limits: Limits
) -> tuple[JournalEvent, ...]:
    """The opening message stands: the session, its binding and its worktree, before the thread itself is made: nobody
    can say anything in it that would run elsewhere."""
    opening, key = entry.opening, thread_of(entry, message_id)
    if opening is None or key is None or key.text in state.sessions:
        return ()
    there = _conversation_at(entry, message_id)
    order = opening.spawn
    created = SessionCreated(
        session_key=key.text,
        session_id=key.session_id,
        project=opening.project,
        runtime=opening.runtime,
        conversation=there,
        person=opening.person,
        parent_session_key=NO_SESSION if order is None else order.parent_session_key,
    )
    worktree = _worktree_events(state, opening, key, limits)
    if order is None:
        forked = _fork_events(state, opening, created, worktree)
        return (created, *worktree, *forked, *binding_events(state, key.text, there, now))
    spawned = SessionSpawned(
        session_key=key.text,
        asked_by=opening.asked_by,
        order=msgspec.structs.replace(order, task=""),
        returns="thread",
    )
    ttl_ms = order.binding_ttl_ms
    bound = binding_events(state, key.text, there, now, target_kind="subagent", ttl_ms=ttl_ms)
    return (created, spawned, *worktree, *bound)


def _fork_events(
    state: State, opening: ThreadOpening, created: SessionCreated, worktree: tuple[JournalEvent, ...]
) -> tuple[JournalEvent, ...]:
    if opening.fork is None:
        return ()
    planned = next((event for event in worktree if isinstance(event, WorktreePlanned)), None)
    return fork_events(state, created, opening.fork, asked_by=opening.asked_by, worktree=planned)


def _worktree_events(state: State, opening: ThreadOpening, key: SessionKey, limits: Limits) -> tuple[JournalEvent, ...]:
    if not opening.branch:
        return ()
    planned = plan_worktree(
        state,
        session_key=key.text,
        project=state.projects[opening.project],
        person=opening.person,
        branch=opening.branch,
        limits=limits,
    )
    return () if isinstance(planned, FairleadError) else (planned,)


def _conversation_at(entry: OutboxEntry, message_id: MessageId) -> ConversationRef:
    parent = entry.requester
    return ConversationRef(parent.channel, parent.account_id, message_id, parent.conversation_id)


def task_events(state: State, entry: OutboxEntry, message_id: MessageId, now: str) -> tuple[JournalEvent, ...]:
    """The thread stands: the task that its session is for, and the link for the conversation where it was asked for. A
    channel that the thread grows in shows it already. `message_id` is that of the opening message."""
    opening, key = entry.opening, thread_of(entry, message_id)
    if opening is None or opening.spawn is None or key is None or key.text not in state.sessions:
        return ()
    order = opening.spawn
    task = task_event(
        order,
        job_id=new_job_id(state, now),
        session_key=key.text,
        conversation=_conversation_at(entry, message_id),
        asked_by=opening.asked_by,
    )
    if order.conversation.address == entry.requester.address:
        return (task,)
    return (task, _link(opening.asked_by, order, link=key.session_id))


def _link(asked_by: str, order: SpawnOrder, *, link: str = "", error_code: str = "") -> DeliveryOwed:
    return DeliveryOwed(
        entry_id=link_entry_id(asked_by),
        kind="link",
        session_key=order.parent_session_key,
        requester=order.conversation,
        link=link,
        error_code=error_code,
    )


def discard_events(state: State, entry: OutboxEntry, code: Code) -> tuple[JournalEvent, ...]:
    """The thread can never be made: nothing stays bound to it, and its session was never talked to. The place
    where its task was asked for is told that nobody works on it."""
    opening = entry.opening
    told = opening is not None and opening.spawn is not None and code is not Code.E_SPAWN_CANCELLED
    owed = (_link(opening.asked_by, opening.spawn, error_code=code),) if told and opening and opening.spawn else ()
    key = thread_of(entry, entry.paid["0"]) if "0" in entry.paid else None
    if key is None or key.text not in state.sessions:
        return owed
    bound = [b.binding_id for b in state.bindings.values() if b.target_session_key == key.text]
    ended = (BindingEnded(binding_id, _NO_THREAD) for binding_id in bound)
    worktrees = [
        WorktreeDiscardBegun(number=w.number, person=w.person)
        for w in state.worktrees.values()
        if w.session_key == key.text
    ]
    return (*ended, *worktrees, SessionDiscarded(key.text, _NO_THREAD), *owed)
