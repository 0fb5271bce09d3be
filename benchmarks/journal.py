"""Rows about the journal: appending, reading back, starting."""

import asyncio
import contextlib
import itertools
import os
import statistics
import time
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

from benchmarks.history import write_history
from benchmarks.rows import Row, at_most, seconds, side_by_side, spread_of
from fairlead.core.events import EVENT_TYPES, JobProgress
from fairlead.core.ids import JobId
from fairlead.core.state import State
from fairlead.kit.files import REAL_DISK
from fairlead.store import lines
from fairlead.store.journal import JOURNAL_NAME, SNAPSHOT_NAME, FileJournal, open_state
from fairlead.store.snapshot import encode_snapshot
from fairlead.store.writer import SLOW_SEC, JournalWriter

WRITERS, ROUNDS = 64, 60
TS = "2026-01-01T00:00:00.000Z"
EVENT = JobProgress(JobId("job_20260101_0001" + "x" * 200), 3)


BY_A_THREAD: Final = 0.0
"""As `slow_sec`: floors whose factors were chosen when a thread made every sync are measured so. What a quicker append
gains is ours to gain."""


@contextlib.asynccontextmanager
async def open_journal(directory: Path, *, slow_sec: float = SLOW_SEC) -> AsyncGenerator[FileJournal]:
    state = open_state(directory, REAL_DISK)
    writer = JournalWriter(slow_sec=slow_sec)
    journal = FileJournal(
        directory, state, disk=REAL_DISK, writer=writer, offload=asyncio.to_thread, on_broken=lambda _: None
    )
    try:
        yield journal
    finally:
        await journal.aclose()


async def append_durably(journal: FileJournal, numbers: Iterator[int]) -> None:
    seq = next(numbers)
    journal.append(TS, seq, (EVENT,))
    await journal.until_durable(seq)


async def _one_writer(journal: FileJournal, numbers: Iterator[int], times: int) -> list[float]:
    taken: list[float] = []
    for _ in range(times):
        began = time.perf_counter()
        await append_durably(journal, numbers)
        taken.append(time.perf_counter() - began)
    return taken


async def _many_writers(journal: FileJournal, numbers: Iterator[int]) -> float:
    """Lines per second of writers that each wait for their own line."""
    began = time.perf_counter()
    await asyncio.gather(*(_one_writer(journal, numbers, ROUNDS) for _ in range(WRITERS)))
    return WRITERS * ROUNDS / (time.perf_counter() - began)


async def _one_writer_of_many_lines(journal: FileJournal, numbers: Iterator[int]) -> float:
    """Lines per second of one writer that writes as many lines at a time, and waits for them once."""
    began = time.perf_counter()
    for _ in range(ROUNDS):
        seqs = [next(numbers) for _ in range(WRITERS)]
        journal.append(TS, seqs[0], (EVENT,) * WRITERS)
        await journal.until_durable(seqs[-1])
    return WRITERS * ROUNDS / (time.perf_counter() - began)


def _bare_appends(path: Path, count: int) -> list[float]:
    data, _ = lines.encode_batch(1, TS, (EVENT,), 0)
    fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    taken: list[float] = []
    for _ in range(count):
        began = time.perf_counter()
        os.write(fd, data)
        os.fdatasync(fd)
        taken.append(time.perf_counter() - began)
    os.close(fd)
    return taken


async def appending_rows(directory: Path) -> list[Row]:
    """Floor and journal take turns, so that both see the same disk."""
    bare: list[float] = []
    ours: list[float] = []
    numbers = itertools.count(1)
    async with open_journal(directory) as journal:
        for _ in range(10):
            bare += _bare_appends(directory / "bare", 60)
            ours += await _one_writer(journal, numbers, 60)
        pairs = [
            (await _many_writers(journal, numbers), await _one_writer_of_many_lines(journal, numbers))
            for _ in range(10)
        ]
    return [_one_writer_row(ours, bare), _many_writers_row(pairs)]


def _one_writer_row(ours: list[float], bare: list[float]) -> Row:
    floor, measured = statistics.median(bare) * 1e6, statistics.median(ours) * 1e6
    return Row(
        name="durable append, one writer",
        measured=measured,
        floor=floor,
        floor_name="bare write + fdatasync",
        unit="µs",
        reach="≤ 1.3x or + 300 µs",
        reached=measured <= max(floor * 1.3, floor + 300),
        spread=spread_of(ours, bare),
    )


def _many_writers_row(pairs: list[tuple[float, float]]) -> Row:
    """The floor shares its syncs perfectly and on the same disk: what is left is the price of many who wait."""
    together, perfect = ([pair[side] for pair in pairs] for side in (0, 1))
    measured, floor = statistics.median(together), statistics.median(perfect)
    return Row(
        name=f"durable appends, {WRITERS} writers",
        measured=measured,
        floor=floor,
        floor_name=f"one writer, {WRITERS} lines at a time",
        unit="/s",
        reach="≥ 0.5x",
        reached=measured >= 0.5 * floor,
        spread=spread_of(together, perfect),
    )


def replay_row(directory: Path, count: int) -> Row:
    """Both read the same file; the floor only decodes its lines."""
    path = directory / JOURNAL_NAME
    write_history(path, count)

    decode = whole_line_decoder().decode

    def decode_only() -> None:
        with path.open("rb") as file:
            for line in file:
                decode(line)

    def replay() -> None:
        open_state(directory, REAL_DISK)

    measured, floor = side_by_side(lambda: seconds(replay), lambda: seconds(decode_only), 5)
    name = f"full replay of {count:,} events"
    return at_most(name, measured, floor, floor_name="msgspec decoding the same lines", unit="s", factor=2)


def whole_line_decoder() -> msgspec.json.Decoder[Any]:
    """All that a line says, its crc included."""
    fields = [("seq", int), ("ts", str), ("crc", str, "")]
    types = [
        msgspec.defstruct(
            t.__name__, [*fields[:2], ("payload", t), *fields[2:]], tag_field="type", tag=t.__name__, gc=False
        )
        for t in EVENT_TYPES
    ]
    return msgspec.json.Decoder(lines.any_of(types))


def write_snapshot_beside(directory: Path) -> State:
    found = open_state(directory, REAL_DISK)
    data = encode_snapshot(found.state, found.position, found.last_line)
    (directory / SNAPSHOT_NAME).write_bytes(data)
    return found.state
