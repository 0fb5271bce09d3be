"""Blobs on their way to another machine: in parts that fit into a message, and a last message that says how many.

They stand in a stream of the machine and are read by subject, not through NATS's object store: reading an object there
needs a consumer, and who may make consumers may have a stream delivered to any subject."""

from hashlib import sha256
from typing import Final

import msgspec

from fairlead.nats_wire.connection import NatsConnection
from fairlead.nats_wire.subjects import MachineSubjects, purge, read_last

PART_BYTES: Final = 256 * 1024
_LAST: Final = "parts"


class _Parts(msgspec.Struct, frozen=True):
    parts: int


async def put_blob(connection: NatsConnection, machine: MachineSubjects, digest: str, data: bytes) -> None:
    """Each part until the server has it."""
    parts = [data[start : start + PART_BYTES] for start in range(0, len(data), PART_BYTES)]
    for number, part in enumerate(parts):
        await connection.ask(f"{machine.blob(digest)}.{number}", part)
    await connection.ask(f"{machine.blob(digest)}.{_LAST}", msgspec.json.encode(_Parts(len(parts))))


async def get_blob(connection: NatsConnection, machine: MachineSubjects, digest: str) -> bytes | None:
    described = await _read(connection, machine, f"{digest}.{_LAST}")
    try:
        count = 0 if described is None else msgspec.json.decode(described, type=_Parts).parts
    except msgspec.DecodeError:
        return None
    parts: list[bytes] = []
    for number in range(count):
        part = await _read(connection, machine, f"{digest}.{number}")
        if part is None:
            return None
        parts.append(part)
    data = b"".join(parts)
    return data if described is not None and sha256(data).hexdigest() == digest else None


async def drop_blob(connection: NatsConnection, machine: MachineSubjects, digest: str) -> None:
    await connection.ask(purge(machine.blobs_stream), msgspec.json.encode({"filter": f"{machine.blob(digest)}.*"}))


async def _read(connection: NatsConnection, machine: MachineSubjects, name: str) -> bytes | None:
    answer = await connection.ask(read_last(machine.blobs_stream, f"{machine.blob('')}{name}"))
    return None if (answer.headers or {}).get("Status") else answer.data
