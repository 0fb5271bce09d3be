"""Puts the daemon's side of other machines together: the network, and the hub that speaks to the runners. Imported only
where FAIRLEAD_MACHINES is on."""

import socket
from collections.abc import Callable, Coroutine, Mapping, Sequence
from pathlib import Path
from secrets import token_hex
from typing import Any, Final

from fairlead import __version__
from fairlead.core.machines.machine import Machine, Presence
from fairlead.errors import Code, error
from fairlead.kit.files import Disk
from fairlead.machine_ports import MachineRecords
from fairlead.machines.hub import Machines
from fairlead.nats_wire.machine_network import MachineNetwork
from fairlead.nats_wire.owned_server import OwnedServer, find_server_program
from fairlead.nats_wire.server_config import Listeners
from fairlead.nats_wire.server_files import ServerFiles
from fairlead.ports import ToolHandler
from fairlead.settings import Settings
from fairlead.store.restoration import TAKE_OVER

DIRECTORY: Final = "machines"
_SOMEWHERE: Final = ("192.0.2.1", 9)
"""An address of documentation (RFC 5737). Nothing is sent there: the socket only says which way it would go."""


class RealMachines:
    """machine_ports.OtherMachines, on NATS."""

    def __init__(
        self, settings: Settings, disk: Disk, known: Callable[[], Mapping[str, Machine]], *, state_id: str
    ) -> None:
        self._known = known
        directory = settings.state_dir / DIRECTORY
        server = None if settings.nats_url else _make_server(settings, directory, disk, state_id)
        urls = settings.nats_url or _urls_for_others(settings)
        self.network = MachineNetwork(directory, disk, urls=urls, machines=_ids(known()), server=server)
        take_over = settings.state_dir / TAKE_OVER
        self.hub = Machines(
            self.network.wire,
            version=__version__,
            make_token=lambda: token_hex(8),
            takes_over=disk.exists(take_over),
            on_taken_over=lambda: disk.unlink(take_over),
        )

    def check_ports(self) -> None:
        """When nothing of an earlier daemon runs any more. Raises E_CONFIG."""
        try:
            self.network.check_ports()
        except OSError as fault:
            raise error(
                Code.E_CONFIG,
                f"The server for other machines cannot listen on {fault.filename}: {fault.strerror}.",
                next_step="Set FAIRLEAD_MACHINES_LISTEN to a free port, or stop the program that listens there. If that"
                " is a NATS server of yours, FAIRLEAD_NATS_URL can name it.",
            ) from fault

    def work(self) -> dict[str, Coroutine[Any, Any, None]]:
        return self.network.work()

    async def aclose(self) -> None:
        await self.network.wire.aclose()

    def new_id(self) -> str:
        return token_hex(6)

    async def let_join(self, name: str) -> str:
        return await self.network.let_join(name, self._known()[name].machine_id)

    @property
    def accounts_file(self) -> str:
        path = self.network.accounts_file
        return "" if path is None else str(path)

    # --- machine_ports.OtherMachines

    async def run(self, records: MachineRecords, tools: ToolHandler | None = None) -> None:
        self.network.wire.start()
        await self.hub.run(records, tools)

    def is_usable(self, name: str) -> bool:
        return self.hub.is_usable(name)

    def presence(self, name: str) -> Presence:
        return self.hub.presence(name)

    def settle(self, name: str, turn_ids: Sequence[str]) -> None:
        self.hub.settle(name, turn_ids)

    def follow(self) -> None:
        self.network.follow(_ids(self._known()))
        self.hub.follow()


def _ids(known: Mapping[str, Machine]) -> dict[str, str]:
    """By name, what each machine is known by for ever."""
    return {machine.name: machine.machine_id for machine in known.values()}


def _make_server(settings: Settings, directory: Path, disk: Disk, state_id: str) -> OwnedServer:
    program = find_server_program()
    if program is None:
        raise error(
            Code.E_CONFIG,
            "FAIRLEAD_MACHINES is on, and nats-server was not found.",
            next_step="Install fairlead[machines], which brings it, or name a server with FAIRLEAD_NATS_URL.",
        )
    host, _, port = settings.machines_listen.rpartition(":")
    listeners = Listeners(host=host, port=int(port), websocket=settings.machines_websocket)
    return OwnedServer(ServerFiles(directory, disk), program, listeners, mark=f"{state_id}:nats-server")


def _urls_for_others(settings: Settings) -> tuple[str, ...]:
    host, _, port = settings.machines_listen.rpartition(":")
    if settings.machines_address:
        return tuple(a if "://" in a else f"tls://{a}" for a in settings.machines_address)
    if host in {"0.0.0.0", "::"}:  # noqa: S104 - all interfaces: others dial the one that leads to them
        host = _own_address()
    return (f"tls://{host}:{port}",)


def _own_address() -> str:
    """The address that this machine has where it leaves its network; its name if it has no network."""
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect(_SOMEWHERE)
            address: str = probe.getsockname()[0]
            return address
    except OSError:
        return socket.gethostname()
