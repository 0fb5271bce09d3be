"""The index: in which blocks of the journal a name stands, as sorted runs of hashes on disk. Blocking; knows no event
loop. The journal alone is the source of facts, and the index can be rebuilt from it.

1. A run covers whole lines from `start` to `end`. It carries its own checksum and that of the journal's last bytes
   before `end`: a run that does not fit the journal, or is not what was written, is not used.
2. A run tells blocks of whole lines; the lines are read and checked. Two names with one hash only cost an extra read.
3. Runs follow each other from the journal's first byte without a hole. What they do not cover is searched.
4. Runs of one size are merged into one, so that a look-up reads a handful of files, however old the journal is.
"""

import hashlib
import heapq
import struct
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import isqrt
from pathlib import Path
from typing import Final
from zlib import crc32

import msgspec

from fairlead.kit.files import Disk, make_private_directory, replace_durably_with
from fairlead.ports import NAMING_FIELDS
from fairlead.store import lines
from fairlead.store.reader import blocks

INDEX_NAME: Final = "events.index"
_MAGIC: Final = b"FLINDEX1"
_HEADER: Final = struct.Struct("=8sQQIIII")  # magic, start, end, fingerprint, units, blocks, entries
_CHECKSUM: Final = struct.Struct("=I")
_HASH_BITS: Final = 40
_BLOCK_BITS: Final = 24
_FINGERPRINT_BYTES: Final = 64
_READ_AT_ONCE: Final = 1 << 20
_MERGED_AT_ONCE: Final = 4096
"""So many entries of a merge are in memory at a time: its memory does not grow with the journal."""


class IndexSizes(msgspec.Struct, frozen=True):
    """A block is what a look-up reads; a unit is what is written at once; `fan_out` runs of one size become one."""

    block: int = 1 << 15
    unit: int = 1 << 20
    fan_out: int = 4


class Unindexable(Exception):  # noqa: N818 - says what the lines are
    """The lines cannot be decoded: the journal's own reader says which and why."""


class IndexUnusable(Exception):  # noqa: N818 - says what the run is
    """Why a run cannot be used."""


# --- names and blocks ------------------------------------------------------------------------------------------------


class _Names(msgspec.Struct, gc=False):
    """The fields of ports.NAMING_FIELDS, as they are called on disk."""

    job_id: str = ""
    message_id: str = ""
    retry_of: str = ""
    entry_id: str = msgspec.field(name="debt_id", default="")
    question_id: str = ""


assert set(_Names.__struct_fields__) == set(NAMING_FIELDS), "what can be looked up is indexed"


class _NamingLine(msgspec.Struct, gc=False):
    payload: _Names


_naming_decoder: Final = msgspec.json.Decoder(_NamingLine)


def names_in(data: bytes | memoryview) -> set[str]:
    """Every name that these whole lines are about. Raises Unindexable."""
    found: set[str] = set()
    try:
        for line in _naming_decoder.decode_lines(data):
            about = line.payload
            found.update((about.job_id, about.message_id, about.retry_of, about.entry_id, about.question_id))
    except lines.UNREADABLE as fault:
        raise Unindexable(str(fault)) from None
    found.discard("")
    return found


def hash_name(name: str) -> int:
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=_HASH_BITS // 8).digest())


@dataclass(slots=True)
class Block:
    """Whole lines from `start` to `end`, and the names that they are about."""

    start: int
    end: int
    last_seq: int = 0
    names: set[str] = field(default_factory=set[str])

    @property
    def size(self) -> int:
        return self.end - self.start


def read_blocks(journal: Path, disk: Disk, start: int, end: int, size: int) -> list[Block]:
    """The lines between `start` and `end`, in blocks of about `size` bytes. Raises Unindexable."""
    found: list[Block] = []
    for buffer, length in blocks(disk, journal, start, end):
        view = memoryview(buffer)
        begin = 0
        while begin < length:
            stop = buffer.rfind(b"\n", begin, min(begin + size, length)) + 1 or buffer.index(b"\n", begin) + 1
            found.append(Block(start + begin, start + stop, names=names_in(view[begin:stop])))
            begin = stop
        start += length
    return found


