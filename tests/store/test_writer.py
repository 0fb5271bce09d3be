"""Durable means durable: written and synced before anybody is told, together where many wait, and never twice."""

import asyncio
import errno
import os
import threading
import time
from pathlib import Path

import pytest

from fairlead.core.events import PersonSeen, StateFounded
from fairlead.errors import Code, FairleadError
from fairlead.kit.files import REAL_DISK
from fairlead.store.journal import JOURNAL_NAME, FileJournal, open_state
from fairlead.store.writer import SYNCS_AFTER_A_SLOW_ONE, AppendFile, Batch, DiskFull, JournalWriter
from tests.store.harness import STATE, TroubledDisk, disk_with, encoded, open_journal

pytestmark = [pytest.mark.anyio, pytest.mark.req("A7")]


TS = "2026-01-05T08:00:00.000Z"


def seen(number: int) -> tuple[PersonSeen]:
    return (PersonSeen(f"p{number}", "en"),)


async def test_a_line_is_durable_when_the_wait_is_over(tmp_path: Path):
    _, journal = open_journal(tmp_path, REAL_DISK, JournalWriter())
    journal.append(TS, 1, [StateFounded("abcd")])
    await journal.until_durable(1)
    assert (tmp_path / JOURNAL_NAME).read_bytes() == encoded([[StateFounded("abcd")]])
    assert journal.durable_seq == 1
    await journal.aclose()


async def test_nobody_is_told_before_the_sync_has_ended(tmp_path: Path):
    disk, journal = await open_on_slow_disk(tmp_path)
    disk.may_sync.clear()
    journal.append(TS, 2, seen(2))
    waiting = asyncio.ensure_future(journal.until_durable(2))
    done, _ = await asyncio.wait({waiting}, timeout=0.05)
    assert not done
    assert journal.durable_seq == 1
    disk.may_sync.set()
    await waiting
    await journal.aclose()


async def open_on_slow_disk(directory: Path) -> tuple[TroubledDisk, FileJournal]:
    """With one line, whose sync took too long: the thread makes the next ones."""
    disk = TroubledDisk()
    _, journal = open_journal(directory, disk, JournalWriter(slow_sec=0))
    journal.append(TS, 1, seen(1))
    await journal.until_durable(1)
    return disk, journal


async def test_a_slow_disk_does_not_hold_the_event_loop_up(tmp_path: Path):
    disk, journal = await open_on_slow_disk(tmp_path)
    for number in range(2, SYNCS_AFTER_A_SLOW_ONE + 2):
        disk.may_sync.clear()
        journal.append(TS, number, seen(number))
        durable = asyncio.ensure_future(journal.until_durable(number))
        for _ in range(10):
            await asyncio.sleep(0)
        assert not durable.done()
        disk.may_sync.set()  # the event loop still runs, or this would never be reached
        await durable
    await journal.aclose()


async def test_a_quick_disk_is_written_without_a_thread(tmp_path: Path):
    synced_in: list[int] = []

    class Noting(TroubledDisk):
        def sync(self, handle):
            synced_in.append(threading.get_ident())
            super().sync(handle)

    _, journal = open_journal(tmp_path, Noting(), JournalWriter(slow_sec=60))
    for number in range(1, 4):
        journal.append(TS, number, seen(number))
        await asyncio.sleep(0)
        await journal.until_durable(number)
    assert set(synced_in) == {threading.get_ident()}
    await journal.aclose()


async def test_lines_keep_their_order_while_the_disk_is_now_quick_and_now_slow(tmp_path: Path):
    class Moody(TroubledDisk):
        def sync(self, handle):
            super().sync(handle)
            time.sleep(0.003 if self.syncs % 7 == 0 else 0)

    _, journal = open_journal(tmp_path, Moody(), JournalWriter(slow_sec=0.002))
    for number in range(1, 301):
        journal.append(TS, number, seen(number))
        if number % 5 == 0:
            journal.delay_sync(number % 4, is_begun=number % 2 == 0)
        if number % 3 == 0:
            await asyncio.sleep(0)
        if number % 50 == 0:
            await journal.until_durable(number)
            assert journal.durable_seq >= number
    await journal.aclose()
    assert list(open_state(tmp_path, REAL_DISK).state.people) == [f"p{n}" for n in range(1, 301)]


class OneBatchAtATime:
    """A writer that makes one batch durable each time the test says so."""

    def start(self, file, progress):
        self._file, self._progress = file, progress
        self._waiting: list[Batch] = []

    def put(self, batch: Batch) -> None:
        self._waiting.append(batch)

    def sync_one(self) -> None:
        batch = self._waiting.pop(0)
        self._file.write(batch.data)
        self._file.sync()
        self._progress.on_durable(batch.last_seq)

    def close(self) -> None:
        pass


