"""Which key each machine has: a file beside the server's own. The seeds are at the machines; here is what the server
needs to know of them. Which machines there are, the journal says."""

import secrets
from collections.abc import Iterable
from pathlib import Path

import msgspec

from fairlead.kit.files import Disk, read_if_there, replace_durably
from fairlead.nats_wire.access import MachineAccess, NatsKey, make_key

FILE_NAME = "keys.json"


class MachineKeys:
    def __init__(self, directory: Path, disk: Disk) -> None:
        self._path = directory / FILE_NAME
        self._disk = disk
        found = read_if_there(self._path)
        self._keys = {} if found is None else msgspec.json.decode(found, type=dict[str, MachineAccess])

    def make(self, name: str) -> tuple[MachineAccess, NatsKey]:
        """A new key; one that the machine had is worth nothing any more. Its id stays, and what is on its way."""
        key = make_key()
        known = self._keys.get(name)
        machine_id = known.machine_id if known is not None else secrets.token_hex(6)
        access = MachineAccess(machine_id, key.public)
        self._keys[name] = access
        self._write()
        return access, key

    def keep(self, names: Iterable[str]) -> None:
        """Forget those of all other machines."""
        wanted = set(names)
        if set(self._keys) - wanted:
            self._keys = {name: access for name, access in self._keys.items() if name in wanted}
            self._write()

    def access(self, names: Iterable[str]) -> list[MachineAccess]:
        return [self._keys[name] for name in names if name in self._keys]

    def ids(self, names: Iterable[str]) -> dict[str, str]:
        return {name: self._keys[name].machine_id for name in names if name in self._keys}

    def _write(self) -> None:
        replace_durably(self._path, msgspec.json.encode(self._keys), disk=self._disk)
