"""What a person changed in config.json by hand, as commands to be decided like any other."""

from pathlib import Path

import msgspec

from fairlead.core.decide.projects import CreateProject, UpdateProject
from fairlead.core.state import State
from fairlead.kit.files import Disk
from fairlead.ports import Directories
from fairlead.store.config_file import ConfigProject, is_edited, read_config


class Edits(msgspec.Struct, frozen=True):
    owner_id: str = ""
    commands: tuple[CreateProject | UpdateProject, ...] = ()


def read_edits(path: Path, state: State, directories: Directories, disk: Disk) -> Edits:
    """No edits if the file is missing or nobody edited it: then the journal is newer."""
    config = read_config(path, disk)
    if config is None or not is_edited(config):
        return Edits()
    commands = tuple(_command(p, state, directories) for p in config.projects.values())
    return Edits(config.owner_id, commands)


def _command(project: ConfigProject, state: State, directories: Directories) -> CreateProject | UpdateProject:
    facts = directories.inspect(project.path)
    runtimes, default, args = project.enabled_tools, project.default_tool, _given_args(project)
    if project.name in state.projects:
        return UpdateProject(name=project.name, directory=facts, runtimes=runtimes, default_runtime=default, args=args)
    return CreateProject(name=project.name, directory=facts, runtimes=runtimes, default_runtime=default, args=args)


def _given_args(project: ConfigProject) -> dict[str, tuple[str, ...]]:
    """The file shows an empty list for a tool without arguments."""
    return {tool: args for tool, args in project.default_args.items() if args}
