"""Reading the journal back: every rule is checked, and every broken one names its file and line.

1. `seq` rises by one. A gap or a repeat stops the reading.
2. Every crc is that of all bytes before it. A whole line that fails it stops the reading.
   So does a line without a crc behind one that has it.
3. Only the tail may be unfinished: a torn last line, or a batch without its last line. It counts as not written.
   (`unsynced_tail.py` has the tails whose pages came to disk out of order.)
4. A whole line that cannot be understood stops the reading; an unreadable line is never skipped.
"""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final

import msgspec

from fairlead.core.events import EVENT_TYPES
from fairlead.core.fold import OutOfOrder, Unfit
from fairlead.errors import Code, InternalError
from fairlead.kit.files import Disk
from fairlead.store import lines
from fairlead.store.lines import JournalLine

BLOCK: Final = 1 << 18
SLICE: Final = 1 << 16
_KNOWN: Final = frozenset(t.__name__ for t in EVENT_TYPES)

Take = Callable[[Iterable[JournalLine]], None]
Decode = Callable[[memoryview], list[JournalLine]]


class Decoding(msgspec.Struct, frozen=True, kw_only=True):
    """How blocks of lines are decoded: before the first line with a crc, and behind it, where a line without a crc must
    be refused."""

    any_line: Decode
    with_crc: Decode
    known: frozenset[str] = _KNOWN
    """The types of the lines that there can be."""
    decode_one: Callable[[bytearray], object] = lambda raw: lines.line_decoder().decode(raw)


REPLAYING: Final = Decoding(
    any_line=lambda view: lines.replay_decoder().decode_lines(view),
    with_crc=lambda view: lines.replay_decoder(requires_crc=True).decode_lines(view),
)


class Position(msgspec.Struct, frozen=True):
    """A place between two lines: what has been read, and what the chain says about it. `has_crc`: a line before it
    carries a crc, so every line behind it must."""

    offset: int = 0
    seq: int = 0
    chain: int = 0
    has_crc: bool = False


class DamagedLine(InternalError):  # noqa: N818 - says what the line is
    """E_JOURNAL_BROKEN, and the place before the line that broke a rule: everything in front of it is sound.
    `is_spoilt`: its bytes are not those that were written."""

    def __init__(self, path: Path, before: Position, problem: str, *, is_spoilt: bool = False) -> None:
        # Lines are numbered as they were written: line 1 has seq 1.
        super().__init__(Code.E_JOURNAL_BROKEN, f"{path}, line {before.seq + 1}: {problem}")
        self.before = before
        self.is_spoilt = is_spoilt


def blocks(disk: Disk, path: Path, start: int, end: int) -> Iterator[tuple[bytearray, int]]:
    """Whole lines from `start` to `end`, about a block at a time: a buffer, and how far it is filled with them. The
    same buffer is filled again for each block, so a caller that keeps bytes of it copies them."""
    buffer = bytearray(BLOCK)
    while start < end:
        got = disk.read_into(path, start, memoryview(buffer)[: end - start])
        cut = buffer.rfind(b"\n", 0, got) + 1  # the bytes behind it are read again, which costs less than moving them
        if cut:
            yield buffer, cut
            start += cut
        elif got < len(buffer):
            return
        else:
            buffer = bytearray(4 * len(buffer))


def find_finished_end(disk: Disk, path: Path, size: int) -> int:
    """Where the last finished batch ends: the bytes behind it were being written when the process stopped."""
    window = BLOCK
    while True:
        begin = max(0, size - window)
        end = _end_of_last_batch(disk.read(path, begin, size - begin), from_start=begin == 0)
        if end is not None:
            return begin + end
        window *= 4


def _end_of_last_batch(tail: bytes, *, from_start: bool) -> int | None:
    """The end of the last line in `tail` that closes its batch; None if that lies before `tail`."""
    end = tail.rfind(b"\n") + 1
    while end > 0:
        start = tail.rfind(b"\n", 0, end - 1) + 1
        if start == 0 and not from_start:
            return None
        if not lines.has_more(tail[start : end - 1]):
            return end
        end = start
    return 0 if from_start else None


def read_lines(
    disk: Disk,
    path: Path,
    position: Position,
    end: int,
    take: Take,
    *,
    decoding: Decoding = REPLAYING,
) -> Position:
    """Give every line between `position` and `end` to `take`; the position after the last."""
    for buffer, length in blocks(disk, path, position.offset, end):
        check, decode = (_check_last_crc, decoding.with_crc) if position.has_crc else (check_chain, decoding.any_line)
        chain = check(buffer, length, position)
        if chain is None:
            raise _culprit(path, buffer[:length], position, decoding)
        try:
            seq = _take_block(buffer, length, position.seq, take, decode)
        except (*lines.UNREADABLE, OutOfOrder):
            raise _culprit(path, buffer[:length], position, decoding) from None
        except Unfit as unfit:
            raise _unfit(path, buffer[:length], position, unfit) from unfit.__cause__
        has_crc = lines.claimed_crc(_last_line(buffer, length)) is not None
        position = Position(position.offset + length, seq, chain, has_crc)
    return position


