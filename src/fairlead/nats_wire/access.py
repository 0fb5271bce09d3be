"""Who may use the server, and how an end reaches it: keys and addresses. Seeds never stand in a server's configuration:
it knows public keys only."""

import os
from typing import Any, Final

import msgspec
import nkeys

SEED_BYTES: Final = 32
_nkeys: Final[Any] = nkeys  # has no types


class NatsKey(msgspec.Struct, frozen=True):
    """An nkey. `seed` is the secret of its holder."""

    seed: str
    public: str

    def __repr__(self) -> str:
        return f"Key({self.public})"


class MachineAccess(msgspec.Struct, frozen=True):
    """A machine that may use the server."""

    machine_id: str
    public_key: str


class ServerAddress(msgspec.Struct, frozen=True, kw_only=True):
    """How one end reaches the server. `urls` begin with tls://, nats://, wss:// or ws://. `certificate` is the only one
    that is trusted (PEM); empty: those that the system trusts."""

    urls: tuple[str, ...]
    seed: str
    certificate: str = ""

    def __repr__(self) -> str:
        return f"ServerAddress({', '.join(self.urls)})"


def make_key() -> NatsKey:
    seed: bytes = _nkeys.encode_seed(os.urandom(SEED_BYTES), nkeys.PREFIX_BYTE_USER)
    return read_key(seed.decode())


def read_key(seed: str) -> NatsKey:
    """Raises ValueError if it is no seed."""
    try:
        pair = _nkeys.from_seed(bytearray(seed.strip().encode()))
    except Exception as fault:  # nkeys raises its own errors, binascii's and IndexError
        raise ValueError("this is no nkey seed") from fault
    return NatsKey(seed=seed.strip(), public=pair.public_key.decode())
