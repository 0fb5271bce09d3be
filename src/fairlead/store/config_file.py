"""`config.json`: a readable copy of what the journal says about owner, projects and agents.

The file holds the hash of its own content. A stale file that nobody edited is rewritten; the changes of a file that a
person edited are decided like any command. A mistake in it stops the start and names the line; a missing path does not.
"""

import hashlib
import json
import re
from pathlib import Path
from typing import Any, Final

import msgspec

from fairlead.core.agents import FROM_CONFIG, ConfiguredAgent, find_mistake
from fairlead.core.decide.projects import NAME_PATTERN
from fairlead.core.machines.places import path_there
from fairlead.core.state import Project, State
from fairlead.errors import Code, FairleadError, error
from fairlead.kit.files import Disk, read_if_there, replace_durably
from fairlead.render.errors import error_text
from fairlead.settings import OWN_VARIABLES
from fairlead.store.config_mistakes import describe_mistake

CONFIG_NAME: Final = "config.json"
CONFIG_VERSION: Final = 1


class ConfigProject(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    name: str
    path: str
    enabled_tools: tuple[str, ...]
    default_tool: str
    default_args: dict[str, tuple[str, ...]] = {}
    number: int = 0
    disabled: str = ""
    created_at: str = ""
    updated_at: str = ""
    worktree: bool | msgspec.UnsetType = msgspec.UNSET
    """Left out where it is no: an earlier version wrote it so, and the hash must stay right."""


class ConfigAgent(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """`env` has names of variables, never values. The last three fields say what Fairlead installed."""

    command: tuple[str, ...]
    env: tuple[str, ...] = ()
    version: str = ""
    digest: str = ""
    source: str = FROM_CONFIG


class Config(msgspec.Struct, forbid_unknown_fields=True):
    """Without agents, the file has no `agents`: an earlier version wrote it so, and its hash must stay right."""

    version: int
    owner_id: str = ""
    projects: dict[str, ConfigProject] = {}
    agents: dict[str, ConfigAgent] | msgspec.UnsetType = msgspec.UNSET
    content_hash: str = ""


def read_config(path: Path, disk: Disk) -> Config | None:
    """The file, checked; None if it is not there."""
    try:
        data = read_if_there(path, disk=disk)
    except OSError as fault:
        raise error(Code.E_CONFIG, f"{path} cannot be read: {fault.strerror or fault}.") from fault
    if data is None:
        return None
    try:
        raw = json.loads(data)
    except ValueError as fault:
        place = f" (line {fault.lineno}, column {fault.colno})" if isinstance(fault, json.JSONDecodeError) else ""
        raise error(Code.E_CONFIG, f"{path} is not valid JSON{place}.") from None
    try:
        config = msgspec.convert(raw, Config)
    except msgspec.ValidationError as fault:
        entry = _find_entry(raw)
        mistake = describe_mistake(str(fault), entry)
        raise _at_line(path, data, mistake, at=entry, words=_names_in(str(fault))) from None
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
    projects = {p.name: shown_project(p) for p in state.projects.values() if not p.removed}
    agents = {a.name: config_agent(a) for a in state.agents.values()}
    config = Config(CONFIG_VERSION, state.owner_id, projects, agents or msgspec.UNSET)
    content = _without_hash(config)
    return json.dumps(content | {"content_hash": _hash(content)}, indent=2, ensure_ascii=False).encode() + b"\n"


def shown_project(project: Project) -> ConfigProject:
    """The project as the file shows it."""
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
        worktree=True if project.worktrees else msgspec.UNSET,
    )


def config_agent(agent: ConfiguredAgent) -> ConfigAgent:
    return ConfigAgent(
        command=agent.command, env=agent.env, version=agent.version, digest=agent.digest, source=agent.source
    )


def configured_agents(config: Config) -> tuple[ConfiguredAgent, ...]:
    given = config.agents or {}
    return tuple(ConfiguredAgent(name=name, **msgspec.structs.asdict(agent)) for name, agent in given.items())


def _without_hash(config: Config) -> dict[str, Any]:
    content = msgspec.to_builtins(config)
    del content["content_hash"]
    return content


def _hash(content: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]


def _check(path: Path, data: bytes, config: Config) -> None:
    if config.version != CONFIG_VERSION:
        raise error(
            Code.E_CONFIG,
            f"{path}: version {config.version} is not known; this Fairlead reads version {CONFIG_VERSION}.",
        )
    for key, project in config.projects.items():
        mistake = _mistake(key, project)
        if mistake:
            raise _at_line(path, data, mistake, at=("projects", key))
    for agent in configured_agents(config):
        found = find_mistake(agent, OWN_VARIABLES)
        if found is not None:
            raise _at_line(path, data, found.sentence, at=("agents", agent.name), words=(found.token,))


def _mistake(key: str, project: ConfigProject) -> str:
    if key != project.name:
        return f"project {key!r} calls itself {project.name!r}"
    if not NAME_PATTERN.fullmatch(project.name):
        return f"project name {project.name!r} is not 1 to 40 characters of a-z, 0-9, - and _"
    if not path_there(project.path).startswith("/"):
        return f"project {key!r}: path {project.path!r} is not absolute"
    if project.default_tool not in project.enabled_tools:
        return f"project {key!r}: default_tool {project.default_tool!r} is not among enabled_tools"
    return ""


def refused_edit(path: Path, disk: Disk, section: str, name: str, problem: FairleadError) -> FairleadError:
    """The refusal of an edit of the project or agent `name`, with the line of the file where it stands."""
    what = error_text(problem).what.rstrip(".")
    mistake = f"{section.removesuffix('s')} {name!r}: {what}"
    return _at_line(path, disk.read(path), mistake, at=(section, name))


def _find_entry(raw: Any) -> tuple[str, ...]:
    """The section and the name of the entry that cannot be understood; empty if the mistake is elsewhere."""
    for section, kind in (("projects", ConfigProject), ("agents", ConfigAgent)):
        for name, entry in _entries(raw, section).items():
            try:
                msgspec.convert(entry, kind)
            except msgspec.ValidationError:
                return section, name
    return ()


def _entries(raw: Any, section: str) -> dict[str, Any]:
    try:
        return msgspec.convert(raw, dict[str, Any]).get(section) or {}
    except (msgspec.ValidationError, AttributeError):
        return {}


def _names_in(mistake: str) -> tuple[str, ...]:
    """The fields that a sentence of msgspec's names: "Expected `array`, got `str` - at `$.agents[...].env`"."""
    return tuple(re.findall(r"[`.](\w+)`", mistake))


def _at_line(
    path: Path, data: bytes, mistake: str, *, at: tuple[str, ...], words: tuple[str, ...] = ()
) -> FairleadError:
    """The error with its line: `at` are the keys that lead to the entry, `words` what is wrong in it."""
    line = _find_line(data.decode(errors="replace"), at, words)
    return error(Code.E_CONFIG, f"{path}, line {line}: {mistake}.", next_step="Correct the file and start again.")


def _find_line(text: str, keys: tuple[str, ...], words: tuple[str, ...]) -> int:
    """The line of the last of them that is found, each looked for behind the one before."""
    patterns = [*(rf"{_quote(key)}\s*:" for key in keys), *map(_quote, words)]
    place = 0
    for pattern in patterns:
        found = re.compile(pattern).search(text, place)
        place = found.start() if found is not None else place
    return text.count("\n", 0, place) + 1


def _quote(word: str) -> str:
    return re.escape(json.dumps(word, ensure_ascii=False))