# --- runs ------------------------------------------------------------------------------------------------------------


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """One file of the index. Its entries are `hash << 24 | block`, sorted; block numbers count from its start."""

    path: Path
    start: int
    end: int
    units: int
    blocks: int
    entries: int

    @property
    def _bounds_at(self) -> int:
        return _HEADER.size

    @property
    def _entries_at(self) -> int:
        return _HEADER.size + 8 * (self.blocks + 1)

    @property
    def size(self) -> int:
        return self._entries_at + 8 * self.entries + _CHECKSUM.size

    def stretches_with(self, hashes: Iterable[int], disk: Disk) -> list[tuple[int, int]]:
        """Where lines about these names may stand, in the order of the journal."""
        found = {block for wanted in hashes for block in self._blocks_with(wanted, disk)}
        return [self._stretch(block, disk) for block in sorted(found)]

    def _blocks_with(self, wanted: int, disk: Disk) -> list[int]:
        """Hashes are spread evenly, so the position of one is guessed: one read around the guess nearly always hits."""
        lowest, beyond = wanted << _BLOCK_BITS, (wanted + 1) << _BLOCK_BITS
        guess = wanted * self.entries >> _HASH_BITS
        width = 32 + 3 * isqrt(self.entries)
        while True:
            first, last = max(0, guess - width), min(self.entries, guess + width)
            some = self.read_entries(first, last, disk)
            left, right = bisect_left(some, lowest), bisect_left(some, beyond)
            if (left > 0 or first == 0) and (right < len(some) or last == self.entries):
                return [entry & ((1 << _BLOCK_BITS) - 1) for entry in some[left:right]]
            width *= 4

    def read_entries(self, first: int, last: int, disk: Disk) -> "array[int]":
        return _read_numbers(disk, self.path, self._entries_at + 8 * first, last - first)

    def read_bounds(self, disk: Disk) -> "array[int]":
        """Where each block begins, and where the last one ends."""
        return _read_numbers(disk, self.path, self._bounds_at, self.blocks + 1)

    def _stretch(self, block: int, disk: Disk) -> tuple[int, int]:
        start, end = _read_numbers(disk, self.path, self._bounds_at + 8 * block, 2)
        return start, end


def _read_numbers(disk: Disk, path: Path, offset: int, count: int) -> "array[int]":
    data = disk.read(path, offset, 8 * count)
    if len(data) != 8 * count:
        raise OSError(f"{path} is shorter than it was")
    return array("Q", data)


def write_run(directory: Path, journal: Path, disk: Disk, covered: Sequence[Block], units: int) -> Run:
    """A run over these blocks, which follow each other and are durable."""
    bounds = array("Q", [*(block.start for block in covered), covered[-1].end])
    entries = _sort_entries(block.names for block in covered)
    run = _new_run(directory, bounds, len(entries), units)
    _write(run, journal, disk, [bounds.tobytes(), entries.tobytes()])
    return run


def _sort_entries(names_of_blocks: Iterable[set[str]]) -> "array[int]":
    numbered = enumerate(names_of_blocks)
    return array("Q", sorted({hash_name(n) << _BLOCK_BITS | number for number, names in numbered for n in names}))


def merge_runs(directory: Path, journal: Path, disk: Disk, runs: Sequence[Run]) -> Run:
    """One run with the entries of these runs, which follow each other."""
    bounds = array("Q", [runs[0].start])
    for run in runs:
        bounds.extend(run.read_bounds(disk)[1:])
    merged = _new_run(directory, bounds, sum(run.entries for run in runs), sum(run.units for run in runs))
    _write(merged, journal, disk, _merged_chunks(runs, bounds, disk))
    return merged


def _merged_chunks(runs: Sequence[Run], bounds: "array[int]", disk: Disk) -> Iterator[bytes]:
    yield bounds.tobytes()
    before = 0
    sources: list[Iterator[int]] = []
    for run in runs:
        sources.append(_shifted_entries(run, before, disk))
        before += run.blocks
    chunk: array[int] = array("Q")
    for entry in heapq.merge(*sources):
        chunk.append(entry)
        if len(chunk) == _MERGED_AT_ONCE:
            yield chunk.tobytes()
            chunk = array("Q")
    yield chunk.tobytes()


