"""config.json as a start and the daemon use it: edits are read from it, and the state is written to it."""

from pathlib import Path
from typing import Literal

from fairlead.core.state import State
from fairlead.errors import Code, FairleadError
from fairlead.kit.files import Disk
from fairlead.observe import log
from fairlead.ports import Directories
from fairlead.store import config_file
from fairlead.store.config_file import CONFIG_NAME
from fairlead.store.config_import import Edits, read_edits
from fairlead.store.history import Offload


class ConfigFile:
    """Implements `ConfigCopy` of flow.startup on a file."""

    def __init__(self, directory: Path, *, disk: Disk, offload: Offload) -> None:
        self._path = directory / CONFIG_NAME
        self._disk = disk
        self._offload = offload

    def read_edits(self, state: State, directories: Directories) -> Edits:
        return read_edits(self._path, state, directories, self._disk)

    def explain_refusal(
        self, section: Literal["projects", "agents"], name: str, problem: FairleadError
    ) -> FairleadError:
        return config_file.refused_edit(self._path, self._disk, section, name, problem)

    def encode(self, state: State) -> bytes:
        return config_file.encode_config(state)

    def was_edited(self) -> bool:
        return config_file.was_edited(self._path, self._disk)

    async def write(self, data: bytes) -> None:
        try:
            await self._offload(lambda: config_file.write_config(self._path, data, self._disk))
        except OSError as fault:
            log.warning("config.json not written", message=f"{self._path}: {fault}", error_code=Code.E_DISK_FULL)
