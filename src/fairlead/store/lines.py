"""One journal line to and from bytes. No files, no clock: the caller brings both.

A line is `{"seq":1,"ts":"…","type":"JobStarted","payload":{…},"crc":"89abcdef"}` and a newline. `crc` is the CRC-32 of
every byte of the journal before it, this line's own beginning included: one number checks all bytes before it,
so a whole block of lines is checked by looking at its last one. Lines without `crc` are accepted only before the first
line that has one, and only add their bytes to the chain.

A line that was written when lines before it were not known to be durable says how many: `"unsynced":3`. A line without
it says that every line before it was durable.

Events that belong together are one batch: all its lines but the last say `"more":true`, and a batch whose last line is
missing never happened.
"""

from collections.abc import Iterable, Sequence
from functools import cache
from threading import Lock
from typing import Any, Final
from zlib import crc32

import msgspec

from fairlead.core.events import EVENT_TYPES, JournalEvent
from fairlead.core.fold import SILENT

MORE: Final = b',"more":true'
UNREADABLE: Final = (msgspec.MsgspecError, UnicodeDecodeError)
"""The errors of decoding; msgspec lets a UnicodeDecodeError through unchanged."""

CRC_SUFFIX_LENGTH: Final = len(b',"crc":"00000000"}')


class JournalLine(msgspec.Struct, frozen=True, gc=False):
    """A line whose payload is typed by its `type`. The crc is not a field: it is checked on the bytes."""

    seq: int
    ts: str
    payload: Any


class Head(msgspec.Struct, gc=False):
    """The fields that every whole line has, also one that a newer Fairlead wrote."""

    seq: int
    ts: str
    type: str
    unsynced: int = 0
    crc: str = ""


def _envelope(*, requires_crc: bool) -> list[Any]:
    return [("seq", int), ("ts", str), *([("crc", str)] if requires_crc else [])]


def _line_type(event_type: type[JournalEvent], envelope: list[Any]) -> type[msgspec.Struct]:
    """A struct per event, so that one pass of the decoder checks envelope and payload together."""
    return _line_struct(event_type, [*envelope, ("payload", event_type)])


def _silent_line_type(event_type: type[JournalEvent], envelope: list[Any]) -> type[msgspec.Struct]:
    """The line of an event that changes nothing: its payload is skipped, and reads as None."""
    return _line_struct(event_type, [*envelope, ("payload", None, None)], rename={"payload": "skipped"})


def _line_struct(event_type: type[JournalEvent], fields: list[Any], **how: Any) -> type[msgspec.Struct]:
    name = event_type.__name__
    return msgspec.defstruct(f"{name}Line", fields, tag_field="type", tag=name, frozen=True, gc=False, **how)


def any_of(types: Iterable[type[msgspec.Struct]]) -> Any:
    first, *others = types
    union: Any = first
    for other in others:
        union |= other
    return union


_being_made: Final = Lock()
"""While msgspec makes a decoder, it fills in what it knows of each struct. A second decoder for the same structs, made
in another thread meanwhile, may use a struct that is not filled in yet: then the process crashes."""


def line_decoder(*, requires_crc: bool = False) -> "msgspec.json.Decoder[JournalLine]":
    """Made when it is needed, because a decoder for all events is large. One that requires a crc refuses a line without
    it: that costs less than looking for such lines in the bytes."""
    with _being_made:
        return _make_line_decoder(requires_crc=requires_crc)


def replay_decoder(*, requires_crc: bool = False) -> "msgspec.json.Decoder[JournalLine]":
    """Decodes only what a replay needs: nearly every second line is a sign of life, whose payload is skipped."""
    with _being_made:
        return _make_replay_decoder(requires_crc=requires_crc)


@cache
def _make_line_decoder(*, requires_crc: bool) -> "msgspec.json.Decoder[JournalLine]":
    envelope = _envelope(requires_crc=requires_crc)
    return msgspec.json.Decoder(any_of(_line_type(event_type, envelope) for event_type in EVENT_TYPES))


