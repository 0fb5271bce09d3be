"""Deciding about projects: names, numbers, tools, which one a session works in. The caller has looked at the paths."""

import re
from typing import Final

import msgspec

from fairlead.core.agents import ECHO
from fairlead.core.conversation import ConversationRef
from fairlead.core.decide.decision import Decision, refuse
from fairlead.core.decide.enabled_agents import find_agent_problem
from fairlead.core.events import (
    JournalEvent,
    ProjectCreated,
    ProjectRemoved,
    ProjectRenamed,
    ProjectSwitched,
    ProjectUpdated,
    ProjectWorktreesSet,
    SessionCreated,
    ToolChanged,
)
from fairlead.core.keys import SessionKey
from fairlead.core.limits import Limits
from fairlead.core.machines.places import machine_of, machine_of_name, name_there, names_on, own_name
from fairlead.core.state import Job, Project, Session, State
from fairlead.core.worktree_plans import plan_by_default
from fairlead.errors import Code, FairleadError, error

_NO_PROJECT: Final = "No project is registered yet. `/project add PATH` registers one."
NAME_PATTERN: Final = re.compile(r"([a-z][a-z0-9-]{0,31}/)?[a-z0-9_-]{1,40}")
FROM_COMMAND: Final = "command"
"""The source of a project that a person registered, and no setting."""


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
    """Register a directory under a name made from its own. A directory that is there already is no error; one whose
    project was removed gets it back, with its number and its name, if a person asks for it."""

    directory: DirectoryFacts
    source: str = FROM_COMMAND


class UpdateProject(msgspec.Struct, frozen=True, kw_only=True):
    """Take over what a person wrote into config.json, or that a path came or went. `worktrees` is None where nothing is
    said about them."""

    name: str
    directory: DirectoryFacts
    runtimes: tuple[str, ...]
    default_runtime: str
    args: dict[str, tuple[str, ...]] = {}
    worktrees: bool | None = None


class FollowAgents(msgspec.Struct, frozen=True):
    """Agents may have been installed: every project whose agents nobody chose gets those that are new."""


class RenameProject(msgspec.Struct, frozen=True):
    project: str
    new_name: str


class RemoveProject(msgspec.Struct, frozen=True):
    project: str
    person: str


class SwitchProject(msgspec.Struct, frozen=True):
    """With a `runtime`, the session also goes on with this agent; else it keeps its own where the project allows it."""

    project: str
    session_key: SessionKey
    conversation: ConversationRef
    person: str
    runtime: str = ""


def create_project(state: State, command: CreateProject, _now: str, limits: Limits) -> Decision:
    before = _removed_project_at(state, command.directory)
    back = before if before is not None and before.name == command.name else None
    problem = (
        (_name_problem(state, command.name, machine_of(command.directory.real_path)) if back is None else None)
        or _path_problem(command.directory)
        or _runtime_problem(command.runtimes, command.default_runtime, command.args, limits)
    )
    if problem is not None:
        return Decision(refusal=problem)
    event = ProjectCreated(
        number=state.projects_made + 1 if back is None else back.number,
        name=command.name,
        workspace="" if back is None else back.workspace,
        path=command.directory.real_path,
        enabled_runtimes=command.runtimes,
        default_runtime=command.default_runtime,
        default_args=command.args,
        tools_chosen=True,
    )
    return Decision((event,), project=command.name)


def add_project(state: State, command: AddProject, _now: str, limits: Limits) -> Decision:
    problem = _path_problem(command.directory)
    if problem is not None:
        return Decision(refusal=problem)
    known = next((p for p in state.listed_projects() if p.path == command.directory.real_path), None)
    back = _removed_project_at(state, command.directory)
    if back is not None and command.source != FROM_COMMAND:
        known = back  # a person removed it: the settings of an earlier day do not bring it back
    if known is not None:
        return Decision(project=known.name, duplicate=True)
    machine = machine_of(command.directory.real_path)
    runtimes = names_on(machine, limits.runtimes)
    if not runtimes:
        return refuse(Code.E_MACHINE_AWAY, f"{machine} has not said which agents it has.")
    name = free_name(state, command.directory.given) if back is None else back.name
    event = ProjectCreated(
        number=state.projects_made + 1 if back is None else back.number,
        name=name,
        workspace="" if back is None else back.workspace,
        path=command.directory.real_path,
        enabled_runtimes=runtimes,
        default_runtime=runtimes[0],
        source=command.source,
        tools_chosen=False,
    )
    return Decision((event,), project=name)


def _removed_project_at(state: State, directory: DirectoryFacts) -> Project | None:
    return next((p for p in state.projects.values() if p.removed and p.path == directory.real_path), None)


def rename_project(state: State, command: RenameProject, _now: str, _limits: Limits) -> Decision:
    project = state.project_named(command.project)
    if project is None:
        return refuse(Code.E_PROJECT_NOT_FOUND, f"There is no project {command.project[:60]!r}.")
    machine = machine_of(project.path)
    new_name = command.new_name if "/" in command.new_name else name_there(machine, command.new_name)
    if project.name == new_name:
        return Decision(project=project.name)
    problem = _name_problem(state, new_name, machine, renamed=project)
    if problem is not None:
        return Decision(refusal=problem)
    return Decision((ProjectRenamed(project.name, new_name),), project=new_name)


