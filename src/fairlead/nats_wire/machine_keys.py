"""Which key each machine has: a file beside the server's own. The seeds are at the machines; here is what the server
needs to know of them. Which machines there are, the journal says: by its id of a machine, which no rename changes."""

import secrets
from collections.abc import Iterable, Mapping
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

    def make(self, machine_id: str) -> tuple[MachineAccess, NatsKey]:
        """A new key; one that the machine had is worth nothing any more. Its account stays, and what is on its way."""
        key = make_key()
        known = self._keys.get(machine_id)
        account_id = known.machine_id if known is not None else secrets.token_hex(6)
        access = MachineAccess(account_id, key.public)
        self._keys[machine_id] = access
        self._write()
        return access, key

    def keep(self, machine_ids: Iterable[str]) -> None:
        """Forget those of all other machines."""
        wanted = set(machine_ids)
        if set(self._keys) - wanted:
            self._keys = {machine_id: access for machine_id, access in self._keys.items() if machine_id in wanted}
            self._write()

    def access(self, machine_ids: Iterable[str]) -> list[MachineAccess]:
        return [self._keys[machine_id] for machine_id in machine_ids if machine_id in self._keys]

    def accounts(self, machines: Mapping[str, str]) -> dict[str, str]:
        """By the name of each machine that has a key, what the server calls it."""
        return {name: self._keys[one].machine_id for name, one in machines.items() if one in self._keys}

    def _write(self) -> None:
        replace_durably(self._path, msgspec.json.encode(self._keys), disk=self._disk)
