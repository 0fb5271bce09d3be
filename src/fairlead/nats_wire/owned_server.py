"""A nats-server that the daemon owns: started, watched, started again, and ended with it.

1. Who may use it stands in its configuration. `allow` writes that, and returns when the server acts by it: a key that
   is no longer named is cut off by then.
2. A new account's imports work after the second reload only (nats-server 2.15.1), so there are always two.
"""

import asyncio
import os
import random
import shutil
import socket
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import msgspec
from nats.aio.client import Client

from fairlead.kit.backoff import Backoff
from fairlead.kit.processes import AT_ONCE, Grace, OwnedProcess, ProgramNotExecutable, ProgramNotFound
from fairlead.nats_wire.access import MachineAccess, ServerAddress
from fairlead.nats_wire.connection import FAULTS, connect
from fairlead.nats_wire.server_config import Listeners, render_accounts, render_config
from fairlead.nats_wire.server_files import ServerFiles
from fairlead.observe import log

PROGRAM: Final = "nats-server"
RELOAD_SEC: Final = 5.0
_PAUSE: Final = Backoff(first=0.2, ceiling=30.0)
_GRACE: Final = Grace(terminate=3.0)
_HEALTHY_SEC: Final = 30.0
_ENVIRONMENT: Final = ("PATH", "HOME", "TMPDIR", "GOMEMLIMIT", "GOMAXPROCS")


class _Pong(msgspec.Struct):
    server: dict[str, Any]


class _Reloaded(msgspec.Struct):
    error: dict[str, Any] | None = None


def find_server_program() -> str | None:
    """On PATH, or where the extra `machines` has put it: beside this Python."""
    return shutil.which(PROGRAM) or shutil.which(PROGRAM, path=str(Path(sys.executable).parent))


class OwnedServer:
    """`mark` names its process, so that one that outlived a killed daemon is found and ended."""

    def __init__(self, files: ServerFiles, program: str, listeners: Listeners, *, mark: str) -> None:
        self._files = files
        self._program = program
        self._listeners = listeners
        self._mark = mark
        files.prepare()
        self.certificate = files.read_or_make_certificate()
        self._daemon_key = files.read_or_make_key("daemon")
        self._system_key = files.read_or_make_key("system")
        self.process: OwnedProcess | None = None
        self.last_lines: list[str] = []

    def address(self) -> ServerAddress:
        """For the daemon itself."""
        return ServerAddress(urls=(self._local_url(),), seed=self._daemon_key.seed, certificate=self.certificate)

    def _local_url(self) -> str:
        host = "127.0.0.1" if self._listeners.host in {"0.0.0.0", "::", ""} else self._listeners.host  # noqa: S104
        return f"tls://{host}:{self._listeners.port}"

    def check_ports(self) -> None:
        """Before it is started, and after one that was left over was ended: a server that cannot listen says so in its
        log alone, and a runner that dials it meets the program that listens there. Raises OSError with the address."""
        for port in (self._listeners.port, self._listeners.websocket):
            if port:
                _try_to_listen(self._listeners.host, port)

    async def run(self) -> None:
        """Until it is cancelled. A server that dies is started again, after a pause that grows."""
        failures = 0
        while True:
            began = asyncio.get_running_loop().time()
            await self._run_once()
            lasted = asyncio.get_running_loop().time() - began
            failures = 1 if lasted > _HEALTHY_SEC else failures + 1
            log.warning("nats-server ended", message=self.last_lines[-1] if self.last_lines else "")
            await asyncio.sleep(_PAUSE.delay(failures, random.random))

    async def _run_once(self) -> None:
        env = {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}
        try:
            async with OwnedProcess.spawn(
                [self._program, "-c", str(self._files.config)],
                cwd=self._files.directory,
                env=env,
                mark=self._mark,
                stdin="empty",
                on_stderr_line=self._note_line,
                grace=_GRACE,
                is_confined=False,
            ) as process:
                self.process = process
                await process.wait()
        except (ProgramNotFound, ProgramNotExecutable) as fault:
            self.last_lines = [str(fault)]
        finally:
            self.process = None

    def _note_line(self, line: bytes) -> None:
        text = line.decode(errors="replace")
        self.last_lines = [*self.last_lines[-9:], text]
        if "[ERR]" in text or "[FTL]" in text:
            log.warning("nats-server", message=text)

    def write(self, machines: Iterable[MachineAccess]) -> None:
        accounts = render_accounts(self._daemon_key.public, machines, system_key=self._system_key.public)
        self._files.write_config(render_config(accounts, self._listeners, self._files.directory))

    async def allow(self, machines: Iterable[MachineAccess]) -> None:
        """From here on these machines may use the server, and no other."""
        self.write(machines)
        if self.process is not None and not await self._reload():
            # A server that does not reload is started again, and reads its configuration then.
            await self.process.end(AT_ONCE)

    async def _reload(self) -> bool:
        system = ServerAddress(urls=(self._local_url(),), seed=self._system_key.seed, certificate=self.certificate)
        try:
            async with asyncio.timeout(RELOAD_SEC), connect(system, name="fairlead reload") as client:
                for _ in range(2):
                    await _reload_once(client)
        except (*FAULTS, ValueError) as fault:
            log.warning("nats-server did not reload its configuration", message=str(fault))
            return False
        return True


def _try_to_listen(host: str, port: int) -> None:
    family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    with socket.socket(family, kind, protocol) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as the server does
        try:
            probe.bind(address)
            probe.listen()
        except OSError as fault:
            raise OSError(fault.errno, fault.strerror, f"{host}:{port}") from fault


async def _reload_once(client: Client) -> None:
    pong = await client.request("$SYS.REQ.SERVER.PING", b"", timeout=RELOAD_SEC)
    server_id = msgspec.json.decode(pong.data, type=_Pong).server["id"]
    answer = await client.request(f"$SYS.REQ.SERVER.{server_id}.RELOAD", b"", timeout=RELOAD_SEC)
    error = msgspec.json.decode(answer.data, type=_Reloaded).error
    if error is not None:
        raise ValueError(str(error.get("description", error)))
