"""Journals made by hand, for tests that spoil them."""

import errno
import threading
from collections.abc import Sequence
from pathlib import Path
from zlib import crc32

from fairlead.core.events import DaemonStarted, JournalEvent, OwnerSet, PersonSeen, ProjectCreated, StateFounded
from fairlead.kit.files import Handle, RealDisk, open_private_append, write_all
from fairlead.store.journal import JOURNAL_NAME, FileJournal, open_state
from fairlead.store.lines import encode_batch
from fairlead.testing.disk import SimulatedDisk

TS = "2026-01-05T08:00:00.000Z"
STATE = Path("/state")

Batch = Sequence[JournalEvent]

STORY: tuple[Batch, ...] = (
    (StateFounded("abcd", "1.0"),),
    (DaemonStarted("1.0", 7), OwnerSet("42")),
    (PersonSeen("42", "ja"),),
    (
        ProjectCreated(number=1, name="api", path="/srv/api", enabled_runtimes=("echo",), default_runtime="echo"),
        ProjectCreated(
            number=2,
            name="web",
            path="/srv/wéb",
            enabled_runtimes=("echo",),
            default_runtime="echo",
            default_args={"echo": ("--model", "x")},
        ),
        PersonSeen("43", "zh-TW"),
    ),
    (DaemonStarted("1.1", 8),),
)


def encoded(batches: Sequence[Batch] = STORY, *, first_seq: int = 1, chain: int = 0) -> bytes:
    parts = []
    for batch in batches:
        made, chain = encode_batch(first_seq, TS, batch, chain)
        first_seq += len(batch)
        parts.append(made)
    return b"".join(parts)


def batch_ends(batches: Sequence[Batch] = STORY) -> list[int]:
    """The byte after each batch, the beginning included."""
    return [0, *(len(encoded(batches[:n])) for n in range(1, len(batches) + 1))]


def sealed_line(body: str, *, after: bytes) -> bytes:
    """Any line, with the checksum it would have behind `after`."""
    raw = body.encode()
    return raw + b',"crc":"%08x"}\n' % crc32(after + raw)


def disk_with(data: bytes, name: str = JOURNAL_NAME, disk: SimulatedDisk | None = None) -> SimulatedDisk:
    disk = disk or SimulatedDisk()
    if not disk.exists(STATE):
        disk.mkdir(STATE)
        disk.sync_directory(Path("/"))
    handle = open_private_append(STATE / name, disk=disk)
    write_all(handle, data, disk=disk)
    disk.sync(handle)
    disk.close(handle)
    return disk


class TroubledDisk(RealDisk):
    """The real one, with a limit that fills up, a sync that can be held back, and one that can fail."""

    def __init__(self) -> None:
        self.room: int | None = None
        self.failing = False
        self.syncs = 0
        self.may_sync = threading.Event()
        self.may_sync.set()

    def write(self, handle: Handle, data: bytes | memoryview) -> int:
        if self.room is None:
            return super().write(handle, data)
        if self.room == 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        taken = super().write(handle, data[: self.room])
        self.room -= taken
        return taken

    def sync(self, handle: Handle) -> None:
        assert self.may_sync.wait(30)
        self.syncs += 1
        if self.failing:
            raise OSError(errno.EIO, "Input/output error")
        super().sync(handle)


async def at_once(work):
    return work()


def open_journal(directory: Path, disk, writer, *, on_broken=None, offload=at_once):
    opened = open_state(directory, disk)
    journal = FileJournal(
        directory, opened, disk=disk, writer=writer, offload=offload, on_broken=on_broken or (lambda _: None)
    )
    return opened.state, journal
