"""Reading back facts that the state has forgotten: the lines about a name, found with or without the index.

The journal, from its first byte on, is covered by three parts that follow each other:
1. runs of the index, on disk (`name_index.py`);
2. a gap, which no process has indexed yet: it is searched line by line, and `keep_index` closes it;
3. the tail, which this process has appended: its names are in memory, and become a run when there are enough of them.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from fairlead.errors import Code, FairleadError, error
from fairlead.kit.files import Disk
from fairlead.kit.tasks import run_to_end
from fairlead.observe import log
from fairlead.ports import NAMING_FIELDS, Recorded, TextStretch
from fairlead.store import lines
from fairlead.store.name_index import (
    INDEX_NAME,
    Block,
    IndexSizes,
    LoadedIndex,
    Run,
    Unindexable,
    hash_name,
    load_index,
    merge_runs,
    names_in,
    read_blocks,
    write_run,
)
from fairlead.store.reader import Position, blocks, check_chain, find_finished_end
from fairlead.store.text_search import search_backwards

Offload = Callable[[Callable[[], Any]], Awaitable[Any]]
"""Runs blocking work: the daemon in a thread, the simulator at once."""

Stretch = tuple[int, int]
"""Whole lines: where they begin, and where they end."""

MOST_UNREAD: Final = 16 * 1024
"""When so many bytes of new lines wait in memory, their names are read: a moment later, because the line that was one
too many is mostly a message, and its agent waits."""

MOST_UNREAD_AT_ONCE: Final = 4 * MOST_UNREAD
READ_LATER_SEC: Final = 0.2

RETRY_SECONDS: Final = 60.0
"""How long to wait after a run could not be written because the disk was full or failed."""


class IndexedHistory:
    """The lines about a name. Lives in one event loop; what blocks is offloaded."""

    def __init__(
        self, journal: Path, directory: Path, *, disk: Disk, offload: Offload, end: int, sizes: IndexSizes
    ) -> None:
        self._journal = journal
        self._directory = directory
        self._disk = disk
        self._offload = offload
        self._sizes = sizes
        self._runs: tuple[Run, ...] = ()
        self._tail: list[Block] = []
        self._tail_start = end
        self._tail_size = 0
        self._unread: deque[tuple[int, bytes, int]] = deque()
        """Batches behind the tail whose names are not read yet."""
        self._unread_size = 0
        self._reading_soon: asyncio.TimerHandle | None = None
        self._is_loaded = False
        self._loading = asyncio.Lock()
        self._unit_is_full = asyncio.Event()

    @property
    def indexed_end(self) -> int:
        return self._runs[-1].end if self._runs else 0

    # --- looking back ------------------------------------------------------------------------------------------------

    async def lines_about(self, names: Sequence[str], end: int) -> list[Recorded]:
        """`end` is the end of a durable batch: nothing behind it is read."""
        await self._load()
        self._read_names()
        lines.line_decoder()  # made here, where no other decoder is made meanwhile, and not in the thread below
        wanted = frozenset(filter(None, names))
        runs, gap = self._runs, (self.indexed_end, self._tail_start)
        tail = [(b.start, min(b.end, end)) for b in self._tail if b.start < end and not wanted.isdisjoint(b.names)]
        return await self._offload(lambda: find_named_lines(self._disk, self._journal, wanted, runs, [gap, *tail]))

    async def texts_before(self, place: int, words: Sequence[str], most_bytes: int) -> TextStretch:
        lines.line_decoder()  # as above
        return await self._offload(lambda: search_backwards(self._disk, self._journal, words, place, most_bytes))

    # --- keeping the index -------------------------------------------------------------------------------------------

    def note_batch(self, start: int, data: bytes, last_seq: int) -> None:
        """A batch was appended at `start`. Its names are read when somebody looks for one: until then there is mostly
        something more urgent to do."""
        self._unread.append((start, data, last_seq))
        self._unread_size += len(data)
        self._tail_size += len(data)
        if self._tail_size >= self._sizes.unit:
            self._unit_is_full.set()
        if self._unread_size >= MOST_UNREAD_AT_ONCE:
            self._read_names()
        elif self._unread_size >= MOST_UNREAD and self._reading_soon is None:
            self._reading_soon = asyncio.get_running_loop().call_later(READ_LATER_SEC, self._read_names)

    def _read_names(self) -> None:
        """Of the batches that were appended since the last call."""
        if self._reading_soon is not None:
            self._reading_soon.cancel()
            self._reading_soon = None
        while self._unread:
            start, data, last_seq = self._unread[0]
            if not self._tail or self._tail[-1].size >= self._sizes.block:
                self._tail.append(Block(start, start))
            block = self._tail[-1]
            block.names |= names_in(data)
            block.end = start + len(data)
            block.last_seq = last_seq
            self._unread.popleft()
        self._unread_size = 0

    async def keep_index(self, until_durable: Callable[[int], Awaitable[None]]) -> None:
        """For ever. An index that cannot be written costs time when somebody looks back, and nothing else."""
        while True:
            try:
                await self._load()
                await self._merge_runs()  # an earlier attempt may have failed on a full disk
                await self._close_gap()
                await self._index_tail(until_durable)
            except OSError as fault:
                log.warning("index not written", message=str(fault), error_code=Code.E_DISK_FULL)
                await asyncio.sleep(RETRY_SECONDS)
                continue
            except Unindexable as fault:
                log.error("index not kept", message=f"{self._journal}: {fault}", error_code=Code.E_JOURNAL_BROKEN)
                return
            self._unit_is_full.clear()
            await self._unit_is_full.wait()

    async def _load(self) -> None:
        """Loaded once, when the index is first needed, so that no start waits for it."""
        async with self._loading:
            if not self._is_loaded:
                found: LoadedIndex = await self._do(self._load_and_clear)
                self._runs = found.runs
                self._is_loaded = True

    def _load_and_clear(self) -> LoadedIndex:
        try:
            found = load_index(self._directory, self._journal, self._disk, self._tail_start)
            for name in found.unusable:  # torn by a power cut, merged into a larger one, or of another journal
                self._disk.unlink(self._directory / name)
        except OSError as fault:
            log.warning("index not read", message=str(fault))
            return LoadedIndex()
        if found.unusable:
            log.info("index files set aside", count=len(found.unusable), message="they are made again from the journal")
        return found

    async def _close_gap(self) -> None:
        while self.indexed_end < self._tail_start:
            start, end, units = self.indexed_end, self._tail_start, self._units_at_once()
            reach = min(end, start + units * self._sizes.unit)
            found: list[Block] = await self._do(
                lambda: read_blocks(self._journal, self._disk, start, reach, self._sizes.block)  # noqa: B023 - awaited
            )
            if reach == end:  # too little for a run of its own: these blocks join the tail
                self._tail[:0] = found
                self._tail_start = start
                self._tail_size += end - start
            else:
                self._runs = (*self._runs, await self._write_run(found, units))
                await self._merge_runs()

    def _units_at_once(self) -> int:
        """A long gap is closed by larger runs: fewer files to write and to merge, in memory that is bounded still."""
        most = self._sizes.fan_out
        return most if self._tail_start - self.indexed_end > most * self._sizes.unit else 1

    async def _index_tail(self, until_durable: Callable[[int], Awaitable[None]]) -> None:
        while self._tail_size >= self._sizes.unit and (unit := self._first_unit()):
            await until_durable(unit[-1].last_seq)
            run = await self._write_run(unit, 1)
            # In one step: a line is in a run or in the tail, also when the merge below fails on a full disk.
            self._runs = (*self._runs, run)
            del self._tail[: len(unit)]
            self._tail_start = run.end
            self._tail_size -= run.end - run.start
            await self._merge_runs()

    def _first_unit(self) -> list[Block]:
        """The oldest blocks of the tail that make a unit; none while the last of them may still grow."""
        self._read_names()
        start = self._tail_start
        closed = (n for n, b in enumerate(self._tail, 1) if b.end - start >= self._sizes.unit)
        count = next(closed, 0)
        is_growing = count == len(self._tail) and self._tail[-1].size < self._sizes.block
        return [] if is_growing else self._tail[:count]

    async def _write_run(self, covered: list[Block], units: int) -> Run:
        files = (self._directory, self._journal, self._disk)
        return await self._do(lambda: write_run(*files, covered, units))

    async def _merge_runs(self) -> None:
        files = (self._directory, self._journal, self._disk)
        size = self._sizes.fan_out
        while len(last := self._runs[-size:]) == size and len({run.units for run in last}) == 1:
            merged: Run = await self._do(lambda: merge_runs(*files, last))
            self._runs = (*self._runs[:-size], merged)
            await self._do(lambda: self._remove(last))

    def _remove(self, runs: Iterable[Run]) -> None:
        for run in runs:
            self._disk.unlink(run.path)

    async def _do(self, work: Callable[[], Any]) -> Any:
        """Waits for the end of the work, also when cancelled: no thread may write here after the lock is released."""

        async def offload() -> Any:
            return await self._offload(work)

        return await run_to_end(offload())


def read_lines_about(journal: Path, names: Iterable[str], disk: Disk) -> list[Recorded]:
    """For any process beside the daemon: changes nothing. Blocking."""
    end = find_finished_end(disk, journal, disk.size_of(journal))  # a daemon may be writing the rest
    index = load_index(journal.with_name(INDEX_NAME), journal, disk, end)
    return find_named_lines(disk, journal, frozenset(names), index.runs, [(index.end, end)])


def find_named_lines(
    disk: Disk, journal: Path, names: frozenset[str], runs: Sequence[Run], unindexed: Iterable[Stretch]
) -> list[Recorded]:
    """The lines about `names`: where the runs say, and in the stretches that no run covers. Blocking."""
    hashes = [hash_name(name) for name in sorted(names)]
    stretches = [stretch for run in runs for stretch in _stretches_of(run, hashes, disk)]
    found = [line for start, end in (*stretches, *unindexed) for line in find_lines(disk, journal, end, names, start)]
    return [line for line in found if any(getattr(line.event, name, None) in names for name in NAMING_FIELDS)]


def _stretches_of(run: Run, hashes: Sequence[int], disk: Disk) -> list[Stretch]:
    try:
        return run.stretches_with(hashes, disk)
    except OSError:  # merged into another run since it was looked up: what it covers is searched
        return [(run.start, run.end)]


def find_lines(disk: Disk, path: Path, end: int, names: Iterable[str], start: int = 0) -> list[Recorded]:
    """Every line between `start` and `end` that holds one of `names` as a whole JSON string."""
    needles = [msgspec.json.encode(name) for name in names if name]
    found: list[Recorded] = []
    chain = _chain_at(disk, path, start)
    must_have_crc = start > 0  # then the chain comes from a line that has one: those behind it have one too
    for buffer, length in blocks(disk, path, start, end):
        if chain is not None:
            chain = check_chain(buffer, length, Position(start, 0, chain, has_crc=must_have_crc))
            if chain is None:
                raise _make_damage_error(path, start, length)
        whole = bytes(buffer[:length])
        must_have_crc = must_have_crc or lines.claimed_crc(whole[:-1].rpartition(b"\n")[2]) is not None
        if any(needle in whole for needle in needles):
            some = (raw for raw in whole.split(b"\n") if any(needle in raw for needle in needles))
            found += [_decode(raw, path, start, length) for raw in some]
        start += length
    if start < end:  # `end` stands behind a line: where no line ends there, the byte that ended it was changed
        raise _make_damage_error(path, start, end - start)
    return found


def _chain_at(disk: Disk, path: Path, start: int) -> int | None:
    """The chain at the beginning of a line, as the line before it says; None where that one carries no crc."""
    if start == 0:
        return 0
    length = min(start, lines.LINE_END_LENGTH)
    return lines.chain_behind(disk.read(path, start - length, length))


def _make_damage_error(path: Path, start: int, length: int) -> FairleadError:
    return error(
        Code.E_JOURNAL_BROKEN,
        f"{path}: a line between bytes {start} and {start + length} is not what was written.",
    )


def _decode(raw: bytes, path: Path, start: int, length: int) -> Recorded:
    try:
        line = lines.line_decoder().decode(raw)
    except lines.UNREADABLE:
        raise _make_damage_error(path, start, length) from None
    return Recorded(line.seq, line.ts, line.payload)