def check_some(disk: Disk, path: Path, before: Position, end: int) -> Position:
    """Check the next block of lines in front of `end`, without decoding them; the position after it."""
    for buffer, length in blocks(disk, path, before.offset, end):
        chain = check_chain(buffer, length, before)
        if chain is None:
            raise _culprit(path, buffer[:length], before)
        has_crc = lines.claimed_crc(_last_line(buffer, length)) is not None
        return Position(before.offset + length, before.seq + buffer.count(b"\n", 0, length), chain, has_crc)
    raise DamagedLine(path, before, "the journal ends before it.")


def _decode_every_line(view: memoryview, decoder: "msgspec.json.Decoder[JournalLine]") -> list[JournalLine]:
    found = decoder.decode_lines(view)
    if len(found) != bytes(view).count(b"\n"):
        raise OutOfOrder
    return found


STRICT: Final = Decoding(
    any_line=lambda view: _decode_every_line(view, lines.line_decoder()),
    with_crc=lambda view: _decode_every_line(view, lines.line_decoder(requires_crc=True)),
)
"""Decodes also what a replay skips: the payload of every event, and empty lines."""


def _take_block(buffer: bytearray, length: int, seq: int, take: Take, decode: Decode) -> int:
    """In slices that stay in the processor's cache: many lines are decoded in one call, and dropped before the next."""
    start = 0
    view = memoryview(buffer)
    while start < length:
        end = buffer.rfind(b"\n", start, min(start + SLICE, length)) + 1 or buffer.index(b"\n", start) + 1
        some = decode(view[start:end])
        seq += len(some)
        take(some)
        del some
        start = end
    return seq


def check_chain(buffer: bytearray, length: int, before: Position) -> int | None:
    """The chain after these lines, or None if their last crc says that something in them is not what was written, or
    one that must have a crc has none."""
    # A line with a crc ends with `"}`, others with `}}`: counting is cheaper than looking at every line.
    if buffer.count(b"\n", 0, length) != buffer.count(b'"}\n', 0, length):
        return _chain_line_by_line(buffer[:length], before)
    return _check_last_crc(buffer, length, before)


def _check_last_crc(buffer: bytearray, length: int, before: Position) -> int | None:
    """The chain after these lines, or None if the last one has no crc, or says that something in them is not what was
    written."""
    claimed = lines.claimed_crc(_last_line(buffer, length))
    if claimed is None:
        return None
    cut = length - 1 - lines.CRC_SUFFIX_LENGTH
    view = memoryview(buffer)
    at_crc = lines.chain_over(view[:cut], before.chain)
    return lines.chain_over(view[cut:length], at_crc) if at_crc == claimed else None


def _last_line(buffer: bytearray, length: int) -> bytearray:
    return buffer[buffer.rfind(b"\n", 0, length - 1) + 1 : length - 1]


def _chain_line_by_line(block: bytearray, before: Position) -> int | None:
    for raw in block[:-1].split(b"\n"):
        # The decoder skips an empty line and only the crc would show it; here there may be no crc.
        if not raw.strip() or _lacks_crc(raw, before) or not lines.is_sound(raw, before.chain):
            return None
        before = _after_line(before, raw)
    return before.chain


def _lacks_crc(raw: bytearray, before: Position) -> bool:
    return before.has_crc and lines.claimed_crc(raw) is None


def _culprit(path: Path, block: bytearray, before: Position, decoding: Decoding = REPLAYING) -> DamagedLine:
    """Something in `block` breaks a rule: find the first line that does, and say which rule."""
    for raw in block[:-1].split(b"\n"):
        spoilt = _spoilt(raw, before)
        problem = spoilt or _problem(raw, before.seq, decoding)
        if problem:
            return DamagedLine(path, before, problem, is_spoilt=bool(spoilt))
        before = _after_line(before, raw)
    return DamagedLine(path, before, "the checksums before it are wrong.")


def _unfit(path: Path, block: bytearray, before: Position, unfit: Unfit) -> DamagedLine:
    for raw in block[:-1].split(b"\n")[: unfit.seq - before.seq - 1]:
        before = _after_line(before, raw)
    return DamagedLine(path, before, f"{unfit}.")


def _after_line(before: Position, raw: bytearray) -> Position:
    return Position(
        before.offset + len(raw) + 1,
        before.seq + 1,
        lines.chain_over(raw + b"\n", before.chain),
        before.has_crc or lines.claimed_crc(raw) is not None,
    )


def _spoilt(raw: bytearray, before: Position) -> str:
    """Why the bytes of a line cannot be those that were written; empty if they can."""
    if not lines.is_sound(raw, before.chain):
        return "the checksum does not fit: a byte before or in this line was changed after it was written."
    try:
        lines.head_decoder.decode(raw)
    except lines.UNREADABLE as fault:
        return f"this is not a journal line ({fault})."
    if _lacks_crc(raw, before):
        return "it carries no checksum, though lines before it do: it was changed, or not written by Fairlead."
    return ""


def _problem(raw: bytearray, seq: int, decoding: Decoding) -> str:
    head = lines.head_decoder.decode(raw)
    if head.seq != seq + 1:
        kind = "a repeat" if head.seq <= seq else "a gap"
        return f"seq {head.seq} follows {seq}: {kind}."
    if head.type not in decoding.known:
        return f"the event type {head.type!r} is unknown: a later version of Fairlead wrote it. Update Fairlead."
    try:
        decoding.decode_one(raw)
    except lines.UNREADABLE as fault:
        return f"{head.type} cannot be read ({fault}): another version of Fairlead may have written it."
    return ""