def remove_project(state: State, command: RemoveProject, _now: str, _limits: Limits) -> Decision:
    """Not while something runs or waits in it: a job that a person waits for must not vanish under them."""
    project = state.project_named(command.project)
    if project is None:
        return refuse(Code.E_PROJECT_NOT_FOUND, f"There is no project {command.project[:60]!r}.")
    busy = [job.job_id for job in state.jobs.values() if job.is_live and _project_of(state, job) == project.name]
    starting = [e for e in state.outbox.values() if e.opening is not None and e.opening.project == project.name]
    if busy or starting:
        what = ", ".join(busy[:5]) or "a session that is being started"
        return refuse(Code.E_PROJECT_IN_USE, f"Still active in {project.name}: {what}.")
    return Decision((ProjectRemoved(project.name, command.person),), project=project.name)


def _project_of(state: State, job: Job) -> str:
    """The project that a live job runs in, or will: before its start a job goes where its session is."""
    return job.project or state.sessions[job.session_key].project


def update_project(state: State, command: UpdateProject, _now: str, limits: Limits) -> Decision:
    project = state.projects.get(command.name)
    if project is not None and project.removed:
        return create_project(state, _as_new(command), _now, limits)
    if project is None:
        return refuse(Code.E_PROJECT_NOT_FOUND, f"There is no project {command.name!r}.")
    problem = _runtime_problem(
        command.runtimes, command.default_runtime, command.args, limits, known=project.enabled_runtimes
    )
    if problem is not None:
        return Decision(refusal=problem)
    chooses = (command.runtimes, command.default_runtime) != (project.enabled_runtimes, project.default_runtime)
    event = ProjectUpdated(
        name=command.name,
        path=command.directory.real_path or project.path,
        enabled_runtimes=command.runtimes,
        default_runtime=command.default_runtime,
        default_args=command.args,
        disabled=command.directory.problem,
        tools_chosen=chooses or not project.has_all_agents,
    )
    unchanged = (
        event.path == project.path
        and event.enabled_runtimes == project.enabled_runtimes
        and event.default_runtime == project.default_runtime
        and event.default_args == project.default_args
        and event.disabled == project.disabled
    )
    wanted = project.worktrees if command.worktrees is None else command.worktrees
    chosen = () if wanted == project.worktrees else (ProjectWorktreesSet(command.name, wanted),)
    return Decision((*(() if unchanged else (event,)), *chosen), project=command.name)


def follow_agents(state: State, _command: FollowAgents, _now: str, limits: Limits) -> Decision:
    """A project that had nothing but echo moves to the first real agent, and its sessions with it: nobody chose echo.
    An agent that is gone stays on the list, because it may come back."""
    events: list[JournalEvent] = []
    for project in state.listed_projects():
        here = names_on(machine_of(project.path), limits.runtimes)
        new = [name for name in here if name not in project.enabled_runtimes]
        if not new or not project.has_all_agents:
            continue
        moves = {own_name(name) for name in project.enabled_runtimes} == {ECHO}
        default = new[0] if moves else project.default_runtime
        gone = [name for name in project.enabled_runtimes if name not in here]
        events.append(
            ProjectUpdated(
                name=project.name,
                path=project.path,
                enabled_runtimes=(*here, *gone),
                default_runtime=default,
                default_args=project.default_args,
                disabled=project.disabled,
                tools_chosen=False,
            )
        )
        if moves:
            talks = [s for s in state.sessions.values() if s.project == project.name and own_name(s.runtime) == ECHO]
            events += [ToolChanged(session.session_key, default) for session in talks]
    return Decision(tuple(events))


def _as_new(command: UpdateProject) -> CreateProject:
    return CreateProject(
        name=command.name,
        directory=command.directory,
        runtimes=command.runtimes,
        default_runtime=command.default_runtime,
        args=command.args,
    )


def switch_project(state: State, command: SwitchProject, now: str, limits: Limits) -> Decision:
    project = state.project_named(command.project)
    if project is None:
        return refuse(Code.E_PROJECT_NOT_FOUND, f"There is no project {command.project[:60]!r}.")
    if project.disabled:
        return Decision(refusal=_disabled_error(project))
    problem = find_agent_problem(state, command.runtime, project) if command.runtime else None
    if problem is not None:
        return Decision(refusal=problem)
    session = state.sessions.get(command.session_key.text)
    runtime = command.runtime or runtime_to_keep(session, project)
    events: list[JournalEvent] = []
    if session is None:
        events.append(
            SessionCreated(
                session_key=command.session_key.text,
                session_id=command.session_key.session_id,
                project=project.name,
                runtime=runtime,
                conversation=command.conversation,
                person=command.person,
            )
        )
    switched = ProjectSwitched(command.session_key.text, command.person, project.name, runtime)
    if session is None or not _is_there_already(state, session, switched):
        events.append(switched)
    if session is None or session.project != project.name:
        events += plan_by_default(
            state,
            session_key=command.session_key.text,
            project=project,
            person=command.person,
            title="" if session is None else session.title,
            now=now,
            limits=limits,
        )
    return Decision(tuple(events), project=project.name)