async def test_a_line_is_waited_for_no_longer_than_its_own_sync_even_if_others_wait_for_a_later_one():
    writer = OneBatchAtATime()
    _, journal = open_journal(STATE, disk_with(b""), writer)
    journal.append(TS, 1, seen(1))
    journal.append(TS, 2, seen(2))
    later = asyncio.ensure_future(journal.until_durable(2))
    await asyncio.sleep(0)
    earlier = asyncio.ensure_future(journal.until_durable(1))
    await asyncio.sleep(0)
    writer.sync_one()
    done, _ = await asyncio.wait({earlier, later}, timeout=1, return_when=asyncio.FIRST_COMPLETED)
    assert done == {earlier}
    writer.sync_one()
    await later
    await journal.aclose()


async def test_who_waited_last_goes_first(tmp_path: Path):
    """A turn gives its agent the prompt before the receipt of the message is shown."""
    _, journal = open_journal(tmp_path, REAL_DISK, JournalWriter())
    went: list[str] = []

    async def wait(who: str, seq: int) -> None:
        await journal.until_durable(seq)
        went.append(who)

    async with asyncio.TaskGroup() as group:
        for who, seq in (("receipt", 3), ("history", 1), ("prompt", 3)):
            group.create_task(wait(who, seq))
        await asyncio.sleep(0)
        for number in range(1, 4):
            journal.append(TS, number, seen(number))
    assert went == ["prompt", "receipt", "history"]
    await journal.aclose()


async def test_what_one_step_appends_is_written_with_one_sync(tmp_path: Path):
    """A message, the start of its job and the hand-over: whoever waits for the last one waits for one sync."""
    disk = TroubledDisk()
    _, journal = open_journal(tmp_path, disk, JournalWriter())
    before = disk.syncs
    for number in range(1, 4):
        journal.append(TS, number, seen(number))
        time.sleep(0.002)  # the event loop is busy: a thread that was woken too early would write now
    await journal.until_durable(3)
    assert disk.syncs == before + 1
    await journal.aclose()


async def test_a_delayed_sync_takes_along_what_the_next_steps_append(tmp_path: Path):
    disk = TroubledDisk()
    _, journal = open_journal(tmp_path, disk, JournalWriter())
    before = disk.syncs
    journal.append(TS, 1, seen(1))
    journal.delay_sync(2)
    for number in (2, 3):
        await asyncio.sleep(0)
        journal.append(TS, number, seen(number))
    await journal.until_durable(3)
    assert disk.syncs == before + 1
    await journal.aclose()


class Broken(TroubledDisk):
    """Takes nothing, for another reason than that it is full."""

    def write(self, handle, data):
        raise OSError(errno.EIO, "Input/output error")


