"""`config.json`: a readable copy of what the journal says about owner and projects.

The file holds the hash of its own content. A stale file that nobody edited is rewritten; the changes of a file that a
person edited are decided like any command. A mistake in it stops the start and names the line; a missing path does not.
"""

import hashlib
import json
from pathlib import Path
from typing import Any, Final

import msgspec

from fairlead.core.decide.projects import NAME_PATTERN
from fairlead.core.state import Project, State
from fairlead.errors import Code, FairleadError, error
from fairlead.kit.files import Disk, read_if_there, replace_durably
from fairlead.render.errors import error_text

CONFIG_NAME: Final = "config.json"


class ConfigProject(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    path: str
    enabled_tools: tuple[str, ...]
    default_tool: str
    default_args: dict[str, tuple[str, ...]] = {}
    number: int = 0
    disabled: str = ""
    created_at: str = ""
    updated_at: str = ""


class Config(msgspec.Struct, forbid_unknown_fields=True):
    version: int
    owner_id: str = ""
    projects: dict[str, ConfigProject] = {}
    content_hash: str = ""


def read_config(path: Path, disk: Disk) -> Config | None:
    """The file, checked; None if it is not there."""
    data = read_if_there(path, disk=disk)
    if data is None:
        return None
    try:
        raw = json.loads(data)
    except ValueError as fault:
        raise error(Code.E_CONFIG, f"{path} is no JSON: {fault}.") from None
    try:
        config = msgspec.convert(raw, Config)
    except msgspec.ValidationError as fault:
        raise _at_line(path, data, str(fault)) from None
    _check(path, data, config)
    return config


def is_edited(config: Config) -> bool:
    return config.content_hash != _hash(_without_hash(config))


def was_edited(path: Path, disk: Disk) -> bool:
    """Whether somebody changed the file, or is changing it now, so that it cannot even be understood."""
    try:
        config = read_config(path, disk)
    except FairleadError:
        return True
    return config is not None and is_edited(config)


def write_config(path: Path, data: bytes, disk: Disk) -> None:
    """Writes only if the content has changed."""
    if read_if_there(path, disk=disk) != data:
        replace_durably(path, data, disk=disk)


def encode_config(state: State) -> bytes:
    config = Config(1, state.owner_id, {p.name: _config_project(p) for p in state.projects.values()})
    content = _without_hash(config)
    return json.dumps(content | {"content_hash": _hash(content)}, indent=2, ensure_ascii=False).encode() + b"\n"


def _config_project(project: Project) -> ConfigProject:
    return ConfigProject(
        name=project.name,
        path=project.path,
        enabled_tools=project.enabled_runtimes,
        default_tool=project.default_runtime,
        default_args={name: project.default_args.get(name, ()) for name in project.enabled_runtimes},
        number=project.number,
        disabled=project.disabled,
        created_at=project.created_at,
        updated_at=project.updated_at,
    )


def _without_hash(config: Config) -> dict[str, Any]:
    content = msgspec.to_builtins(config)
    del content["content_hash"]
    return content


def _hash(content: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]


def _check(path: Path, data: bytes, config: Config) -> None:
    if config.version != 1:
        raise error(Code.E_CONFIG, f"{path}: version {config.version} is not known; this Fairlead reads version 1.")
    for key, project in config.projects.items():
        mistake = _mistake(key, project)
        if mistake:
            raise _at_line(path, data, mistake, near=key)


def _mistake(key: str, project: ConfigProject) -> str:
    if key != project.name:
        return f"project {key!r} calls itself {project.name!r}"
    if not NAME_PATTERN.fullmatch(project.name):
        return f"project name {project.name!r} is not 1 to 40 characters of a-z, 0-9, - and _"
    if not project.path.startswith("/"):
        return f"project {key!r}: path {project.path!r} is not absolute"
    if project.default_tool not in project.enabled_tools:
        return f"project {key!r}: default_tool {project.default_tool!r} is not among enabled_tools"
    return ""


def refused_edit(path: Path, disk: Disk, name: str, problem: FairleadError) -> FairleadError:
    """The refusal of an edit of project `name`, with the line of the file where it stands."""
    return _at_line(path, disk.read(path), f"project {name!r}: {error_text(problem).what.rstrip('.')}", near=name)


def _at_line(path: Path, data: bytes, mistake: str, near: str = "") -> FairleadError:
    """The error, with the line of the project, or of the field that the mistake names."""
    wanted = near or mistake.rpartition("$")[2].strip("`.[]'\" ").rpartition(".")[2]
    numbered = enumerate(data.decode(errors="replace").splitlines(), 1)
    line = next((n for n, text in numbered if wanted and f'"{wanted}"' in text), 1)
    return error(Code.E_CONFIG, f"{path}, line {line}: {mistake}.", next_step="Correct the file and start again.")
