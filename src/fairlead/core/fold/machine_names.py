"""The rule for a machine that gets another name: everything in the state that names it, by name or by path, follows.

A machine is part of the names of its projects (`gpu/trainer`) and agents (`gpu/claude`), of paths (`gpu:/srv/trainer`)
and of what is made of both (resume slots). What is found here by one of those must be found by the new one."""

from collections.abc import Callable
from typing import TypeVar

from msgspec.structs import replace

from fairlead.core import events as e
from fairlead.core.fold import projects
from fairlead.core.machines.places import machine_of, renamed_name, renamed_place
from fairlead.core.state import Session, State, resume_slot

_Kept = TypeVar("_Kept")
Rename = Callable[[str], str]


def machine_renamed(state: State, ts: str, event: e.MachineRenamed) -> None:
    machine = state.machines.get(event.name)
    if machine is None:
        return
    machine.name = event.new_name
    state.machines = {known.name: known for known in state.machines.values()}

    def of_name(name: str) -> str:
        return renamed_name(name, event.name, event.new_name)

    def of_path(path: str) -> str:
        return renamed_place(path, event.name, event.new_name)

    for project in [p for p in state.projects.values() if machine_of(p.path) == event.name]:
        projects.project_renamed(state, ts, e.ProjectRenamed(project.name, of_name(project.name)))
        project.path = of_path(project.path)
        project.enabled_runtimes = tuple(map(of_name, project.enabled_runtimes))
        project.default_runtime = of_name(project.default_runtime)
        project.default_args = {of_name(agent): args for agent, args in project.default_args.items()}
    for session in state.sessions.values():
        _rename_in_session(session, of_name, of_path)
    for job in state.jobs.values():
        job.runtime = job.runtime and of_name(job.runtime)
        job.project_path = of_path(job.project_path)
    _rename_in_trees(state, of_path)
    _rename_agents(state, of_name)


def _rename_in_session(session: Session, of_name: Rename, of_path: Rename) -> None:
    def of_slot(slot: str) -> str:
        agent, _, path = slot.partition(" ")
        return resume_slot(of_name(agent), of_path(path))

    session.runtime = of_name(session.runtime)
    session.models = _with_keys(session.models, of_name)
    session.resume_keys = _with_keys(session.resume_keys, of_slot)
    session.unproven = [of_slot(slot) for slot in session.unproven]
    session.forks = _with_keys(session.forks, of_slot)
    session.points = _with_keys(session.points, of_slot)
    if session.hand_off is not None:
        session.hand_off = replace(
            session.hand_off,
            runtime=of_name(session.hand_off.runtime),
            project_path=of_path(session.hand_off.project_path),
        )


def _with_keys(kept: dict[str, _Kept], rename: Rename) -> dict[str, _Kept]:
    return {rename(key): value for key, value in kept.items()}


def _rename_in_trees(state: State, of_path: Rename) -> None:
    for worktree in state.worktrees.values():
        worktree.repository, worktree.path = of_path(worktree.repository), of_path(worktree.path)
        worktree.directory, worktree.common_dir = of_path(worktree.directory), of_path(worktree.common_dir)
    for discarded in state.discarded_worktrees.values():
        discarded.repository = of_path(discarded.repository)
    for undo in list(state.undos.values()):
        state.undos[undo.undo_id] = replace(undo, project_path=of_path(undo.project_path))


def _rename_agents(state: State, of_name: Rename) -> None:
    """Where an agent is named beside its project."""
    for hook in list(state.hooks.values()):
        state.hooks[hook.name] = replace(hook, runtime=of_name(hook.runtime))
    for entry in state.outbox.values():
        if entry.opening is not None:
            entry.opening = replace(entry.opening, runtime=of_name(entry.opening.runtime))
    for day in state.spending.values():
        for project, spent in day.items():
            by_agent = tuple(replace(part, agent=of_name(part.agent)) for part in spent.by_agent)
            day[project] = replace(spent, by_agent=by_agent)