class Hinted(TroubledDisk):
    """Knows what was in the file when the disk was told to begin."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path
        self.begun: list[int] = []

    def begin_writing(self, handle):
        super().begin_writing(handle)
        self.begun.append(self._path.stat().st_size)


async def test_the_disk_works_while_a_sync_is_delayed_and_nothing_is_durable_by_that(tmp_path: Path):
    disk = Hinted(tmp_path / JOURNAL_NAME)
    _, journal = open_journal(tmp_path, disk, JournalWriter())
    before = disk.syncs
    disk.begun.clear()
    journal.append(TS, 1, seen(1))
    journal.delay_sync(3, is_begun=True)
    await asyncio.sleep(0)
    whole = encoded([seen(1)])
    assert disk.begun == [len(whole)]
    assert (tmp_path / JOURNAL_NAME).read_bytes() == whole
    assert journal.durable_seq == 0
    journal.append(TS, 2, seen(2))
    await journal.until_durable(2)
    assert (disk.syncs, disk.begun) == (before + 1, [len(whole)])
    await journal.aclose()
    assert open_state(tmp_path, REAL_DISK).state.seq == 2


async def test_a_delay_ends_when_nothing_more_is_waited_for(tmp_path: Path):
    _, journal = open_journal(tmp_path, REAL_DISK, JournalWriter())
    journal.append(TS, 1, seen(1))
    journal.delay_sync(1_000_000)
    await asyncio.sleep(0)
    journal.delay_sync(0)
    for _ in range(3):
        await asyncio.sleep(0)
    assert journal.durable_seq == 1
    await journal.aclose()


@pytest.mark.req("A18")
@pytest.mark.parametrize("room", [0, 40, 150])
async def test_what_was_written_ahead_is_written_again_when_the_disk_was_full_behind_it(tmp_path: Path, room: int):
    """The first line fits, the second one not, or not even the first: a full disk is cut back to what is durable."""
    disk = TroubledDisk()
    _, journal = open_journal(tmp_path, disk, JournalWriter(retry_seconds=0.01))
    disk.room = room
    journal.append(TS, 1, seen(1))
    journal.delay_sync(2, is_begun=True)
    await asyncio.sleep(0)
    journal.append(TS, 2, seen(2))
    while not journal.is_stalled:
        await asyncio.sleep(0.001)
    assert journal.durable_seq == 0
    disk.room = None
    await journal.until_durable(2)
    await journal.aclose()
    assert list(open_state(tmp_path, REAL_DISK).state.people) == ["p1", "p2"]


async def test_a_fault_while_it_is_written_ahead_is_the_end(tmp_path: Path):
    told = []
    _, journal = open_journal(tmp_path, Broken(), JournalWriter(), on_broken=told.append)
    journal.append(TS, 1, seen(1))
    journal.delay_sync(2, is_begun=True)
    with pytest.raises(FairleadError, match="E_JOURNAL_BROKEN"):
        await journal.until_durable(1)
    assert len(told) == 1
    await journal.aclose()


async def test_a_disk_that_fails_when_it_is_told_to_begin_is_the_end_and_nothing_is_written_twice(tmp_path: Path):
    class Failing(TroubledDisk):
        def begin_writing(self, handle):
            if (tmp_path / JOURNAL_NAME).stat().st_size:
                raise OSError(errno.EIO, "Input/output error")

    told = []
    _, journal = open_journal(tmp_path, Failing(), JournalWriter(), on_broken=told.append)
    journal.append(TS, 1, seen(1))
    journal.delay_sync(2, is_begun=True)
    with pytest.raises(FairleadError, match="E_JOURNAL_BROKEN"):
        await journal.until_durable(1)
    await journal.aclose()
    assert len(told) == 1
    assert (tmp_path / JOURNAL_NAME).read_bytes() == encoded([seen(1)])


async def test_a_disk_that_is_slow_to_begin_is_left_to_the_thread(tmp_path: Path):
    _, journal = open_journal(tmp_path, TroubledDisk(), JournalWriter(slow_sec=0))
    journal.append(TS, 1, seen(1))
    journal.delay_sync(1, is_begun=True)
    await asyncio.sleep(0)
    assert journal._writer._left_to_thread == SYNCS_AFTER_A_SLOW_ONE
    await journal.until_durable(1)
    await journal.aclose()
    assert open_state(tmp_path, REAL_DISK).state.seq == 1


async def test_what_was_written_ahead_is_synced_when_the_journal_is_closed_before_its_sync(tmp_path: Path):
    disk = TroubledDisk()
    _, journal = open_journal(tmp_path, disk, JournalWriter())
    before = disk.syncs
    journal.append(TS, 1, seen(1))
    journal.delay_sync(100, is_begun=True)
    await asyncio.sleep(0)
    await journal.aclose()
    assert disk.syncs == before + 1
    assert open_state(tmp_path, REAL_DISK).state.seq == 1


async def test_64_writers_share_their_syncs(tmp_path: Path):
    disk, journal = await open_on_slow_disk(tmp_path)
    before = disk.syncs
    disk.may_sync.clear()
    journal.append(TS, 2, seen(2))
    first = asyncio.ensure_future(journal.until_durable(2))
    await asyncio.sleep(0)
    others = []
    for number in range(3, 65):
        journal.append(TS, number, seen(number))
        others.append(asyncio.ensure_future(journal.until_durable(number)))
    disk.may_sync.set()
    await asyncio.gather(first, *others)
    assert disk.syncs <= before + 2
    await journal.aclose()
    opened = open_state(tmp_path, REAL_DISK)
    assert list(opened.state.people) == [f"p{n}" for n in range(1, 65)]


async def test_closing_makes_everything_durable_that_was_appended(tmp_path: Path):
    _, journal = open_journal(tmp_path, REAL_DISK, JournalWriter())
    for number in range(1, 200):
        journal.append(TS, number, seen(number))
    await journal.aclose()
    assert open_state(tmp_path, REAL_DISK).state.seq == 199


@pytest.mark.req("A18")
async def test_a_full_disk_holds_everything_and_loses_nothing(tmp_path: Path):
    disk = TroubledDisk()
    _, journal = open_journal(tmp_path, disk, JournalWriter(retry_seconds=0.01))
    journal.append(TS, 1, seen(1))
    await journal.until_durable(1)
    size = (tmp_path / JOURNAL_NAME).stat().st_size
    disk.room = 40  # a part of the next line fits
    journal.append(TS, 2, seen(2))
    waiting = asyncio.ensure_future(journal.until_durable(2))
    while not journal.is_stalled:
        await asyncio.wait({waiting}, timeout=0.01)
    assert not waiting.done()
    assert (tmp_path / JOURNAL_NAME).stat().st_size in {size, size + 40}
    journal.append(TS, 3, seen(3))
    disk.room = None
    await journal.until_durable(3)
    await waiting
    assert not journal.is_stalled
    await journal.aclose()
    opened = open_state(tmp_path, REAL_DISK)
    assert list(opened.state.people) == ["p1", "p2", "p3"]
    assert opened.reports == ()


async def test_a_full_disk_does_not_keep_the_writer_from_closing(tmp_path: Path):
    disk = TroubledDisk()
    _, journal = open_journal(tmp_path, disk, JournalWriter(retry_seconds=3600))
    disk.room = 10
    journal.append(TS, 1, seen(1))
    while not journal.is_stalled:
        await asyncio.sleep(0)
    await journal.aclose()
    assert (tmp_path / JOURNAL_NAME).read_bytes() == b""


async def test_a_failed_sync_is_the_end(tmp_path: Path):
    disk, told = TroubledDisk(), []
    _, journal = open_journal(tmp_path, disk, JournalWriter(), on_broken=told.append)
    disk.failing = True
    journal.append(TS, 1, seen(1))
    with pytest.raises(FairleadError) as caught:
        await journal.until_durable(1)
    assert caught.value.code is Code.E_JOURNAL_BROKEN
    assert str(tmp_path / JOURNAL_NAME) in caught.value.message
    assert told == [caught.value]
    disk.failing = False  # a sync that works now proves nothing about the bytes before
    with pytest.raises(FairleadError):
        journal.append(TS, 2, seen(2))
    with pytest.raises(FairleadError):
        await journal.until_durable(1)
    await journal.aclose()


async def test_after_a_sync_that_failed_in_the_thread_the_event_loop_writes_nothing_either(tmp_path: Path):
    disk, journal = await open_on_slow_disk(tmp_path)
    disk.failing = True
    disk.may_sync.clear()
    journal.append(TS, 2, seen(2))
    durable = asyncio.ensure_future(journal.until_durable(2))
    while not journal._writer._file_in_use.locked():
        await asyncio.sleep(0)
    journal.append(TS, 3, seen(3))
    journal._writer._left_to_thread = 0  # the event loop tries to write before the thread's report has come
    disk.may_sync.set()
    while journal._writer._file_in_use.locked():
        time.sleep(0.001)
    disk.failing = False
    with pytest.raises(FairleadError, match="E_JOURNAL_BROKEN"):
        await durable
    assert journal.durable_seq == 1
    await journal.aclose()


async def test_a_write_that_fails_for_another_reason_is_the_end_too(tmp_path: Path):
    told = []
    _, journal = open_journal(tmp_path, Broken(), JournalWriter(), on_broken=told.append)
    journal.append(TS, 1, seen(1))
    with pytest.raises(FairleadError, match="E_JOURNAL_BROKEN"):
        await journal.until_durable(1)
    assert len(told) == 1
    await journal.aclose()


def test_a_short_write_is_continued(tmp_path: Path):
    from random import Random

    disk = disk_with(b"")
    disk.short_writes = Random(3)
    file = AppendFile(STATE / JOURNAL_NAME, disk)
    file.write(b"0123456789" * 50)
    file.sync()
    assert disk.read(STATE / JOURNAL_NAME) == b"0123456789" * 50
    assert file.durable_offset == 500


def test_what_did_not_fit_is_cut_back_to_the_last_durable_byte():
    disk = disk_with(b"")
    file = AppendFile(STATE / JOURNAL_NAME, disk)
    file.write(b"whole\n")
    file.sync()
    disk.capacity = disk.used_bytes + 3
    with pytest.raises(DiskFull):
        file.write(b"too long\n")
    assert disk.read(STATE / JOURNAL_NAME) == b"whole\n"
    disk.capacity = None
    file.write(b"again\n")
    file.sync()
    assert disk.read(STATE / JOURNAL_NAME) == b"whole\nagain\n"


@pytest.mark.req("B14")
async def test_our_files_are_ours_alone_and_the_umask_is_left_alone(tmp_path: Path):
    before = os.umask(0o002)
    try:
        state, journal = open_journal(tmp_path, REAL_DISK, JournalWriter())
        journal.append(TS, 1, [StateFounded("abcd")])
        await journal.until_durable(1)
        state.seq = 1
        await journal.snapshot(state)
        await journal.aclose()
        modes = {p.name: p.stat().st_mode & 0o777 for p in tmp_path.iterdir()}
        assert modes == {JOURNAL_NAME: 0o600, "snapshot.json": 0o600}
        assert os.umask(0o002) == 0o002
    finally:
        os.umask(before)
