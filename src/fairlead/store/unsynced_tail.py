"""Tells an unsynced tail whose pages came to disk out of order from damage to lines that were durable.

Pages of one unsynced write may reach the disk in any order, so a power cut can leave zeros in the middle of the tail,
with whole lines behind them. Nothing of it was acknowledged: it is cut off like any torn tail. All of this must hold:

1. No snapshot covers the damaged line: what is covered was durable.
2. No whole line behind it says that it was durable. Each line tells by `unsynced` how many lines before it were not
   known to be durable when it was written; all lines before those were.
3. The damage has the shape of lost pages: zeros, which no line can hold, from the beginning of a sector, or of a line,
   to the end of a sector, or of the file. A changed byte, or other bytes in place of a line, are no lost pages: the
   lines there may have been acknowledged. Only a later line or a snapshot tells that a line was durable.
"""

import re
from pathlib import Path
from typing import Final

from fairlead.kit.files import Disk
from fairlead.store import lines
from fairlead.store.reader import DamagedLine, find_finished_end

SECTOR: Final = 512
"""The least that a disk writes at once; the pages of file systems are multiples of it."""

MOST_BYTES: Final = 8 << 20
"""A longer tail was not one unsynced write: damage in front of so much is refused."""

_ZEROS: Final = re.compile(rb"\0+")


def find_unsynced_tail(disk: Disk, path: Path, damage: DamagedLine, durable_seq: int) -> int | None:
    """Where the last finished batch before an unsynced tail ends; None if the damage is something else."""
    before = damage.before
    length = disk.size_of(path) - before.offset
    if not damage.is_spoilt or before.seq < durable_seq or length > MOST_BYTES:
        return None
    tail = disk.read(path, before.offset)
    if _is_called_durable(tail, before.seq + 1) or not _has_lost_page(tail, before.offset):
        return None
    return find_finished_end(disk, path, before.offset) if before.offset else 0


def _has_lost_page(tail: bytes, offset: int) -> bool:
    end_of_file = offset + len(tail)
    for zeros in _ZEROS.finditer(tail):
        begin, end = offset + zeros.start(), offset + zeros.end()
        begins_line = zeros.start() == 0 or tail[zeros.start() - 1] == ord("\n")
        if (begins_line or begin % SECTOR == 0) and (end % SECTOR == 0 or end == end_of_file):
            return True
    return False


def _is_called_durable(tail: bytes, seq: int) -> bool:
    """Whether a whole line behind the damaged one says that line `seq` was durable when it was written."""
    for raw in tail.split(b"\n")[1:]:
        if lines.claimed_crc(raw) is None:
            continue
        try:
            head = lines.head_decoder.decode(raw)
        except lines.UNREADABLE:
            continue
        if head.seq - 1 - head.unsynced >= seq:
            return True
    return False


def is_only_newline_wrong(rest: bytes, chain: int) -> bool:
    """Whether these bytes, which follow `chain` and end without a newline, are whole lines but for that last byte. A
    zero there is a page that was lost and held no more than the newline."""
    line_end = rest[-lines.LINE_END_LENGTH : -1] + b"\n"
    at_crc = lines.chain_over(rest[: -lines.LINE_END_LENGTH], chain)
    return rest[-1:] not in {b"\n", b"\0"} and line_end == lines.line_end_of(at_crc)
