"""Makes the streams and consumers of the machines, and makes them again where a server has lost them."""

from typing import Any, Final

import msgspec

from fairlead.machine_ports import DAEMON, Lane
from fairlead.nats_wire.connection import NatsConnection
from fairlead.nats_wire.subjects import CLAIMS_STREAM, RUNNER, MachineSubjects, claim

_NANO: Final = 1_000_000_000
_MOST_CLAIMS: Final = 10_000
_MOST_FRAMES: Final = 4096
_MOST_PARTS: Final = 4096
"""Of blobs: 1 GiB. Bytes are not limited, because a server sets aside as much for every stream as it may have."""
_DAY: Final = 24 * 3600
_ACK_SEC: Final = 5
_STREAM_DIFFERS: Final = 10058
"""The server's code for a stream that is there and looks different."""


class ServerRefused(Exception):  # noqa: N818 - says what happened
    """The server is there and will not make a stream: JetStream is off for this account, its disk is full."""


class _ApiError(msgspec.Struct):
    code: int = 0
    err_code: int = 0
    description: str = ""


class _ApiAnswer(msgspec.Struct):
    error: _ApiError | None = None


async def ensure_claims(connection: NatsConnection) -> None:
    config = {"name": CLAIMS_STREAM, "subjects": [claim("*")], "max_msgs_per_subject": 1, "allow_direct": True}
    await _ensure_stream(connection, {**config, "discard": "new", "max_msgs": _MOST_CLAIMS})


async def ensure_machine(connection: NatsConnection, machine: MachineSubjects) -> None:
    """Frames are kept until their receiver has acknowledged them; when there are too many, the oldest leave: their
    sender sends them again. So does a server that starts again: frames are in its memory alone, because a file for each
    of them would cost more than all else on their way, and keep nothing that the two journals have not."""
    lanes: tuple[tuple[Lane, str], ...] = (("orders", RUNNER), ("facts", DAEMON))
    for lane, consumer in lanes:
        frames = {"name": machine.stream(lane), "subjects": [f"{machine.lane(lane)}.*"], "retention": "workqueue"}
        few = {"max_msgs_per_subject": 1, "discard": "old", "max_msgs": _MOST_FRAMES, "storage": "memory"}
        await _ensure_stream(connection, {**frames, **few})
        await _ensure_consumer(connection, machine.stream(lane), consumer)
    blobs = {"name": machine.blobs_stream, "subjects": [machine.every_blob], "max_msgs_per_subject": 1}
    aged = {"max_age": 30 * _DAY * _NANO, "max_msgs": _MOST_PARTS, "discard": "old", "allow_direct": True}
    await _ensure_stream(connection, {**blobs, **aged})


async def forget_machine(connection: NatsConnection, machine: MachineSubjects) -> None:
    for stream in (machine.stream("orders"), machine.stream("facts"), machine.blobs_stream):
        await connection.ask(f"$JS.API.STREAM.DELETE.{stream}")
    await connection.ask(
        f"$JS.API.STREAM.PURGE.{CLAIMS_STREAM}", msgspec.json.encode({"filter": claim(machine.machine_id)})
    )


async def _ensure_stream(connection: NatsConnection, config: dict[str, Any]) -> None:
    wanted = msgspec.json.encode({"storage": "file", "num_replicas": 1, **config})
    fault = await _ask(connection, f"$JS.API.STREAM.CREATE.{config['name']}", wanted)
    if fault is not None and fault.err_code == _STREAM_DIFFERS:
        fault = await _ask(connection, f"$JS.API.STREAM.UPDATE.{config['name']}", wanted)
        if fault is not None and config.get("storage") == "memory":
            # One of an earlier version, in files. What is in it is sent again.
            await _ask(connection, f"$JS.API.STREAM.DELETE.{config['name']}", b"")
            fault = await _ask(connection, f"$JS.API.STREAM.CREATE.{config['name']}", wanted)
    if fault is not None:
        raise ServerRefused(f"{config['name']}: {fault.description}")


async def _ensure_consumer(connection: NatsConnection, stream: str, name: str) -> None:
    config = {"durable_name": name, "ack_policy": "explicit", "ack_wait": _ACK_SEC * _NANO, "max_ack_pending": 1024}
    fault = await _ask(
        connection,
        f"$JS.API.CONSUMER.DURABLE.CREATE.{stream}.{name}",
        msgspec.json.encode({"stream_name": stream, "config": config}),
    )
    if fault is not None:
        raise ServerRefused(f"{stream}: {fault.description}")


async def _ask(connection: NatsConnection, subject: str, data: bytes) -> _ApiError | None:
    answer = await connection.ask(subject, data)
    return msgspec.json.decode(answer.data, type=_ApiAnswer).error