def _shifted_entries(run: Run, blocks_before: int, disk: Disk) -> Iterator[int]:
    for first in range(0, run.entries, _MERGED_AT_ONCE):
        for entry in run.read_entries(first, min(first + _MERGED_AT_ONCE, run.entries), disk):
            yield entry + blocks_before


def _new_run(directory: Path, bounds: "array[int]", entries: int, units: int) -> Run:
    start, end, count = bounds[0], bounds[-1], len(bounds) - 1
    assert count < 1 << _BLOCK_BITS, "a block's number has its place in an entry"
    path = directory / f"{start:012x}-{end:012x}"
    return Run(path=path, start=start, end=end, units=units, blocks=count, entries=entries)


def _write(run: Run, journal: Path, disk: Disk, body: Iterable[bytes]) -> None:
    fingerprint = _fingerprint(journal, disk, run.end)
    header = _HEADER.pack(_MAGIC, run.start, run.end, fingerprint, run.units, run.blocks, run.entries)

    def chunks() -> Iterator[bytes]:
        checksum = crc32(header)
        yield header
        for chunk in body:
            checksum = crc32(chunk, checksum)
            yield chunk
        yield _CHECKSUM.pack(checksum)

    make_private_directory(run.path.parent, disk=disk)
    replace_durably_with(run.path, chunks(), disk=disk)


def _fingerprint(journal: Path, disk: Disk, end: int) -> int:
    """The last bytes before `end`: they hold the checksum of everything before them."""
    begin = max(0, end - _FINGERPRINT_BYTES)
    return crc32(disk.read(journal, begin, end - begin))


# --- finding what an earlier process left ----------------------------------------------------------------------------


class LoadedIndex(msgspec.Struct, frozen=True):
    """The runs that can be used, and the names of files that cannot."""

    runs: tuple[Run, ...] = ()
    unusable: tuple[str, ...] = ()

    @property
    def end(self) -> int:
        return self.runs[-1].end if self.runs else 0


def load_index(directory: Path, journal: Path, disk: Disk, end: int) -> LoadedIndex:
    """The runs that fit the journal up to `end` and cover it from its first byte without a hole. Changes nothing."""
    if not disk.exists(directory):
        return LoadedIndex()
    usable: dict[int, list[Run]] = {}
    names = disk.listdir(directory)
    for name in names:
        try:
            run = read_run(directory / name, journal, disk, end)
        except (IndexUnusable, OSError):
            continue
        usable.setdefault(run.start, []).append(run)
    chain: list[Run] = []
    while following := usable.get(chain[-1].end if chain else 0):
        chain.append(max(following, key=lambda run: run.end))
    used = {run.path.name for run in chain}
    return LoadedIndex(tuple(chain), tuple(sorted(set(names) - used)))


def read_run(path: Path, journal: Path, disk: Disk, journal_end: int) -> Run:
    """Raises IndexUnusable, with the reason."""
    head = disk.read(path, 0, _HEADER.size)
    if len(head) != _HEADER.size or not head.startswith(_MAGIC):
        raise IndexUnusable("it is not an index file")
    _, start, end, fingerprint, units, count, entries = _HEADER.unpack(head)
    run = Run(path=path, start=start, end=end, units=units, blocks=count, entries=entries)
    if disk.size_of(path) != run.size or not start < end or not _has_right_checksum(run, disk):
        raise IndexUnusable("it is not what was written")
    if end > journal_end or _fingerprint(journal, disk, end) != fingerprint:
        raise IndexUnusable("it belongs to another journal")
    return run


def _has_right_checksum(run: Run, disk: Disk) -> bool:
    end = run.size - _CHECKSUM.size
    checksum = 0
    for offset in range(0, end, _READ_AT_ONCE):
        checksum = crc32(disk.read(run.path, offset, min(_READ_AT_ONCE, end - offset)), checksum)
    return disk.read(run.path, end, _CHECKSUM.size) == _CHECKSUM.pack(checksum)


def agrees_with_journal(run: Run, journal: Path, disk: Disk) -> bool:
    """Whether the run has the names that each block of the journal holds. Raises Unindexable."""
    bounds = run.read_bounds(disk)
    names = (names_in(disk.read(journal, start, end - start)) for start, end in pairwise(bounds))
    return _sort_entries(names) == run.read_entries(0, run.entries, disk)
