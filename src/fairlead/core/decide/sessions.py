"""Deciding about sessions and the conversations bound to them."""

from typing import Any, Final

import msgspec

from fairlead.core import timestamps
from fairlead.core.conversation import BindingTargetKind, ConversationRef
from fairlead.core.decide.decision import NOTHING, Decision, refuse
from fairlead.core.decide.enabled_agents import find_agent_problem
from fairlead.core.decide.job_ends import cancel_queued
from fairlead.core.decide.projects import project_to_work_in, runtime_called
from fairlead.core.events import (
    BindingBound,
    BindingEnded,
    BindingTouched,
    DaemonStarted,
    JournalEvent,
    ModelChosen,
    OwnerSet,
    PersonSeen,
    QuestionClosed,
    SessionCreated,
    SessionReset,
    SessionTitled,
    StateFounded,
    TitledBy,
    ToolChanged,
)
from fairlead.core.ids import BindingId, JobId, SessionKeyText
from fairlead.core.keys import SessionKey
from fairlead.core.limits import Limits
from fairlead.core.state import Project, State
from fairlead.errors import Code, FairleadError

_TITLE_RANK: Final = {"": 0, "prompt": 1, "agent": 2, "person": 3}


class FoundState(msgspec.Struct, frozen=True):
    state_id: str
    version: str


class BeginService(msgspec.Struct, frozen=True):
    version: str
    pid: int
    owner_id: str = ""


class SeePerson(msgspec.Struct, frozen=True):
    person: str
    locale: str


class StartSession(msgspec.Struct, frozen=True, kw_only=True):
    """A new session in a conversation of its own, bound from the first moment. Threads are started with `StartThread`
    or `SpawnSession`, which make the conversation too."""

    session_key: SessionKey
    conversation: ConversationRef
    person: str
    project: str | None = None
    runtime: str | None = None
    parent_session_key: SessionKeyText = SessionKeyText("")
    target_kind: BindingTargetKind = "session"


class ChangeRuntime(msgspec.Struct, frozen=True):
    session_key: SessionKeyText
    runtime: str


class ChooseModel(msgspec.Struct, frozen=True):
    session_key: SessionKeyText
    runtime: str
    model: str


class TitleSession(msgspec.Struct, frozen=True):
    session_key: SessionKeyText
    title: str
    by: TitledBy


class ResetSession(msgspec.Struct, frozen=True):
    session_key: SessionKeyText
    person: str


class Bind(msgspec.Struct, frozen=True, kw_only=True):
    """Part of the binding service (requirement D1), as `Touch` and `Unbind` are."""

    target_session_key: SessionKeyText
    target_kind: BindingTargetKind
    conversation: ConversationRef
    metadata: dict[str, Any] = {}
    ttl_ms: int | None = None


class Touch(msgspec.Struct, frozen=True):
    binding_id: BindingId
    at: str | None = None


class Unbind(msgspec.Struct, frozen=True):
    reason: str
    binding_id: BindingId | None = None
    target_session_key: SessionKeyText | None = None


def found_state(state: State, command: FoundState, _now: str, _limits: Limits) -> Decision:
    return NOTHING if state.state_id else Decision((StateFounded(command.state_id, command.version),))


def begin_service(state: State, command: BeginService, _now: str, _limits: Limits) -> Decision:
    events: list[JournalEvent] = [DaemonStarted(command.version, command.pid)]
    if command.owner_id and command.owner_id != state.owner_id:
        events.append(OwnerSet(command.owner_id))
    return Decision(tuple(events))


def see_person(state: State, command: SeePerson, _now: str, _limits: Limits) -> Decision:
    known = state.people.get(command.person)
    if known is not None and known.locale == command.locale:
        return NOTHING
    return Decision((PersonSeen(command.person, command.locale),))


def start_session(state: State, command: StartSession, now: str, _limits: Limits) -> Decision:
    key = command.session_key.text
    if key in state.sessions:
        return Decision(duplicate=True)
    chosen = project_and_runtime(state, command.person, command.project, command.runtime)
    if isinstance(chosen, FairleadError):
        return Decision(refusal=chosen)
    project, runtime = chosen
    created = SessionCreated(
        session_key=key,
        session_id=command.session_key.session_id,
        project=project.name,
        runtime=runtime,
        conversation=command.conversation,
        person=command.person,
        parent_session_key=command.parent_session_key,
    )
    bound = binding_events(state, key, command.conversation, now, target_kind=command.target_kind)
    return Decision((created, *bound))


def project_and_runtime(
    state: State, person: str, asked_for: str | None, runtime: str | None
) -> tuple[Project, str] | FairleadError:
    """The project and the tool of a new session, or why it cannot begin."""
    project = project_to_work_in(state, session=None, person=person, asked_for=asked_for)
    if isinstance(project, FairleadError):
        return project
    runtime = runtime_called(runtime or project.default_runtime, project)
    return find_agent_problem(state, runtime, project) or (project, runtime)


