"""`agents.json` in a runner's directory: the agents that a person added on its machine. The command line writes it, the
runner reads it when it has changed; an entry is written as in the daemon's config.json."""

from collections.abc import Iterable
from pathlib import Path
from typing import Final

import msgspec

from fairlead.core.agents import ConfiguredAgent
from fairlead.kit.files import REAL_DISK, Disk, make_private_directory, replace_durably
from fairlead.store.config_file import CONFIG_VERSION, config_agent, configured_agents, read_config

AGENTS_FILE_NAME: Final = "agents.json"
Stamp = tuple[int, int, int]


class AgentsFile:
    def __init__(self, directory: Path, disk: Disk = REAL_DISK) -> None:
        self.path = directory / AGENTS_FILE_NAME
        self._disk = disk

    def read(self) -> dict[str, ConfiguredAgent]:
        """By name. Raises E_CONFIG, with the line of the mistake."""
        config = read_config(self.path, self._disk)
        return {} if config is None else {agent.name: agent for agent in configured_agents(config)}

    def write(self, agents: Iterable[ConfiguredAgent]) -> None:
        """Durable when this returns. Who changes the file holds the lock of the agents' files."""
        make_private_directory(self.path.parent, disk=self._disk)
        entries = {agent.name: config_agent(agent) for agent in agents}
        content = {"version": CONFIG_VERSION, "agents": entries}
        replace_durably(self.path, msgspec.json.format(msgspec.json.encode(content)) + b"\n", disk=self._disk)

    def stamp(self) -> Stamp | None:
        """Another one after every change; None where there is no file."""
        try:
            found = self.path.stat()
        except OSError:
            return None
        return found.st_ino, found.st_size, found.st_mtime_ns
