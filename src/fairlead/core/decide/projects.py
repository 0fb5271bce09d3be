"""Deciding about projects: names, numbers, tools, which one a session works in. The caller has looked at the paths."""

import re
from typing import Final

import msgspec

from fairlead.core.conversation import ConversationRef
from fairlead.core.decide.decision import Decision, refuse
from fairlead.core.events import JournalEvent, ProjectCreated, ProjectSwitched, ProjectUpdated, SessionCreated
from fairlead.core.ids import SessionKeyText
from fairlead.core.keys import SessionKey
from fairlead.core.limits import Limits
from fairlead.core.state import Project, Session, State
from fairlead.errors import Code, FairleadError, error

NAME_PATTERN: Final = re.compile(r"[a-z0-9_-]{1,40}")


class DirectoryFacts(msgspec.Struct, frozen=True):
    """What the caller found at a path. `problem` says why it cannot be a project, empty if it can."""

    given: str
    real_path: str
    problem: str = ""


class CreateProject(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    directory: DirectoryFacts
    runtimes: tuple[str, ...]
    default_runtime: str
    args: dict[str, tuple[str, ...]] = {}


class AddProject(msgspec.Struct, frozen=True):
    """Register a directory under a name made from its own. A directory that is there already is no error."""

    directory: DirectoryFacts
    source: str = "command"


class UpdateProject(msgspec.Struct, frozen=True, kw_only=True):
    """Take over what a person wrote into config.json, or that a path came or went."""

    name: str
    directory: DirectoryFacts
    runtimes: tuple[str, ...]
    default_runtime: str
    args: dict[str, tuple[str, ...]] = {}


class SwitchProject(msgspec.Struct, frozen=True):
    project: str
    session_key: SessionKey
    conversation: ConversationRef
    person: str


def create_project(state: State, command: CreateProject, _now: str, limits: Limits) -> Decision:
    if not NAME_PATTERN.fullmatch(command.name):
        return refuse(Code.E_INVALID_NAME, f"{command.name[:60]!r} cannot be a project's name.")
    if command.name in state.projects:
        return refuse(Code.E_PROJECT_EXISTS, f"Project {command.name!r} exists.")
    problem = _path_problem(command.directory) or _runtime_problem(
        command.runtimes, command.default_runtime, command.args, limits
    )
    if problem is not None:
        return Decision(refusal=problem)
    event = ProjectCreated(
        number=state.projects_made + 1,
        name=command.name,
        path=command.directory.real_path,
        enabled_runtimes=command.runtimes,
        default_runtime=command.default_runtime,
        default_args=command.args,
    )
    return Decision((event,), project=command.name)


def add_project(state: State, command: AddProject, _now: str, limits: Limits) -> Decision:
    problem = _path_problem(command.directory)
    if problem is not None:
        return Decision(refusal=problem)
    known = next((p for p in state.projects.values() if p.path == command.directory.real_path), None)
    if known is not None:
        return Decision(project=known.name, duplicate=True)
    name = free_name(state, command.directory.given)
    event = ProjectCreated(
        number=state.projects_made + 1,
        name=name,
        path=command.directory.real_path,
        enabled_runtimes=limits.runtimes,
        default_runtime=limits.runtimes[0],
        source=command.source,
    )
    return Decision((event,), project=name)


def update_project(state: State, command: UpdateProject, _now: str, limits: Limits) -> Decision:
    project = state.projects.get(command.name)
    if project is None:
        return refuse(Code.E_PROJECT_NOT_FOUND, f"There is no project {command.name!r}.")
    problem = _runtime_problem(
        command.runtimes, command.default_runtime, command.args, limits, known=project.enabled_runtimes
    )
    if problem is not None:
        return Decision(refusal=problem)
    event = ProjectUpdated(
        name=command.name,
        path=command.directory.real_path or project.path,
        enabled_runtimes=command.runtimes,
        default_runtime=command.default_runtime,
        default_args=command.args,
        disabled=command.directory.problem,
    )
    unchanged = (
        event.path == project.path
        and event.enabled_runtimes == project.enabled_runtimes
        and event.default_runtime == project.default_runtime
        and event.default_args == project.default_args
        and event.disabled == project.disabled
    )
    return Decision(() if unchanged else (event,), project=command.name)


def switch_project(state: State, command: SwitchProject, _now: str, _limits: Limits) -> Decision:
    project = state.project_named(command.project)
    if project is None:
        return refuse(Code.E_PROJECT_NOT_FOUND, f"There is no project {command.project[:60]!r}.")
    if project.disabled:
        return Decision(refusal=_disabled_error(project))
    session = state.sessions.get(command.session_key.text)
    events: list[JournalEvent] = []
    if session is None:
        events.append(
            SessionCreated(
                session_key=command.session_key.text,
                session_id=command.session_key.session_id,
                project=project.name,
                runtime=project.default_runtime,
                conversation=command.conversation,
                person=command.person,
            )
        )
    events.append(switch_event(session, project, command.session_key.text, command.person))
    return Decision(tuple(events), project=project.name)


def switch_event(
    session: Session | None, project: Project, session_key: SessionKeyText, person: str
) -> ProjectSwitched:
    return ProjectSwitched(session_key, person, project.name, runtime_to_keep(session, project))


def runtime_to_keep(session: Session | None, project: Project) -> str:
    """The session's tool stays where the project allows it."""
    keeps = session is not None and session.runtime in project.enabled_runtimes
    return session.runtime if session is not None and keeps else project.default_runtime


def project_to_work_in(
    state: State, *, session: Session | None, person: str, asked_for: str | None
) -> Project | FairleadError:
    """The project asked for; else the session's, the person's, the only one; else what to do about it."""
    name = asked_for or (session.project if session is not None else "")
    if not name and person in state.people:
        name = state.people[person].project
    if name:
        project = state.project_named(name)
        if project is None:
            return error(Code.E_PROJECT_NOT_FOUND, f"There is no project {name[:60]!r}.")
        return _disabled_error(project) if project.disabled else project
    usable = [p for p in state.projects.values() if not p.disabled]
    if len(usable) == 1:
        return usable[0]
    if usable:
        names = ", ".join(p.name for p in usable[:10])
        return error(Code.E_PROJECT_NOT_SELECTED, f"There are several projects ({names}) and none is selected.")
    return error(Code.E_PROJECT_NOT_SELECTED, "No project is registered yet: `/project add PATH` makes one.")


def free_name(state: State, path: str) -> str:
    """The directory's name, made fit for a project's name, with a number behind it on a clash."""
    last = path.rstrip("/").rpartition("/")[2].lower()
    fit = re.sub(r"[^a-z0-9_-]", "-", last)[:40] or "project"
    if fit not in state.projects:
        return fit
    candidates = (f"{fit[: 40 - len(str(n)) - 1]}-{n}" for n in range(2, len(state.projects) + 3))
    return next(name for name in candidates if name not in state.projects)


def _path_problem(directory: DirectoryFacts) -> FairleadError | None:
    return error(Code.E_INVALID_PATH, directory.problem) if directory.problem else None


def _disabled_error(project: Project) -> FairleadError:
    return error(
        Code.E_INVALID_PATH,
        f"Project {project.name!r} is disabled: {project.disabled}",
        next_step="Bring the directory back and restart, or switch to another project.",
    )


def _runtime_problem(
    runtimes: tuple[str, ...],
    default: str,
    args: dict[str, tuple[str, ...]],
    limits: Limits,
    known: tuple[str, ...] = (),
) -> FairleadError | None:
    available = ", ".join(limits.runtimes)
    unknown = [t for t in runtimes if t not in limits.runtimes and t not in known]
    if not runtimes or unknown:
        named = ", ".join(unknown) or "none"
        return error(Code.E_INVALID_TOOLSET, f"Tools named: {named}. Available here: {available}.")
    if default not in runtimes:
        return error(Code.E_INVALID_TOOLSET, f"The default tool {default!r} is not among {', '.join(runtimes)}.")
    stray = [t for t in args if t not in runtimes]
    if stray:
        return error(Code.E_INVALID_ARGS, f"Arguments are given for {', '.join(stray)}, which is not enabled.")
    return None
