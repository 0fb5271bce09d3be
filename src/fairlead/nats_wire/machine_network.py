"""The daemon's side of the network of machines: its server, the keys, and the wire that follows both.

With an owned server, its configuration says who may use it. With one that somebody else runs, the accounts that it
needs are written to a file for its operator."""

import asyncio
from collections.abc import Coroutine, Mapping
from pathlib import Path
from typing import Any, Final

from fairlead.kit.files import Disk, replace_durably
from fairlead.nats_wire.access import ServerAddress
from fairlead.nats_wire.daemon_wire import DaemonWire
from fairlead.nats_wire.join_line import Joining, write_joining
from fairlead.nats_wire.machine_keys import MachineKeys
from fairlead.nats_wire.owned_server import OwnedServer
from fairlead.nats_wire.server_config import DAEMON_ACCOUNT, render_account_file, render_accounts
from fairlead.nats_wire.server_files import ServerFiles

ACCOUNTS_NAME: Final = "accounts.conf"
_OLD_ACCOUNTS_NAME: Final = "accounts.json"


class MachineNetwork:
    """`urls` are those that the other machines dial. `machines` has the id of each by its name: the key of a machine
    lies under its id, so that a rename changes nothing of it. Without a server of its own, `server` is None."""

    def __init__(
        self,
        directory: Path,
        disk: Disk,
        *,
        urls: tuple[str, ...],
        machines: Mapping[str, str],
        server: OwnedServer | None,
    ) -> None:
        self._directory = directory
        self._disk = disk
        self._urls = urls
        self._server = server
        files = ServerFiles(directory, disk)
        files.prepare()
        self._daemon_key = files.read_or_make_key("daemon")
        self._keys = MachineKeys(directory, disk)
        self._machines = dict(machines)
        self._changed = asyncio.Event()
        self._applying = asyncio.Lock()
        self.wire = DaemonWire(self._address(), self._keys.accounts(self._machines))
        self._write()

    def _address(self) -> ServerAddress:
        if self._server is not None:
            return self._server.address()
        return ServerAddress(urls=self._urls, seed=self._daemon_key.seed)

    @property
    def accounts_file(self) -> Path | None:
        """For the operator of a server that is not ours."""
        return None if self._server is not None else self._directory / ACCOUNTS_NAME

    def check_ports(self) -> None:
        """Raises OSError if a server of our own cannot listen."""
        if self._server is not None:
            self._server.check_ports()

    def work(self) -> dict[str, Coroutine[Any, Any, None]]:
        """What runs as long as the daemon does."""
        serving = {} if self._server is None else {"nats-server": self._server.run()}
        return {**serving, "machine keys": self._keep_applying()}

    def follow(self, machines: Mapping[str, str]) -> None:
        """These machines there are from now on; the keys of all others are cut off."""
        self._machines = dict(machines)
        self.wire.follow(self._keys.accounts(self._machines))
        self._changed.set()

    async def let_join(self, name: str, machine_id: str) -> str:
        """The line for this machine. The key works when this returns; one that it had before does not."""
        access, key = self._keys.make(machine_id)
        self._machines[name] = machine_id
        self.wire.follow(self._keys.accounts(self._machines))
        await self._apply()
        certificate = "" if self._server is None else self._server.certificate
        joining = Joining(
            name=name, machine_id=access.machine_id, urls=self._urls, seed=key.seed, certificate=certificate
        )
        return write_joining(joining)

    async def _keep_applying(self) -> None:
        while True:
            await self._changed.wait()
            self._changed.clear()
            self._keys.keep(self._machines.values())
            await self._apply()

    async def _apply(self) -> None:
        async with self._applying:
            if self._server is None:
                self._write()
            else:
                await self._server.allow(self._keys.access(self._machines.values()))

    def _write(self) -> None:
        machines = self._keys.access(self._machines.values())
        if self._server is not None:
            self._server.write(machines)
            return
        # Several Fairleads may use one server: each has accounts of its own name.
        account = f"{DAEMON_ACCOUNT}-{self._daemon_key.public[-8:].lower()}"
        accounts = render_accounts(self._daemon_key.public, machines, account=account)
        replace_durably(self._directory / ACCOUNTS_NAME, render_account_file(accounts), disk=self._disk)
        # An earlier version made this file: an operator who copied it now would give the server old accounts.
        if self._disk.exists(self._directory / _OLD_ACCOUNTS_NAME):
            self._disk.unlink(self._directory / _OLD_ACCOUNTS_NAME)
