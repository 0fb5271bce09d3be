"""When snapshots are written."""

import asyncio
import json

import pytest

from fairlead.core.events import PersonSeen
from fairlead.core.fold import apply
from fairlead.kit.files import read_if_there
from fairlead.store.journal import SNAPSHOT_NAME
from fairlead.store.snapshot_schedule import SnapshotPace, keep_snapshots
from fairlead.store.writer import Batch
from fairlead.testing.clock import run_virtually
from tests.store.harness import STATE, disk_with, encoded, open_journal

pytestmark = [pytest.mark.anyio, pytest.mark.req("A7")]


TS = "2026-01-05T08:00:00.000Z"


def seen(number: int) -> tuple[PersonSeen]:
    return (PersonSeen(f"p{number}", "en"),)


class _LoopWriter:
    """Writes when it is put, for stories in virtual time."""

    def start(self, file, progress) -> None:
        self._file, self._progress = file, progress

    def put(self, batch: Batch) -> None:
        self._file.write(batch.data)
        self._file.sync()
        self._progress.on_durable(batch.last_seq)

    def close(self) -> None:
        pass


class _Keeping:
    """A journal in virtual time, and somebody who keeps its snapshots."""

    def __init__(self, pace: SnapshotPace) -> None:
        self.disk = disk_with(b"")
        self.state, self.journal = open_journal(STATE, self.disk, _LoopWriter())
        self.keeper = asyncio.ensure_future(keep_snapshots(self.journal, self.state, pace))

    def append(self, count: int) -> None:
        for seq in range(self.state.seq + 1, self.state.seq + 1 + count):
            self.journal.append(TS, seq, seen(seq))
            apply(self.state, seq, TS, *seen(seq))

    def covered(self) -> int:
        data = read_if_there(STATE / SNAPSHOT_NAME, disk=self.disk)
        return 0 if data is None else json.loads(data)["seq"]


def test_snapshots_come_after_so_many_events_or_so_many_seconds():
    async def story() -> list[int]:
        keeping = _Keeping(SnapshotPace(5, 60.0))
        found = []
        for count, wait in ((0, 1), (5, 0.3), (4, 59), (0, 2), (0, 3600)):
            keeping.append(count)
            await asyncio.sleep(wait)
            found.append(keeping.covered())
        keeping.keeper.cancel()
        return found

    assert run_virtually(story()) == [0, 5, 5, 9, 9]


def test_a_snapshot_waits_for_a_quiet_moment_and_not_for_ever():
    """The events that make it due are mostly a message, whose agent starts just then."""

    async def story() -> list[int]:
        keeping = _Keeping(SnapshotPace(5, 1.0))
        keeping.append(5)
        found = []
        for _ in range(30):
            await asyncio.sleep(0.05)
            keeping.append(1)
            found.append(keeping.covered())
        keeping.keeper.cancel()
        return found

    covered = run_virtually(story())
    assert covered[:18] == [0] * 18
    assert covered[-1] >= 20


def test_a_snapshot_that_has_no_room_is_tried_again_and_ends_nothing():
    async def story() -> list[int]:
        keeping = _Keeping(SnapshotPace(5, 60.0))
        await asyncio.sleep(0)
        keeping.append(5)
        keeping.disk.capacity = keeping.disk.used_bytes + len(encoded([seen(n) for n in range(1, 6)]))
        await asyncio.sleep(1)
        found = [keeping.covered()]
        keeping.disk.capacity = None
        await asyncio.sleep(70)
        keeping.keeper.cancel()
        return [*found, keeping.covered()]

    assert run_virtually(story()) == [0, 5]
