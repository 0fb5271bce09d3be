"""What a person changed in config.json by hand, as commands to be decided like any other."""

from pathlib import Path

import msgspec

from fairlead.core.agents import FROM_CONFIG, ConfiguredAgent
from fairlead.core.decide.agents import ConfigureAgent, RemoveAgent
from fairlead.core.decide.projects import CreateProject, UpdateProject
from fairlead.core.state import State
from fairlead.kit.files import Disk
from fairlead.ports import Directories
from fairlead.store.config_file import (
    Config,
    ConfigProject,
    configured_agents,
    is_edited,
    read_config,
    shown_project,
)


class Edits(msgspec.Struct, frozen=True, kw_only=True):
    owner_id: str = ""
    agents: tuple[ConfigureAgent | RemoveAgent, ...] = ()
    projects: tuple[CreateProject | UpdateProject, ...] = ()


def read_edits(path: Path, state: State, directories: Directories, disk: Disk) -> Edits:
    """No edits if the file is missing or nobody edited it: then the journal is newer."""
    config = read_config(path, disk)
    if config is None or not is_edited(config):
        return Edits()
    changed = [p for p in config.projects.values() if not _is_as_shown(p, state)]
    return Edits(
        owner_id=config.owner_id,
        agents=(*_agents_to_configure(config, state), *_agents_to_remove(config, state)),
        projects=tuple(_command(p, state, directories) for p in changed),
    )


def _agents_to_configure(config: Config, state: State) -> list[ConfigureAgent]:
    written = [_with_installed_version(agent, state.agents.get(agent.name)) for agent in configured_agents(config)]
    return [ConfigureAgent(agent) for agent in written if state.agents.get(agent.name) != agent]


def _with_installed_version(written: ConfiguredAgent, known: ConfiguredAgent | None) -> ConfiguredAgent:
    """The files of a version that was installed earlier may be gone: a person who edited the file before an update
    changes the variables of the agent, not its version."""
    if known is None or written.source != known.source or written.version == known.version:
        return written
    return msgspec.structs.replace(known, env=written.env)


def _agents_to_remove(config: Config, state: State) -> list[RemoveAgent]:
    """An agent that a person wrote into the file goes when the person takes it out. One that a command added stays: the
    file may have been edited before that, and never have shown it."""
    if config.agents is msgspec.UNSET:
        return []
    written = {agent.name for agent in configured_agents(config)}
    gone = [a.name for a in state.agents.values() if a.source == FROM_CONFIG and a.name not in written]
    return [RemoveAgent(name=name, even_if_used=True) for name in gone]


def _is_as_shown(project: ConfigProject, state: State) -> bool:
    """Nobody touched this project in the file. Its list of tools must not undo that it allows an agent which the same
    edit adds."""
    known = state.projects.get(project.name)
    return known is not None and shown_project(known) == project


def _command(project: ConfigProject, state: State, directories: Directories) -> CreateProject | UpdateProject:
    facts = directories.inspect(project.path)
    runtimes, default, args = project.enabled_tools, project.default_tool, _given_args(project)
    if project.name in state.projects:
        return UpdateProject(
            name=project.name,
            directory=facts,
            runtimes=runtimes,
            default_runtime=default,
            args=args,
            worktrees=project.worktree is True,
        )
    return CreateProject(name=project.name, directory=facts, runtimes=runtimes, default_runtime=default, args=args)


def _given_args(project: ConfigProject) -> dict[str, tuple[str, ...]]:
    """The file shows an empty list for a tool without arguments."""
    return {tool: args for tool, args in project.default_args.items() if args}
