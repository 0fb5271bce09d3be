"""The rules for the state itself, its people, its sessions and the conversations bound to them."""

from fairlead.core import events as e
from fairlead.core.conversation import SessionBindingRecord
from fairlead.core.retention import forget_spawn, unbind
from fairlead.core.state import Person, Session, State, resume_slot


def state_founded(state: State, ts: str, event: e.StateFounded) -> None:
    state.state_id = event.state_id
    state.founded_at = ts


def change_nothing(_state: State, _ts: str, _event: e.JournalEvent) -> None:
    """The event records that something happened or was alive; the state does not depend on it."""


def owner_set(state: State, _ts: str, event: e.OwnerSet) -> None:
    state.owner_id = event.owner_id


def person_seen(state: State, _ts: str, event: e.PersonSeen) -> None:
    state.people.setdefault(event.person, Person()).locale = event.locale


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


def session_discarded(state: State, _ts: str, event: e.SessionDiscarded) -> None:
    session = state.sessions.get(event.session_key)
    if session is not None and session.last_job_id is None and not session.queue:
        del state.sessions[event.session_key]
        forget_spawn(state, event.session_key)


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


def session_titled(state: State, _ts: str, event: e.SessionTitled) -> None:
    session = state.sessions.get(event.session_key)
    if session is not None:
        session.title_before = session.title
        session.title = event.title
        session.titled_by = event.by


def session_reset(state: State, ts: str, event: e.SessionReset) -> None:
    session = state.sessions.get(event.session_key)
    if session is not None and event.generation > session.generation:
        session.generation = event.generation
        session.resume_keys = {}
        session.unproven = []
        session.forks = {}
        session.points = {}
        session.rules = []
        session.hand_off = None  # what goes on in the shell is no longer this session's
        session.untold_undos = []
        session.updated_at = ts
        if session.titled_by != "person":
            session.titled_by = ""  # the next prompt begins another talk


def resume_key_learnt(state: State, ts: str, event: e.ResumeKeyLearnt) -> None:
    session = state.sessions.get(event.session_key)
    if session is not None and event.generation == session.generation:
        slot = resume_slot(event.runtime, event.project_path)
        if session.resume_keys.get(slot) != event.key:
            if slot not in session.unproven:
                session.unproven.append(slot)
            if session.points and slot not in session.forks:
                session.points.pop(slot, None)  # the point was one of another talk
        session.resume_keys[slot] = event.key
        session.updated_at = ts


def resume_key_forgotten(state: State, ts: str, event: e.ResumeKeyForgotten) -> None:
    session = state.sessions.get(event.session_key)
    if session is not None and event.generation == session.generation:
        slot = resume_slot(event.runtime, event.project_path)
        session.resume_keys.pop(slot, None)
        if slot in session.unproven:
            session.unproven.remove(slot)
        if slot not in session.forks:
            session.points.pop(slot, None)
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
        touched_on=state.lived_day,
    )
    state.bound[event.conversation.address] = event.binding_id


def binding_touched(state: State, _ts: str, event: e.BindingTouched) -> None:
    binding = state.bindings.get(event.binding_id)
    if binding is not None:
        binding.expires_at = event.expires_at
        binding.touched_on = state.lived_day


def binding_ended(state: State, _ts: str, event: e.BindingEnded) -> None:
    unbind(state, event.binding_id)
