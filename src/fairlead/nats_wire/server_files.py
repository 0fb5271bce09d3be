"""The files of an owned server: its configuration, its certificate, and the keys of those who use it from this machine.
All of them are their owner's alone."""

from pathlib import Path
from typing import Final

from fairlead.kit.files import Disk, make_private_directory, read_if_there, replace_durably
from fairlead.nats_wire.access import NatsKey, make_key, read_key

CONFIG_NAME: Final = "server.json"
CERTIFICATE_NAME: Final = "server.pem"
CERTIFICATE_KEY_NAME: Final = "server-key.pem"
STORE_NAME: Final = "store"


class ServerFiles:
    def __init__(self, directory: Path, disk: Disk) -> None:
        self.directory = directory
        self._disk = disk

    @property
    def config(self) -> Path:
        return self.directory / CONFIG_NAME

    def prepare(self) -> None:
        make_private_directory(self.directory, disk=self._disk)
        make_private_directory(self.directory / STORE_NAME, disk=self._disk)

    def read_or_make_key(self, name: str) -> NatsKey:
        path = self.directory / f"{name}.nk"
        found = read_if_there(path)
        if found is not None:
            return read_key(found.decode())
        key = make_key()
        replace_durably(path, f"{key.seed}\n".encode(), disk=self._disk)
        return key

    def read_or_make_certificate(self) -> str:
        """In PEM. The private key is written first: a certificate without its key would never be replaced."""
        path = self.directory / CERTIFICATE_NAME
        found = read_if_there(path)
        if found is None:
            from fairlead.nats_wire.certificate import make_certificate  # noqa: PLC0415 - once in a server's life

            found, key = make_certificate()
            replace_durably(self.directory / CERTIFICATE_KEY_NAME, key, disk=self._disk)
            replace_durably(path, found, disk=self._disk)
        return found.decode()

    def write_config(self, config: bytes) -> None:
        replace_durably(self.config, config, disk=self._disk)
