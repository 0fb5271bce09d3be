"""NATS servers that somebody else runs: started by the test as their operator would, with a configuration of their own
into which the operator takes Fairlead's accounts."""

import asyncio
import ipaddress
import os
import shutil
import signal
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from fairlead.nats_wire.owned_server import find_server_program
from tests.nats_wire.harness import free_port


def make_certificate(directory: Path) -> None:
    """For 127.0.0.1, as the operator's certificate authority would make it: `server.pem`, `server-key.pem`."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "an operator's server")])
    address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([address]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    (directory / "server.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    (directory / "server-key.pem").write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )


class OperatorServer:
    """One server, or one of a cluster. The accounts that it has besides stand in its configuration as well."""

    def __init__(
        self, directory: Path, *, name: str = "one", routes: tuple[int, ...] = (), cluster_port: int = 0
    ) -> None:
        directory.mkdir()
        self.directory = directory
        self.port, self.websocket_port, self.plain_port = free_port(), free_port(), free_port()
        self._name = name
        self._routes = routes
        self._cluster_port = cluster_port
        self.process: asyncio.subprocess.Process | None = None
        make_certificate(directory)
        self._accounts = directory / "accounts"
        self._accounts.mkdir()
        self._include_accounts()

    @property
    def certificate(self) -> Path:
        return self.directory / "server.pem"

    def url(self, scheme: str) -> str:
        return f"{scheme}://127.0.0.1:{self.websocket_port if scheme == 'wss' else self.port}"

    def write_config(self, *, tls: bool) -> None:
        files = f'cert_file: "{self.certificate}", key_file: "{self.directory / "server-key.pem"}"'
        lines = [
            f"server_name: {self._name}",
            f'listen: "127.0.0.1:{self.port}"',
            f'jetstream {{ store_dir: "{self.directory / "store"}" }}',
            f'websocket {{ listen: "127.0.0.1:{self.websocket_port}", tls {{ {files} }} }}',
            "accounts {",
            "  OTHERS { users [ {user: somebody, password: else} ] }",
            "  include ./accounts.conf",
            "}",
        ]
        if tls:
            lines.append(f"tls {{ {files}, handshake_first: auto }}")
        if self._cluster_port:
            routes = ", ".join(f'"nats://127.0.0.1:{port}"' for port in self._routes)
            lines.append(f'cluster {{ name: theirs, listen: "127.0.0.1:{self._cluster_port}", routes: [{routes}] }}')
        (self.directory / "nats.conf").write_text("\n".join(lines) + "\n")

    async def start(self) -> None:
        program = find_server_program()
        assert program is not None
        with (self.directory / "out").open("ab") as output:
            self.process = await asyncio.create_subprocess_exec(
                program, "-c", str(self.directory / "nats.conf"), stdout=output, stderr=output
            )

    async def end(self, how: signal.Signals = signal.SIGKILL) -> None:
        if self.process is not None and self.process.returncode is None:
            self.process.send_signal(how)
            await self.process.wait()

    async def take_accounts(self, file: Path) -> None:
        """What docs/guide.md tells the operator: include Fairlead's accounts within the others, reload twice. Several
        Fairleads may use the server: the directory of the file says whose it is."""
        shutil.copy(file, self._accounts / f"{sha256(bytes(file)).hexdigest()[:8]}.conf")
        self._include_accounts()
        assert self.process is not None
        for _ in range(2):
            before = self._count_reloads()
            os.kill(self.process.pid, signal.SIGHUP)
            while self._count_reloads() == before:
                await asyncio.sleep(0.02)

    def _include_accounts(self) -> None:
        lines = [f"include ./accounts/{file.name}\n" for file in sorted(self._accounts.iterdir())]
        (self.directory / "accounts.conf").write_text("".join(lines))

    def _count_reloads(self) -> int:
        said = (self.directory / "out").read_text()
        assert "[FTL]" not in said, said
        return said.count("Reloaded server configuration")


@asynccontextmanager
async def operator_server(directory: Path, *, tls: bool) -> AsyncGenerator[OperatorServer]:
    server = OperatorServer(directory)
    server.write_config(tls=tls)
    await server.start()
    try:
        yield server
    finally:
        await server.end()
