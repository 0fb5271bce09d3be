"""The journal in use: opened once, appended to by the ledger, read back when the state has forgotten.

Rules of reading are in `reader.py`, of writing in `writer.py`, of the snapshot in `snapshot.py`, of looking back in
`history.py`.
"""

import asyncio
import gc
import heapq
import itertools
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec

from fairlead.core.events import JournalEvent
from fairlead.core.fold import replay
from fairlead.core.state import State
from fairlead.errors import Code, FairleadError, error
from fairlead.kit.files import Disk, open_private_append, write_all
from fairlead.observe import log
from fairlead.ports import Recorded, TextStretch
from fairlead.store import lines
from fairlead.store.history import IndexedHistory, Offload
from fairlead.store.journal_check import JournalCheck
from fairlead.store.name_index import INDEX_NAME, IndexSizes
from fairlead.store.reader import BLOCK, DamagedLine, Position, find_finished_end, read_lines
from fairlead.store.snapshot import (
    JournalFellBehind,
    SnapshotUnusable,
    encode_snapshot,
    load_snapshot,
    write_snapshot,
)
from fairlead.store.unsynced_tail import find_unsynced_tail, is_only_newline_wrong
from fairlead.store.writer import AppendFile, Batch, Writer

JOURNAL_NAME: Final = "events.ndjson"
SNAPSHOT_NAME: Final = "snapshot.json"


class Opened(msgspec.Struct, frozen=True):
    """The result of `open_state`: the state, where the journal ends, and reports for a person. `snapshot_end` is where
    the lines end that the snapshot covered: these were not read."""

    state: State
    position: Position
    last_line: bytes
    reports: tuple[str, ...] = ()
    snapshot_end: int = 0


def open_state(directory: Path, disk: Disk) -> Opened:
    """Snapshot, then the tail of the journal. Only for the holder of the lock: an unfinished tail is cut off. Nothing
    is changed before it is certain that the journal has not lost anything."""
    journal = directory / JOURNAL_NAME
    reports: list[str] = []
    size = disk.size_of(journal) if disk.exists(journal) else 0
    end = find_finished_end(disk, journal, size) if size else 0
    start = _start_point(directory, disk, end, reports)
    try:
        position = _replay(start, journal, disk, end)
    except DamagedLine as damage:
        unsynced = find_unsynced_tail(disk, journal, damage, start.durable_seq)
        if unsynced is None:
            raise
        end = unsynced
        start = _start_point(directory, disk, end, reports)  # the state may have taken lines of a torn batch
        position = _replay(start, journal, disk, end)
    if end < size:
        _cut_unfinished(journal, disk, position, reports)
    last_line = _line_before(journal, disk, end)
    return Opened(
        state=start.state,
        position=position,
        last_line=last_line,
        reports=tuple(reports),
        snapshot_end=start.position.offset,
    )


class _StartPoint(msgspec.Struct, frozen=True):
    """Where the replay begins; every line up to `durable_seq` was durable once."""

    state: State
    position: Position
    durable_seq: int


def _replay(start: _StartPoint, journal: Path, disk: Disk, end: int) -> Position:
    with _no_cycles_to_find():
        return read_lines(disk, journal, start.position, end, lambda lines: replay(start.state, lines))


