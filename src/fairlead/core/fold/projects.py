"""The rules for projects, and for who works in which of them."""

import msgspec

from fairlead.core import events as e
from fairlead.core.fold import budgets, hooks, questions, worktrees
from fairlead.core.state import Person, Project, State


def project_created(state: State, ts: str, event: e.ProjectCreated) -> None:
    """Also brings back a project that was removed, under its own number."""
    state.projects_made = max(state.projects_made, event.number)
    state.projects[event.name] = Project(
        number=event.number,
        name=event.name,
        path=event.path,
        enabled_runtimes=event.enabled_runtimes,
        default_runtime=event.default_runtime,
        default_args=event.default_args,
        source=event.source,
        workspace=event.workspace,
        tools_chosen=event.tools_chosen,
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
    project.tools_chosen = event.tools_chosen
    project.updated_at = ts


def project_renamed(state: State, ts: str, event: e.ProjectRenamed) -> None:
    """Everything that names the project gets the new name; its number, its path and its workspace stay."""
    project = state.projects.get(event.name)
    if project is None:
        return
    project.workspace = project.workspace_name
    project.name = event.new_name
    project.updated_at = ts
    state.projects = {p.name: p for p in state.projects.values()}
    for named in (*state.people.values(), *state.sessions.values(), *state.jobs.values()):
        if named.project == event.name:
            named.project = event.new_name
    for rule in state.rules.values():
        if rule.project == event.name:
            rule.project = event.new_name
    hooks.rename_project(state, event.name, event.new_name)
    budgets.rename_project(state, event.name, event.new_name)
    for schedule in state.schedules.values():
        if schedule.terms.project == event.name:
            schedule.terms = msgspec.structs.replace(schedule.terms, project=event.new_name)
    for entry in state.outbox.values():
        if entry.opening is not None and entry.opening.project == event.name:
            entry.opening = msgspec.structs.replace(entry.opening, project=event.new_name)
    questions.rename_project(state, event.name, event.new_name)
    worktrees.rename_project(state, event.name, event.new_name)


def project_removed(state: State, ts: str, event: e.ProjectRemoved) -> None:
    """The project stays in the state, because its sessions and jobs name it; nobody's next session begins in it."""
    project = state.projects.get(event.name)
    if project is None:
        return
    project.removed = True
    project.updated_at = ts
    for person in state.people.values():
        if person.project == event.name:
            person.project = ""
    state.rules = {number: rule for number, rule in state.rules.items() if rule.project != event.name}


def project_switched(state: State, ts: str, event: e.ProjectSwitched) -> None:
    state.people.setdefault(event.person, Person()).project = event.project
    session = state.sessions.get(event.session_key)
    if session is not None:
        session.project = event.project
        session.runtime = event.runtime
        session.updated_at = ts
