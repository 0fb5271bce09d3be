"""A journal of few facts that are soon needed no more, on the same lines and the same writer as the big one.

1. Lines, checksums and torn tails are as in `lines.py`, `reader.py` and `unsynced_tail.py`.
2. It keeps no history: when it has grown, its owner writes it again with the facts that make its state (`rewrite`). The
   new file replaces the old one whole, or not at all.
3. Facts are numbered by the order of their writing, also across a rewrite. A number is durable when the disk has it.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from fairlead.core.fold import OutOfOrder
from fairlead.errors import Code, FairleadError, error
from fairlead.kit.files import Disk, replace_durably
from fairlead.observe import log
from fairlead.store import lines
from fairlead.store.lines import JournalLine
from fairlead.store.reader import DamagedLine, Decoding, Position, find_finished_end, read_lines
from fairlead.store.unsynced_tail import find_unsynced_tail
from fairlead.store.writer import AppendFile, Batch, Writer

MakeWriter = Callable[[], Writer]


class SmallJournal:
    """`facts` are those that it held when it was opened. `on_broken` is told when nothing can be written any more."""

    def __init__(
        self,
        path: Path,
        fact_types: Sequence[type[msgspec.Struct]],
        *,
        disk: Disk,
        make_writer: MakeWriter,
        on_broken: Callable[[FairleadError], None],
    ) -> None:
        self._path = path
        self._disk = disk
        self._make_writer = make_writer
        self._on_broken = on_broken
        self._decoding = _make_decoding(fact_types)
        self.facts: list[Any] = []
        self._position = self._read()
        self._before = 0
        """So many facts were numbered before the file was written again."""
        self._durable = self._position.seq
        self._waiting: list[tuple[int, asyncio.Future[None]]] = []
        self._listeners: deque[tuple[int, Callable[[], None]]] = deque()
        self.after_sync: Callable[[], None] | None = None
        """Called once, when all have heard what one sync made durable."""
        self._broken: FairleadError | None = None
        self.is_stalled = False
        self._open()

    def _read(self) -> Position:
        if not self._disk.exists(self._path):
            return Position()
        size = self._disk.size_of(self._path)
        end = find_finished_end(self._disk, self._path, size) if size else 0
        try:
            position = self._read_to(end)
        except DamagedLine as damage:
            unsynced = find_unsynced_tail(self._disk, self._path, damage, 0)
            if unsynced is None:
                raise
            position = self._read_to(unsynced)
        if position.offset < size:
            file = AppendFile(self._path, self._disk)
            try:
                file.cut(position.offset)
            finally:
                file.close()
        return position

    def _read_to(self, end: int) -> Position:
        self.facts.clear()

        def take(found: Any) -> None:
            for line in found:
                if line.seq != len(self.facts) + 1:
                    raise OutOfOrder
                self.facts.append(line.payload)

        return read_lines(self._disk, self._path, Position(), end, take, decoding=self._decoding)

    def _open(self) -> None:
        self._file = AppendFile(self._path, self._disk)
        self.writer = self._make_writer()
        self.writer.start(self._file, _Reports(self, self.writer))

    @property
    def size(self) -> int:
        return self._position.offset

    @property
    def last(self) -> int:
        """The number of the last fact that was appended."""
        return self._before + self._position.seq

    def append(self, ts: str, facts: Sequence[Any]) -> int:
        """The number of the last of these facts, which belong together."""
        if self._broken is not None:
            raise self._broken
        first = self._position.seq + 1
        unsynced = self._position.seq - (self._durable - self._before)
        data, chain = lines.encode_batch(first, ts, facts, self._position.chain, unsynced=max(0, unsynced))
        last = self._position.seq + len(facts)
        self._position = Position(self._position.offset + len(data), last, chain, has_crc=True)
        self.writer.put(Batch(data, last))
        return self.last

    async def until_durable(self, number: int) -> None:
        if self._broken is not None:
            raise self._broken
        if number > self._durable:
            future = asyncio.get_running_loop().create_future()
            self._waiting.append((number, future))
            await future

    def when_durable(self, number: int, then: Callable[[], None]) -> None:
        """Calls `then` in the step in which fact `number` is known to be durable, and never before those of earlier
        calls; at once if it can be. Not at all if nothing can be written any more."""
        if number <= self._durable and not self._listeners:
            then()
        else:
            self._listeners.append((number, then))

    async def rewrite(self, ts: str, find_facts: Callable[[], Sequence[Any]]) -> None:
        """Write the file again with the facts that make the state as it is when everything else is durable."""
        await self.until_durable(self.last)
        if self.last > self._durable:
            return  # somebody wrote meanwhile: another time
        self.writer.close()
        self._file.close()
        facts = find_facts()
        data, chain = lines.encode_batch(1, ts, facts, 0)
        replace_durably(self._path, data, disk=self._disk)
        self._before = self.last - len(facts)
        self._position = Position(len(data), len(facts), chain, has_crc=True)
        self._open()

    async def aclose(self) -> None:
        self.writer.close()
        self._file.close()

    # --- the writer's reports

    def note_durable(self, seq: int) -> None:
        self.is_stalled = False
        self._durable = max(self._durable, self._before + seq)
        while self._listeners and self._listeners[0][0] <= self._durable:
            self._listeners.popleft()[1]()
        if self.after_sync is not None:
            self.after_sync()
        ready = [future for number, future in self._waiting if number <= self._durable]
        self._waiting = [each for each in self._waiting if each[0] > self._durable]
        for future in ready:
            if not future.done():
                future.set_result(None)

    def note_stalled(self) -> None:
        if not self.is_stalled:
            self.is_stalled = True
            log.error("the disk is full", message=f"{self._path} waits for space", error_code="E_DISK_FULL")

    def note_broken(self, fault: OSError) -> None:
        self._broken = error(Code.E_JOURNAL_BROKEN, f"{self._path} could not be synced to disk ({fault}).")
        for _, future in self._waiting:
            if not future.done():
                future.set_exception(self._broken)
        self._waiting.clear()
        self._listeners.clear()
        self._on_broken(self._broken)


class _Reports:
    """Those of one writer: one that was closed has nothing to say any more."""

    def __init__(self, journal: SmallJournal, writer: Writer) -> None:
        self._journal = journal
        self._writer = writer

    @property
    def _is_current(self) -> bool:
        return self._journal.writer is self._writer

    def on_durable(self, seq: int) -> None:
        if self._is_current:
            self._journal.note_durable(seq)

    def on_stalled(self) -> None:
        if self._is_current:
            self._journal.note_stalled()

    def on_broken(self, fault: OSError) -> None:
        if self._is_current:
            self._journal.note_broken(fault)


def _make_decoding(fact_types: Sequence[type[msgspec.Struct]]) -> Decoding:
    def decoder(fields: list[Any]) -> "msgspec.json.Decoder[JournalLine]":
        kinds = [
            msgspec.defstruct(f"{t.__name__}Line", [*fields, ("payload", t)], tag_field="type", tag=t.__name__)
            for t in fact_types
        ]
        return msgspec.json.Decoder(lines.any_of(kinds))

    any_line, with_crc = decoder([("seq", int), ("ts", str)]), decoder([("seq", int), ("ts", str), ("crc", str)])
    known = frozenset(t.__name__ for t in fact_types)
    return Decoding(
        any_line=any_line.decode_lines, with_crc=with_crc.decode_lines, known=known, decode_one=any_line.decode
    )
