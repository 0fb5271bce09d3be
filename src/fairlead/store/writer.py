"""The only writer of the journal: bytes in order, and each batch reported as durable only after its sync.

1. Bytes are written, then synced. Batches that wait together share one sync (group commit).
2. A write that fails because the disk is full is cut back to the last durable byte and tried again; until it succeeds,
   the journal is stalled.
3. A failed sync, or any other failed write, is the end: after it nothing on this file can be trusted.
"""

import errno
import threading
from pathlib import Path
from queue import SimpleQueue
from typing import Final, NamedTuple, Protocol

from fairlead.kit.files import Disk, open_private_append, write_all

RETRY_SECONDS: Final = 1.0
NO_ROOM: Final = frozenset({errno.ENOSPC, errno.EDQUOT})


class DiskFull(Exception):  # noqa: N818 - a condition, not a mistake
    """The disk is full; the bytes that were half written have been cut off again."""


class AppendFile:
    """The open file and its last durable byte. Blocking; used by one writer at a time."""

    def __init__(self, path: Path, disk: Disk) -> None:
        self.path = path
        self._disk = disk
        self._handle = open_private_append(path, disk=disk)
        self.durable_offset = disk.size(self._handle)

    def write(self, data: bytes) -> None:
        try:
            write_all(self._handle, data, disk=self._disk)
        except OSError as fault:
            if fault.errno not in NO_ROOM:
                raise
            self._disk.truncate(self._handle, self.durable_offset)
            raise DiskFull(str(self.path)) from fault

    def sync(self) -> None:
        self._disk.sync(self._handle)
        self.durable_offset = self._disk.size(self._handle)

    def cut(self, size: int) -> None:
        self._disk.truncate(self._handle, size)
        self._disk.sync(self._handle)
        self.durable_offset = size

    def close(self) -> None:
        self._disk.close(self._handle)


class Batch(NamedTuple):
    data: bytes
    last_seq: int


class Progress(Protocol):
    """The reports of a writer; it may call them from its own thread."""

    def on_durable(self, seq: int) -> None: ...

    def on_stalled(self) -> None: ...

    def on_broken(self, fault: OSError) -> None: ...


class Writer(Protocol):
    def start(self, file: AppendFile, progress: Progress) -> None: ...

    def put(self, batch: Batch) -> None: ...

    def close(self) -> None:
        """Everything put before is durable, or has been reported as impossible, when this returns."""
        ...


class ThreadedWriter:
    """One thread, so that the event loop never waits for the disk."""

    def __init__(self, *, retry_seconds: float = RETRY_SECONDS) -> None:
        self._retry_seconds = retry_seconds
        self._queue: SimpleQueue[Batch | None] = SimpleQueue()
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self, file: AppendFile, progress: Progress) -> None:
        self._thread = threading.Thread(target=self._run, args=(file, progress), name="journal", daemon=True)
        self._thread.start()

    def put(self, batch: Batch) -> None:
        self._queue.put(batch)

    def close(self) -> None:
        self._closing.set()
        self._queue.put(None)
        if self._thread is not None:
            self._thread.join()

    def _run(self, file: AppendFile, progress: Progress) -> None:
        while (first := self._queue.get()) is not None:
            together = [first]
            last = False
            while not self._queue.empty():
                batch = self._queue.get()
                if batch is None:
                    last = True
                    break
                together.append(batch)
            done = self._commit(file, b"".join([b.data for b in together]), progress)
            if not done:
                return
            progress.on_durable(together[-1].last_seq)
            if last:
                return

    def _commit(self, file: AppendFile, data: bytes, progress: Progress) -> bool:
        while True:
            try:
                file.write(data)
                file.sync()
            except DiskFull:
                progress.on_stalled()
                if self._closing.wait(self._retry_seconds):
                    return False
            except OSError as fault:
                progress.on_broken(fault)
                return False
            else:
                return True