@cache
def _make_replay_decoder(*, requires_crc: bool) -> "msgspec.json.Decoder[JournalLine]":
    envelope = _envelope(requires_crc=requires_crc)
    makers = {event_type: _silent_line_type if event_type in SILENT else _line_type for event_type in EVENT_TYPES}
    return msgspec.json.Decoder(any_of(make(event_type, envelope) for event_type, make in makers.items()))


head_decoder: Final = msgspec.json.Decoder(Head)
_encoder: Final = msgspec.json.Encoder()


def encode_batch(
    first_seq: int, ts: str, events: Sequence[JournalEvent], chain: int, *, unsynced: int = 0
) -> tuple[bytes, int]:
    """The bytes of a batch, and the chain after it. `unsynced` lines before it are not known to be durable yet."""
    lines: list[bytes] = []
    last = len(events) - 1
    for index, event in enumerate(events):
        before = unsynced + index  # the lines of a batch are written together
        marks = b',"unsynced":%d' % before if before else b""
        line, chain = _encode_line(first_seq + index, ts, event, chain, marks if index == last else marks + MORE)
        lines.append(line)
    return b"".join(lines), chain


def _encode_line(seq: int, ts: str, event: JournalEvent, chain: int, marks: bytes) -> tuple[bytes, int]:
    body = b'{"seq":%d,"ts":"%s","type":"%s","payload":%s%s' % (
        seq,
        ts.encode(),
        type(event).__name__.encode(),
        _encoder.encode(event),
        marks,
    )
    crc = crc32(body, chain)
    suffix = line_end_of(crc)
    return body + suffix, crc32(suffix, crc)


def line_end_of(crc: int) -> bytes:
    """The last bytes of a line: its crc, and the newline."""
    return b',"crc":"%08x"}\n' % crc


def chain_over(data: bytes | bytearray | memoryview, chain: int) -> int:
    """The chain after `data`, which is whole lines."""
    return crc32(data, chain)


def claimed_crc(line: bytes | bytearray) -> int | None:
    """The crc a line (without newline) ends with, or None for a line that carries none."""
    if line[-CRC_SUFFIX_LENGTH:-10] != b',"crc":"' or line[-2:] != b'"}':
        return None
    digits = line[-10:-2]
    try:
        claimed = int(digits, 16)
    except ValueError:
        return None
    return claimed if b"%08x" % claimed == digits else None  # int() takes other spellings, which nobody wrote


LINE_END_LENGTH: Final = CRC_SUFFIX_LENGTH + 1


def chain_behind(line_end: bytes | bytearray) -> int | None:
    """The chain after a line, told from its last `LINE_END_LENGTH` bytes alone: the line vouches for all before it.
    None if these bytes are not the end of a line with a crc."""
    claimed = claimed_crc(line_end[:-1]) if line_end.endswith(b"\n") else None
    return None if claimed is None else crc32(line_end[-LINE_END_LENGTH:], claimed)


def seal(content: bytes) -> bytes:
    """A JSON object that carries the crc of its own bytes."""
    body = content[:-1]
    return b'%s,"crc":"%08x"}' % (body, crc32(body))


def is_sealed(data: bytes) -> bool:
    return claimed_crc(data) == crc32(data[:-CRC_SUFFIX_LENGTH])


def is_sound(line: bytes | bytearray, chain: int) -> bool:
    """Whether a line (without newline) that follows `chain` is the one that was written."""
    claimed = claimed_crc(line)
    return claimed is None or crc32(line[:-CRC_SUFFIX_LENGTH], chain) == claimed


def has_more(line: bytes) -> bool:
    """Whether the batch of this line (without newline) goes on in the next one."""
    body = line[:-CRC_SUFFIX_LENGTH] if claimed_crc(line) is not None else line[:-1]
    return body.endswith(MORE)