@contextmanager
def _no_cycles_to_find() -> Generator[None]:
    """A replay makes millions of small objects and no cycles, so the garbage collector is off while it runs."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _cut_unfinished(journal: Path, disk: Disk, position: Position, reports: list[str]) -> None:
    end = position.offset
    rest = disk.read(journal, end)
    if is_only_newline_wrong(rest, position.chain):
        raise DamagedLine(journal, position, "the newline at its end was changed after it was written.", is_spoilt=True)
    file = AppendFile(journal, disk)
    try:
        size = file.durable_offset
        aside = journal.with_name(f"{journal.name}.torn-at-{end}")
        _copy_aside(rest, aside, disk)
        file.cut(end)
    finally:
        file.close()
    reports.append(
        f"{journal}: the last {size - end} bytes were not completely written when Fairlead stopped. "
        f"They were never acknowledged; they are cut off and kept in {aside.name}."
    )


def _copy_aside(data: bytes, aside: Path, disk: Disk) -> None:
    if disk.exists(aside):
        disk.unlink(aside)
    handle = open_private_append(aside, disk=disk)
    try:
        write_all(handle, data, disk=disk)
        disk.sync(handle)
    finally:
        disk.close(handle)


def _start_point(directory: Path, disk: Disk, end: int, reports: list[str]) -> _StartPoint:
    path = directory / SNAPSHOT_NAME
    try:
        loaded = load_snapshot(path, directory / JOURNAL_NAME, disk)
    except JournalFellBehind as loss:
        raise explain_loss(directory, disk, end, loss) from None
    except SnapshotUnusable as why:
        aside = path.with_name(f"{path.name}.set-aside")
        disk.replace(path, aside)
        disk.sync_directory(directory)
        reports.append(f"{path} is not used: {why}. It is kept as {aside.name}; the whole journal is read instead.")
        return _StartPoint(State(), Position(), why.covered)
    if loaded is None:
        return _StartPoint(State(), Position(), 0)
    return _StartPoint(loaded.state, loaded.position, loaded.position.seq)


def explain_loss(directory: Path, disk: Disk, end: int, loss: JournalFellBehind) -> FairleadError:
    """The snapshot proves that the journal lost facts. Changes nothing."""
    journal, snapshot = directory / JOURNAL_NAME, directory / SNAPSHOT_NAME
    there = _last_seq(journal, disk, end)
    if loss.is_shorter:
        what = f"{journal} has {there} lines, and {snapshot.name} proves that {loss.covered} were written and durable"
    else:
        # A damaged byte is the likelier reason: reading everything then names its line and raises.
        read_lines(disk, journal, Position(), end, lambda _: None)
        what = f"{journal} holds another line {loss.covered} than the one that {snapshot.name} covers: it was replaced"
    return error(
        Code.E_JOURNAL_BROKEN,
        f"{what}. Nothing was changed.",
        next_step=f"Restore the complete journal if you have it. {HOW_TO_RESTORE}",
    )


HOW_TO_RESTORE: Final = (
    "`fairlead restore COPY` restores an older copy, `fairlead restore` keeps the undamaged part of this one; "
    "both first list what will be lost, and keep the old files."
)


def _last_seq(journal: Path, disk: Disk, end: int) -> int:
    line = _line_before(journal, disk, end)
    try:
        return lines.head_decoder.decode(line).seq if line else 0
    except lines.UNREADABLE:
        return 0


def _line_before(journal: Path, disk: Disk, end: int) -> bytes:
    if end == 0:
        return b""
    length = BLOCK
    while True:
        begin = max(0, end - length)
        line_start = disk.read(journal, begin, end - 1 - begin).rfind(b"\n") + 1
        if line_start > 0 or begin == 0:
            return disk.read(journal, begin + line_start, end - 1 - begin - line_start)
        length *= 4


class FileJournal:
    """ports.Journal on a file. Lives in one event loop; its writer may live in a thread."""

    def __init__(
        self,
        directory: Path,
        opened: Opened,
        *,
        disk: Disk,
        writer: Writer,
        offload: Offload,
        on_broken: Callable[[FairleadError], None],
        index_sizes: IndexSizes = IndexSizes(),  # noqa: B008 - frozen
    ) -> None:
        self._path = directory / JOURNAL_NAME
        self._snapshot_path = directory / SNAPSHOT_NAME
        self._disk = disk
        self._writer = writer
        self._offload = offload
        self._on_broken = on_broken
        self._position = opened.position
        self._last_line = opened.last_line
        self._durable_seq = opened.position.seq
        self._waiting: list[tuple[int, int, asyncio.Future[None]]] = []
        self._waiting_order = itertools.count()
        self._watchers: list[tuple[int, asyncio.Future[None]]] = []
        self._stalled = False
        self._broken: FairleadError | None = None
        self._loop = asyncio.get_running_loop()
        self._file = AppendFile(self._path, disk)
        self._history = IndexedHistory(
            self._path,
            directory / INDEX_NAME,
            disk=disk,
            offload=offload,
            end=opened.position.offset,
            sizes=index_sizes,
        )
        self._check = JournalCheck(self._path, disk=disk, offload=offload, end=opened.position.offset)
        writer.start(self._file, self)

    @property
    def damage(self) -> str:
        return self._check.damage

    @property
    def checked_bytes(self) -> int:
        return self._check.checked_bytes

    async def keep_checking(self) -> None:
        await self._check.keep_checking()

    @property
    def durable_seq(self) -> int:
        return self._durable_seq

    @property
    def is_stalled(self) -> bool:
        return self._stalled

    def append(self, ts: str, first_seq: int, events: Sequence[JournalEvent]) -> None:
        if self._broken is not None:
            raise self._broken
        assert first_seq == self._position.seq + 1, "numbers are given out in one place, in order"
        unsynced = self._position.seq - self._durable_seq
        data, chain = lines.encode_batch(first_seq, ts, events, self._position.chain, unsynced=unsynced)
        last_seq = first_seq + len(events) - 1
        self._history.note_batch(self._position.offset, data, last_seq)
        self._position = Position(self._position.offset + len(data), last_seq, chain, has_crc=True)
        self._last_line = data[data.rfind(b"\n", 0, -1) + 1 : -1]
        self._writer.put(Batch(data, last_seq))
        for seq, watcher in self._watchers:
            if seq <= last_seq and not watcher.done():
                watcher.set_result(None)

    def delay_sync(self, steps: int, *, is_begun: bool = False) -> None:
        self._writer.delay(steps, is_begun=is_begun)

    async def until_appended(self, seq: int) -> None:
        """Returns when line `seq` has been appended, durable or not."""
        if seq > self._position.seq:
            watcher = self._loop.create_future()
            self._watchers.append((seq, watcher))
            try:
                await watcher
            finally:
                self._watchers.remove((seq, watcher))

    async def until_durable(self, seq: int) -> None:
        if self._broken is not None:
            raise self._broken
        if seq > self._durable_seq:
            future = self._loop.create_future()
            # A heap: a turn asks for the line of its own start after others have asked for later lines.
            heapq.heappush(self._waiting, (seq, next(self._waiting_order), future))
            await future

    async def lines_about(self, names: Sequence[str]) -> list[Recorded]:
        position = self._position  # lines that are appended while this waits are not on disk yet
        await self.until_durable(position.seq)
        return await self._history.lines_about(names, position.offset)

    async def texts_before(self, place: int | None, words: Sequence[str], most_bytes: int) -> TextStretch:
        end = self._position
        await self.until_durable(end.seq)
        wanted = end.offset if place is None else min(place, end.offset)
        return await self._history.texts_before(wanted, words, most_bytes)

    async def keep_index(self) -> None:
        await self._history.keep_index(self.until_durable)

    async def snapshot(self, state: State) -> None:
        """Write the state as it is now, once everything in it is durable."""
        position = self._position
        assert state.seq == position.seq, "the state is that of the last appended line"
        if position.seq == 0:
            return
        data = encode_snapshot(state, position, self._last_line)
        await self.until_durable(position.seq)
        await self._offload(lambda: write_snapshot(self._snapshot_path, data, self._disk))

    async def aclose(self) -> None:
        await self._offload(self._writer.close)
        self._file.close()

    # --- the writer's reports

    def on_durable(self, seq: int) -> None:
        self._durable_seq = max(self._durable_seq, seq)  # a report of the writer's thread may come late
        self._check.end = self._file.durable_offset
        if self._stalled:
            self._stalled = False
            log.warning("the disk has space again", message=f"{self._path} is written again; nothing was lost")
        waiting, done = self._waiting, list[asyncio.Future[None]]()
        while waiting and waiting[0][0] <= seq:
            done.append(heapq.heappop(waiting)[2])
        # The latest to wait is mostly the one who acts on a fact: an agent gets its prompt. The receipt of a message,
        # which only tells people of it, waited before. All are woken in this step: what they append shares a sync.
        for future in reversed(done):
            if not future.done():
                future.set_result(None)

    def on_stalled(self) -> None:
        if not self._stalled:
            self._stalled = True
            log.error("the disk is full", message=f"{self._path} waits for space", error_code="E_DISK_FULL")

    def on_broken(self, fault: OSError) -> None:
        self._broken = error(
            Code.E_JOURNAL_BROKEN,
            f"{self._path} could not be synced to disk ({fault}). Fairlead stops, because later writes could be lost.",
            next_step="Check the disk, then start again; `fairlead journal verify` checks the journal.",
        )
        while self._waiting:
            _, _, future = self._waiting.pop()
            if not future.done():
                future.set_exception(self._broken)
        self._on_broken(self._broken)
