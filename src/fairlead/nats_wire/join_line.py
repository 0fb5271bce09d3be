"""The one line that is typed on another machine: where the server is, how to know it, and the machine's key. It is a
secret, and passes through one terminal to the other. Pure."""

import base64
import binascii
from typing import Final

import msgspec

from fairlead.nats_wire.access import ServerAddress

_PREFIX: Final = "fl1."
"""Of this form of the line; another form gets another one."""


class Joining(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`name` is what people call the machine, `machine_id` what the server does."""

    name: str
    machine_id: str
    urls: tuple[str, ...]
    seed: str
    certificate: str = ""

    @property
    def address(self) -> ServerAddress:
        return ServerAddress(urls=self.urls, seed=self.seed, certificate=self.certificate)

    def __repr__(self) -> str:
        return f"Joining({self.name})"


def write_joining(joining: Joining) -> str:
    return _PREFIX + base64.urlsafe_b64encode(msgspec.json.encode(joining)).decode().rstrip("=")


def read_joining(line: str) -> Joining:
    """Raises ValueError. A line that was broken by a terminal is read all the same."""
    text = "".join(line.split())
    if not text.startswith(_PREFIX):
        raise ValueError(f"it does not begin with {_PREFIX}")
    data = text.removeprefix(_PREFIX)
    try:
        return msgspec.json.decode(base64.urlsafe_b64decode(data + "=" * (-len(data) % 4)), type=Joining)
    except (binascii.Error, msgspec.DecodeError) as fault:
        raise ValueError("it is not complete") from fault
