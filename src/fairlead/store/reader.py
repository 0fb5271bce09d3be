"""Reading the journal back: every rule is checked, and every broken one names its file and line.

1. `seq` rises by one. A gap or a repeat stops the reading.
2. Every crc is that of all bytes before it. A whole line that fails it stops the reading.
3. Only the tail may be unfinished: a torn last line, or a batch without its last line. It counts as not written.
4. A whole line that cannot be understood stops the reading; an unreadable line is never skipped.
"""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final

import msgspec

from fairlead.core.events import EVENT_TYPES
from fairlead.core.fold import OutOfOrder, Unfit
from fairlead.errors import Code, FairleadError, error
from fairlead.kit.files import Disk
from fairlead.store import lines
from fairlead.store.lines import JournalLine

BLOCK: Final = 1 << 18
SLICE: Final = 1 << 16
_KNOWN: Final = frozenset(t.__name__ for t in EVENT_TYPES)

Take = Callable[[Iterable[JournalLine]], None]
Decode = Callable[[memoryview], list[JournalLine]]


class Position(msgspec.Struct, frozen=True):
    """A place between two lines: what has been read, and what the chain says about it."""

    offset: int = 0
    seq: int = 0
    chain: int = 0


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
    decode: Decode = lines.replay_decoder.decode_lines,
) -> Position:
    """Give every line between `position` and `end` to `take`; the position after the last."""
    for buffer, length in blocks(disk, path, position.offset, end):
        chain = _check_chain(buffer, length, position.chain)
        if chain is None:
            raise _culprit(path, buffer[:length], position)
        try:
            seq = _take_block(buffer, length, position.seq, take, decode)
        except (*lines.UNREADABLE, OutOfOrder):
            raise _culprit(path, buffer[:length], position) from None
        except Unfit as unfit:
            raise error(Code.E_JOURNAL_BROKEN, f"{path}, line {unfit.seq}: {unfit}.") from unfit.__cause__
        position = Position(position.offset + length, seq, chain)
    return position


def decode_strictly(view: memoryview) -> list[JournalLine]:
    """Decodes also what a replay skips: the payload of every event, and empty lines."""
    found = lines.decoder.decode_lines(view)
    if len(found) != bytes(view).count(b"\n"):
        raise OutOfOrder
    return found


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


def _check_chain(buffer: bytearray, length: int, chain: int) -> int | None:
    """The chain after these lines, or None if their last crc says that something in them is not what was written."""
    last = buffer[buffer.rfind(b"\n", 0, length - 1) + 1 : length - 1]
    claimed = lines.claimed_crc(last)
    if claimed is None:
        # The last line carries no crc: check each line, so that a wrong crc in an earlier one is still found.
        return _chain_line_by_line(buffer[:length], chain)
    cut = length - 1 - lines.CRC_SUFFIX_LENGTH
    view = memoryview(buffer)
    at_crc = lines.chain_over(view[:cut], chain)
    return lines.chain_over(view[cut:length], at_crc) if at_crc == claimed else None


def _chain_line_by_line(block: bytearray, chain: int) -> int | None:
    for raw in block[:-1].split(b"\n"):
        # The decoder skips an empty line and only the crc would show it; here there may be no crc.
        if not raw.strip() or not lines.is_sound(raw, chain):
            return None
        chain = lines.chain_over(raw + b"\n", chain)
    return chain


def _culprit(path: Path, block: bytearray, before: Position) -> FairleadError:
    """Something in `block` breaks a rule: find the first line that does, and say which rule."""
    seq, chain = before.seq, before.chain
    for raw in block[:-1].split(b"\n"):
        problem = _problem(raw, seq, chain)
        if problem:
            # Lines are numbered as they were written: line 1 has seq 1.
            return error(Code.E_JOURNAL_BROKEN, f"{path}, line {seq + 1}: {problem}")
        seq += 1
        chain = lines.chain_over(raw + b"\n", chain)
    return error(Code.E_JOURNAL_BROKEN, f"{path}, line {seq}: the checksums before it do not add up.")


def _problem(raw: bytearray, seq: int, chain: int) -> str:
    if not lines.is_sound(raw, chain):
        return "the checksum does not fit: a byte before or in this line was changed after it was written."
    try:
        head = lines.head_decoder.decode(raw)
    except lines.UNREADABLE as fault:
        return f"this is no journal line ({fault})."
    if head.seq != seq + 1:
        kind = "a repeat" if head.seq <= seq else "a gap"
        return f"seq {head.seq} follows {seq}: {kind}."
    if head.type not in _KNOWN:
        return f"the event type {head.type!r} is unknown: a later version of Fairlead wrote it. Update Fairlead."
    try:
        lines.decoder.decode(raw)
    except lines.UNREADABLE as fault:
        return f"{head.type} cannot be understood ({fault}): another version of Fairlead may have written it."
    return ""
