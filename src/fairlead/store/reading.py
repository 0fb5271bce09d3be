"""Reading the journal back: every rule is checked, and every broken one names its file and line.

1. `seq` rises by one. A gap or a repeat stops the reading.
2. Every crc vouches for all bytes before it. A whole line that fails it stops the reading.
3. Only the tail may be unfinished: a torn last line, or a batch without its last line. That never happened.
4. A whole line that cannot be understood stops the reading; nothing is ever read as empty because it was unreadable.
"""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final

import msgspec

from fairlead.core.events import EVENT_TYPES
from fairlead.core.fold import Unfit
from fairlead.errors import Code, FairleadError, error
from fairlead.kit.files import Disk
from fairlead.store import lines
from fairlead.store.lines import Line

BLOCK: Final = 1 << 18
SLICE: Final = 1 << 16
_KNOWN: Final = frozenset(t.__name__ for t in EVENT_TYPES)

Take = Callable[[Iterable[Line]], None]


class Position(msgspec.Struct, frozen=True):
    """A place between two lines: what has been read, and what the chain says about it."""

    offset: int = 0
    seq: int = 0
    chain: int = 0


def blocks(disk: Disk, path: Path, start: int, end: int) -> Iterator[bytes]:
    """Whole lines from `start` to `end`, about a block at a time."""
    length = BLOCK
    while start < end:
        data = disk.read(path, start, min(length, end - start))
        cut = data.rfind(b"\n") + 1  # what is behind it is read again: that costs less than putting it in front
        if cut:
            yield data[:cut]
            start += cut
        elif len(data) < length:
            return
        else:
            length *= 4


def finished_end(disk: Disk, path: Path, size: int) -> int:
    """Where the last finished batch ends: what follows was being written when it stopped."""
    window = BLOCK
    while True:
        begin = max(0, size - window)
        end = _finished_within(disk.read(path, begin, size - begin), from_start=begin == 0)
        if end is not None:
            return begin + end
        window *= 4


def _finished_within(tail: bytes, *, from_start: bool) -> int | None:
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


def read_lines(disk: Disk, path: Path, position: Position, end: int, take: Take) -> Position:
    """Give every line between `position` and `end` to `take`; the position after the last."""
    for block in blocks(disk, path, position.offset, end):
        chain = _checked_chain(block, position.chain)
        if chain is None:
            raise _culprit(path, block, position)
        try:
            seq = _take_block(block, position.seq, take)
        except (*lines.UNREADABLE, _OutOfOrder):
            raise _culprit(path, block, position) from None
        except Unfit as unfit:
            raise error(Code.E_JOURNAL_BROKEN, f"{path}, line {unfit.seq}: {unfit}.") from unfit.__cause__
        position = Position(position.offset + len(block), seq, chain)
    return position


class _OutOfOrder(Exception):  # noqa: N818 - found again, and named, by `_culprit`
    pass


def _take_block(block: bytes, seq: int, take: Take) -> int:
    """In slices that stay in the processor's cache: many lines are decoded in one call, and dropped before the next."""
    start = 0
    view = memoryview(block)
    while start < len(block):
        end = block.rfind(b"\n", start, start + SLICE) + 1 or block.index(b"\n", start) + 1
        some = lines.decoder.decode_lines(view[start:end])
        first, seq = seq + 1, seq + len(some)
        if [line.seq for line in some] != list(range(first, seq + 1)):
            raise _OutOfOrder
        take(some)
        del some
        start = end
    return seq


def _checked_chain(block: bytes, chain: int) -> int | None:
    """The chain after `block`, or None if its last crc says that something in it is not what was written."""
    last = block[block.rfind(b"\n", 0, -1) + 1 : -1]
    claimed = lines.claimed_crc(last)
    if claimed is None:
        # The last line carries no crc: look at each, so that those which do are still believed only if right.
        return _chain_line_by_line(block, chain)
    cut = len(block) - 1 - lines.CRC_SUFFIX_LENGTH
    view = memoryview(block)
    at_crc = lines.chain_over(view[:cut], chain)
    return lines.chain_over(view[cut:], at_crc) if at_crc == claimed else None


def _chain_line_by_line(block: bytes, chain: int) -> int | None:
    for raw in block[:-1].split(b"\n"):
        # An empty line is none to the decoder: nobody but the crc would miss it, and here it may be nobody.
        if not raw.strip() or not lines.is_sound(raw, chain):
            return None
        chain = lines.chain_over(raw + b"\n", chain)
    return chain


def _culprit(path: Path, block: bytes, before: Position) -> FairleadError:
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


def _problem(raw: bytes, seq: int, chain: int) -> str:
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
