"""Deciding about sessions of the agents' own: which one this session goes on with, and whether it goes on here or in a
shell. Fairlead itself never writes one of them from two places: that is decided here. The caller looks for other
programs that do."""

import msgspec

from fairlead.core import job_names
from fairlead.core.decide.decision import Decision, refuse
from fairlead.core.decide.enabled_agents import find_agent_problem
from fairlead.core.decide.projects import project_to_work_in
from fairlead.core.events import SessionAdopted, SessionHandedOff, SessionTakenBack
from fairlead.core.ids import ResumeKey, SessionKeyText
from fairlead.core.limits import Limits
from fairlead.core.state import Session, State, resume_slot
from fairlead.errors import Code, FairleadError, error


class AdoptSession(msgspec.Struct, frozen=True, kw_only=True):
    """`project_path` is where the agent's record says that its session works: the session's own directory."""

    session_key: SessionKeyText
    runtime: str
    project_path: str
    key: ResumeKey
    person: str


class HandOffSession(msgspec.Struct, frozen=True, kw_only=True):
    session_key: SessionKeyText
    runtime: str
    project_path: str
    key: ResumeKey
    person: str
    position: str = ""


class TakeBackSession(msgspec.Struct, frozen=True, kw_only=True):
    session_key: SessionKeyText
    person: str
    exchanges: int = 0
    unread: bool = False


def adopt_session(state: State, command: AdoptSession, _now: str, _limits: Limits) -> Decision:
    session = state.sessions.get(command.session_key)
    if session is None:
        return refuse(Code.E_NOT_IN_MANAGED_THREAD)
    project = project_to_work_in(state, session=session, person="", asked_for=None)
    if isinstance(project, FairleadError):
        return Decision(refusal=project)
    problem = (
        find_agent_problem(state, command.runtime, project)
        or handed_off_problem(session)
        or find_work(session)
        or _find_other(state, session, command.key)
    )
    if problem is not None:
        return Decision(refusal=problem)
    before = session.resume_keys.get(resume_slot(command.runtime, command.project_path), ResumeKey(""))
    if before == command.key and session.runtime == command.runtime:
        return Decision(duplicate=True)
    adopted = SessionAdopted(
        session_key=session.session_key,
        generation=session.generation + 1,
        runtime=command.runtime,
        project_path=command.project_path,
        key=command.key,
        person=command.person,
        before=before,
    )
    return Decision((adopted,))


def hand_off_session(state: State, command: HandOffSession, _now: str, _limits: Limits) -> Decision:
    """Messages that wait stay: they run when the session is taken back."""
    session = state.sessions.get(command.session_key)
    if session is None:
        return refuse(Code.E_NOT_IN_MANAGED_THREAD)
    if session.hand_off is not None:
        return Decision(duplicate=True)
    running = session.running_job_id or session.agent_job_id
    if running is not None:
        return Decision(refusal=_still_running(running))
    if session.resume_keys.get(resume_slot(command.runtime, command.project_path)) != command.key:
        return refuse(Code.E_SESSION_STATE, "The session has changed meanwhile.", next_step="Use /handoff again.")
    handed_off = SessionHandedOff(
        session_key=session.session_key,
        runtime=command.runtime,
        project_path=command.project_path,
        key=command.key,
        person=command.person,
        position=command.position,
    )
    return Decision((handed_off,))


def take_back_session(state: State, command: TakeBackSession, _now: str, _limits: Limits) -> Decision:
    session = state.sessions.get(command.session_key)
    if session is None:
        return refuse(Code.E_NOT_IN_MANAGED_THREAD)
    if session.hand_off is None:
        return refuse(Code.E_SESSION_STATE, "This session is not handed off.")
    taken = SessionTakenBack(
        session_key=session.session_key,
        person=command.person,
        exchanges=command.exchanges,
        unread=command.unread,
    )
    return Decision((taken,))


def handed_off_problem(session: Session | None) -> FairleadError | None:
    """Why nothing may be done now with the agent of this session; None if it may."""
    return None if session is None or session.hand_off is None else error(Code.E_SESSION_HANDED_OFF)


def find_work(session: Session) -> FairleadError | None:
    """What runs or waits was said to the agent's present session, and must not reach another one."""
    running = session.running_job_id or session.agent_job_id
    if running is not None:
        return _still_running(running)
    if session.queue:
        waiting = job_names.short_name(session.queue[0])
        return error(Code.E_SESSION_STATE, f"{waiting} is still waiting.", next_step="Wait, or /cancel it.")
    return None


def session_with_key(state: State, key: ResumeKey) -> Session | None:
    """The session that goes on with this session of an agent's own, whichever of its agents it is."""
    return next((s for s in state.sessions.values() if key in s.resume_keys.values()), None)


def _find_other(state: State, session: Session, key: ResumeKey) -> FairleadError | None:
    other = session_with_key(state, key)
    if other is None or other is session:
        return None
    return error(
        Code.E_SESSION_IN_USE,
        f"{other.session_id} goes on with it already.",
        next_step="Talk to that session (/session open), or use /reset there first.",
    )


def _still_running(job_id: str) -> FairleadError:
    name = job_names.short_name(job_id)
    return error(Code.E_SESSION_STATE, f"{name} is still running.", next_step="Wait, or /cancel it.")