def _is_there_already(state: State, session: Session, switched: ProjectSwitched) -> bool:
    person = state.people.get(switched.person)
    is_persons = person is not None and person.project == switched.project
    return is_persons and (session.project, session.runtime) == (switched.project, switched.runtime)


def runtime_called(name: str, project: Project) -> str:
    """What a person calls `claude` is `gpu/claude` in a project on gpu."""
    there = name_there(machine_of(project.path), name)
    return there if name not in project.enabled_runtimes and there in project.enabled_runtimes else name


def runtime_to_keep(session: Session | None, project: Project) -> str:
    """The session's tool stays where the project allows it; on another machine, the one of the same name there."""
    if session is None:
        return project.default_runtime
    there = name_there(machine_of(project.path), own_name(session.runtime))
    return there if there in project.enabled_runtimes else project.default_runtime


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
            return _missing_error(state, name)
        return _disabled_error(project) if project.disabled else project
    usable = [p for p in state.listed_projects() if not p.disabled]
    if len(usable) == 1:
        return usable[0]
    if usable:
        names = ", ".join(p.name for p in usable[:10])
        return error(Code.E_PROJECT_NOT_SELECTED, f"There are several projects ({names}) and none is selected.")
    return error(Code.E_PROJECT_NOT_SELECTED, _NO_PROJECT)


def _missing_error(state: State, name: str) -> FairleadError:
    asked = name.removeprefix("#")
    removed = next((p for p in state.projects.values() if p.removed and asked in {p.name, str(p.number)}), None)
    if removed is None:
        # Where there is none at all, the list of projects is no help.
        how = "" if state.listed_projects() else _NO_PROJECT
        return error(Code.E_PROJECT_NOT_FOUND, f"There is no project {name[:60]!r}.", next_step=how)
    return error(
        Code.E_PROJECT_NOT_FOUND,
        f"Project {removed.name} was removed.",
        next_step=f"/project switch chooses another one; /project add {removed.path} registers it again.",
    )


def _name_problem(state: State, name: str, machine: str = "", renamed: Project | None = None) -> FairleadError | None:
    """The name of a project on another machine begins with that machine's, and no other name has a slash."""
    if not NAME_PATTERN.fullmatch(name) or machine_of_name(name) != machine:
        return error(Code.E_INVALID_NAME, f"{name[:60]!r} cannot be a project's name.")
    owner = next((p for p in state.projects.values() if name in {p.name, p.workspace_name} and p is not renamed), None)
    if owner is None:
        return None
    if owner.removed:
        return error(
            Code.E_PROJECT_EXISTS, f"{name!r} is the name of a project that was removed; its history keeps the name."
        )
    had = "" if owner.name == name else f": it was an earlier name of {owner.name!r}, whose workspace still uses it"
    return error(Code.E_PROJECT_EXISTS, f"Project {name!r} exists{had}.")


def free_name(state: State, path: str) -> str:
    """The directory's name, made fit for a project's name, with a number behind it on a clash. On another machine it
    begins with that machine's."""
    machine = machine_of(path)
    last = path.rstrip("/").rpartition("/")[2].lower()
    fit = re.sub(r"[^a-z0-9_-]", "-", last)[:40] or "project"
    taken = {name for p in state.projects.values() for name in (p.name, p.workspace_name)}
    if name_there(machine, fit) not in taken:
        return name_there(machine, fit)
    candidates = (name_there(machine, f"{fit[: 40 - len(str(n)) - 1]}-{n}") for n in range(2, len(taken) + 3))
    return next(name for name in candidates if name not in taken)


def _path_problem(directory: DirectoryFacts) -> FairleadError | None:
    return error(Code.E_INVALID_PATH, directory.problem) if directory.problem else None


def _disabled_error(project: Project) -> FairleadError:
    return error(
        Code.E_INVALID_PATH,
        f"Project {project.name!r} is disabled: {project.disabled}",
        next_step="Restore the directory and restart Fairlead, or choose another project with /project switch.",
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
        return error(Code.E_INVALID_TOOLSET, f"Agents named: {named}. Available: {available}.")
    if default not in runtimes:
        return error(Code.E_INVALID_TOOLSET, f"The default agent {default!r} is not among {', '.join(runtimes)}.")
    broken = [t for t, given in args.items() if any("\0" in argument for argument in given)]
    if broken:
        return error(Code.E_INVALID_ARGS, f"An argument for {', '.join(broken)} holds a NUL character.")
    stray = [t for t in args if t not in runtimes]
    if stray:
        return error(Code.E_INVALID_ARGS, f"Arguments are given for {', '.join(stray)}, which is not enabled.")
    return None