def change_runtime(state: State, command: ChangeRuntime, _now: str, _limits: Limits) -> Decision:
    session = state.sessions.get(command.session_key)
    if session is None:
        return refuse(Code.E_NOT_IN_MANAGED_THREAD)
    project = project_to_work_in(state, session=session, person="", asked_for=None)
    if isinstance(project, FairleadError):
        return Decision(refusal=project)
    runtime = runtime_called(command.runtime, project)
    problem = find_agent_problem(state, runtime, project)
    if problem is not None:
        return Decision(refusal=problem)
    if session.runtime == runtime:
        return Decision()
    return Decision((ToolChanged(command.session_key, runtime),))


def choose_model(state: State, command: ChooseModel, _now: str, _limits: Limits) -> Decision:
    if command.session_key not in state.sessions:
        return refuse(Code.E_NO_ACTIVE_SESSION)
    return Decision((ModelChosen(command.session_key, command.runtime, command.model),))


def title_session(state: State, command: TitleSession, _now: str, _limits: Limits) -> Decision:
    """A person's title stands; an agent's comes before that of the first prompt, and later prompts change nothing."""
    session = state.sessions.get(command.session_key)
    if session is None or not command.title.strip():
        return NOTHING
    if _TITLE_RANK[command.by] < _TITLE_RANK[session.titled_by] or (command.by == "prompt" and session.titled_by):
        return NOTHING
    if (command.title, command.by) == (session.title, session.titled_by):
        return NOTHING
    return Decision((SessionTitled(command.session_key, command.title, command.by),))


def reset_session(state: State, command: ResetSession, _now: str, _limits: Limits) -> Decision:
    """The queue goes at once; a running turn is ended by its owner and finds its generation outdated. Questions
    that a crash left behind go too: a late click must not carry the old generation into the new one. One about a budget
    stays: it is about every job of the project."""
    session = state.sessions.get(command.session_key)
    if session is None:
        return refuse(Code.E_NOT_IN_MANAGED_THREAD)
    reset = SessionReset(command.session_key, session.generation + 1, command.person)
    queued = [e for job_id in session.queue for e in cancel_queued(state, job_id, command.person, "reset")]
    left_behind = [
        QuestionClosed(q.question_id, "withdrawn")
        for q in state.questions.values()
        if q.session_key == command.session_key
        and q.status == "open"
        and not q.budget_day
        and (q.by_message or not _is_live(state, q.job_id))
    ]
    return Decision((reset, *queued, *left_behind))


def _is_live(state: State, job_id: JobId) -> bool:
    job = state.jobs.get(job_id)
    return job is not None and job.is_live


def bind(state: State, command: Bind, now: str, _limits: Limits) -> Decision:
    if command.target_session_key not in state.sessions:
        return refuse(Code.E_SESSION_NOT_FOUND, f"There is no session {command.target_session_key[:100]!r}.")
    events = binding_events(
        state,
        command.target_session_key,
        command.conversation,
        now,
        target_kind=command.target_kind,
        ttl_ms=command.ttl_ms,
        metadata=command.metadata,
    )
    return Decision(events, binding_id=next(e.binding_id for e in events if isinstance(e, BindingBound)))


def binding_events(
    state: State,
    session_key: SessionKeyText,
    conversation: ConversationRef,
    now: str,
    *,
    target_kind: BindingTargetKind = "session",
    ttl_ms: int | None = None,
    metadata: dict[str, Any] | None = None,
) -> tuple[JournalEvent, ...]:
    """A new binding; what the conversation was bound to before ends as `rebound`, or as `expired` if it had."""
    older = state.bindings.get(state.bound.get(conversation.address, BindingId("")))
    reason = "rebound" if older is not None and older.is_live(now) else "expired"
    ended = () if older is None else (BindingEnded(older.binding_id, reason),)
    bound = BindingBound(
        binding_id=BindingId(f"bind_{state.bindings_made + 1}"),
        target_session_key=session_key,
        target_kind=target_kind,
        conversation=conversation,
        bound_at=now,
        expires_at=None if ttl_ms is None else timestamps.plus(now, ttl_ms / 1000),
        ttl_ms=ttl_ms,
        metadata=metadata or {},
    )
    return (*ended, bound)


def touch(state: State, command: Touch, now: str, _limits: Limits) -> Decision:
    """Activity moves the expiry by the binding's whole time to live. One that lives for good needs no touch, one that
    has expired is not revived, and a late report of old activity shortens nothing."""
    events = touch_events(state, command.binding_id, now, active_at=command.at or now)
    return Decision(events) if events else NOTHING


def touch_events(state: State, binding_id: BindingId, now: str, *, active_at: str) -> tuple[JournalEvent, ...]:
    binding = state.bindings.get(binding_id)
    if binding is None or binding.ttl_ms is None or not binding.is_live(now):
        return ()
    expiry = timestamps.plus(active_at, binding.ttl_ms / 1000)
    return (BindingTouched(binding_id, expiry),) if expiry > (binding.expires_at or "") else ()


def unbind(state: State, command: Unbind, _now: str, _limits: Limits) -> Decision:
    ended = [
        BindingEnded(b.binding_id, command.reason)
        for b in state.bindings.values()
        if b.binding_id == command.binding_id or b.target_session_key == command.target_session_key
    ]
    return Decision(tuple(ended))
