"""Server-sent events from bytes. Pure: bytes in, events out; the caller knows the job and handles lost connections."""

from collections.abc import Iterator

import msgspec

from fairlead.api.wire import EVENT_TYPES, StreamEvent


class ServerSentEvent(msgspec.Struct, frozen=True):
    """`event` is None for an event type that only a newer server knows: the client skips it."""

    id: str
    event: StreamEvent | None


class EventReader:
    """Takes chunks of bytes as they come, and returns the events that are complete."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, chunk: bytes) -> Iterator[ServerSentEvent]:
        *blocks, self._rest = (self._rest + chunk).split(b"\n\n")
        for block in blocks:
            heard = _parse_block(block)
            if heard is not None:
                yield heard


def _parse_block(block: bytes) -> ServerSentEvent | None:
    fields: dict[str, bytes] = {}
    for line in block.split(b"\n"):
        name, colon, value = line.partition(b":")
        if name and colon:
            fields[name.decode("ascii", "replace")] = value.removeprefix(b" ")
    if "data" not in fields:
        return None  # a heartbeat
    kind = EVENT_TYPES.get(fields.get("event", b"").decode("ascii", "replace"))
    event = None if kind is None else msgspec.json.decode(fields["data"], type=kind)
    return ServerSentEvent(fields.get("id", b"").decode("ascii", "replace"), event)
