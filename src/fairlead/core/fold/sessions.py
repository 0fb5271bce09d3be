"""The rules for the state itself, its people, its projects, its sessions and the places bound to them."""

from fairlead.core import events as e
from fairlead.core.conversation import SessionBindingRecord
from fairlead.core.retention import unbind
from fairlead.core.state import Person, Project, Session, State, resume_slot


def state_founded(state: State, _ts: str, event: e.StateFounded) -> None:
    state.state_id = event.state_id


def change_nothing(_state: State, _ts: str, _event: e.JournalEvent) -> None:
    """The event records that something happened or was alive; the state does not depend on it."""


def owner_set(state: State, _ts: str, event: e.OwnerSet) -> None:
    state.owner_id = event.owner_id


def person_seen(state: State, _ts: str, event: e.PersonSeen) -> None:
    state.people.setdefault(event.person, Person()).locale = event.locale


def project_created(state: State, ts: str, event: e.ProjectCreated) -> None:
    state.projects_made = max(state.projects_made, event.number)
    state.projects[event.name] = Project(
        number=event.number,
        name=event.name,
        path=event.path,
        enabled_runtimes=event.enabled_runtimes,
        default_runtime=event.default_runtime,
        default_args=event.default_args,
        source=event.source,
        created_at=ts,
        updated_at=ts,
    )


def project_updated(state: State, ts: str, event: e.ProjectUpdated) -> None:
    project = state.projects.get(event.name)
    if project is None:
        return
    project.path = event.path
    project.enabled_runtimes = event.enabled_runtimes
    project.default_runtime = event.default_runtime
    project.default_args = event.default_args
    project.disabled = event.disabled
    project.updated_at = ts


def project_switched(state: State, ts: str, event: e.ProjectSwitched) -> None:
    state.people.setdefault(event.person, Person()).project = event.project
    session = state.sessions.get(event.session_key)
    if session is not None:
        session.project = event.project
        session.runtime = event.runtime
        session.updated_at = ts


def session_created(state: State, ts: str, event: e.SessionCreated) -> None:
    if event.session_key in state.sessions:
        return
    state.sessions[event.session_key] = Session(
        session_key=event.session_key,
        session_id=event.session_id,
        project=event.project,
        runtime=event.runtime,
        conversation=event.conversation,
        parent_session_key=event.parent_session_key,
        created_at=ts,
        updated_at=ts,
        last_activity_at=ts,
    )


def tool_changed(state: State, ts: str, event: e.ToolChanged) -> None:
    session = state.sessions.get(event.session_key)
    if session is not None:
        session.runtime = event.runtime
        session.updated_at = ts


def model_chosen(state: State, ts: str, event: e.ModelChosen) -> None:
    session = state.sessions.get(event.session_key)
    if session is not None:
        session.models[event.runtime] = event.model
        session.updated_at = ts


def session_reset(state: State, ts: str, event: e.SessionReset) -> None:
    session = state.sessions.get(event.session_key)
    if session is not None and event.generation > session.generation:
        session.generation = event.generation
        session.resume_keys = {}
        session.unproven = []
        session.rules = []
        session.updated_at = ts


def resume_key_learnt(state: State, ts: str, event: e.ResumeKeyLearnt) -> None:
    session = state.sessions.get(event.session_key)
    if session is not None and event.generation == session.generation:
        slot = resume_slot(event.runtime, event.project_path)
        if session.resume_keys.get(slot) != event.key and slot not in session.unproven:
            session.unproven.append(slot)
        session.resume_keys[slot] = event.key
        session.updated_at = ts


def resume_key_forgotten(state: State, ts: str, event: e.ResumeKeyForgotten) -> None:
    session = state.sessions.get(event.session_key)
    if session is not None and event.generation == session.generation:
        slot = resume_slot(event.runtime, event.project_path)
        session.resume_keys.pop(slot, None)
        if slot in session.unproven:
            session.unproven.remove(slot)
        session.updated_at = ts


def rule_granted(state: State, _ts: str, event: e.RuleGranted) -> None:
    session = state.sessions.get(event.session_key)
    if session is not None and event.generation == session.generation and event.rule not in session.rules:
        session.rules.append(event.rule)


def binding_bound(state: State, _ts: str, event: e.BindingBound) -> None:
    state.bindings_made += 1
    state.bindings[event.binding_id] = SessionBindingRecord(
        binding_id=event.binding_id,
        target_session_key=event.target_session_key,
        target_kind=event.target_kind,
        conversation=event.conversation,
        status="active",
        bound_at=event.bound_at,
        expires_at=event.expires_at,
        ttl_ms=event.ttl_ms,
        metadata=event.metadata,
    )
    state.bound[event.conversation.address] = event.binding_id


def binding_touched(state: State, _ts: str, event: e.BindingTouched) -> None:
    binding = state.bindings.get(event.binding_id)
    if binding is not None:
        binding.expires_at = event.expires_at


def binding_ended(state: State, _ts: str, event: e.BindingEnded) -> None:
    unbind(state, event.binding_id)
