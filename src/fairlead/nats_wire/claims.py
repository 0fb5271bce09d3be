"""Who has a name: claims in a bucket of the server, written by compare-and-set."""

from typing import Final

import msgspec

from fairlead.machine_ports import Claim
from fairlead.nats_wire.connection import NatsConnection
from fairlead.nats_wire.subjects import CLAIMS_STREAM, claim, read_last

_EXPECTED: Final = "Nats-Expected-Last-Subject-Sequence"
_REVISION: Final = "Nats-Sequence"


class _Written(msgspec.Struct, frozen=True):
    """As it stands in the bucket; the revision is the server's."""

    epoch: int
    token: str


class _Answer(msgspec.Struct):
    seq: int = 0


async def read_claim(connection: NatsConnection, name: str) -> Claim | None:
    answer = await connection.ask(read_last(CLAIMS_STREAM, claim(name)))
    headers = answer.headers or {}
    if headers.get("Status"):
        return None
    written = msgspec.json.decode(answer.data, type=_Written)
    return Claim(epoch=written.epoch, token=written.token, revision=int(headers[_REVISION]))


async def write_claim(connection: NatsConnection, name: str, wanted: Claim, *, after: int) -> bool:
    """An answer that was lost makes a second attempt fail; then the claim that stands there tells by its token."""
    data = msgspec.json.encode(_Written(wanted.epoch, wanted.token))
    answer = await connection.ask(claim(name), data, {_EXPECTED: str(after)})
    if msgspec.json.decode(answer.data, type=_Answer).seq:
        return True
    found = await read_claim(connection, name)
    return found is not None and (found.epoch, found.token) == (wanted.epoch, wanted.token)
