"""The only writer of the journal: bytes in order, and each batch reported as durable only after its sync.

1. Bytes are written, then synced. Batches that wait together share one sync (group commit).
2. A write that fails because the disk is full is cut back to the last durable byte and tried again; until it succeeds,
   the journal is stalled.
3. A failed sync, or any other failed write, is the end: after it nothing on this file can be trusted.
"""

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from queue import SimpleQueue
from typing import Final, NamedTuple, Protocol

from fairlead.kit.durations import DurationMeter
from fairlead.kit.files import NO_ROOM, Disk, open_private_append, write_all

RETRY_SECONDS: Final = 1.0
SLOW_SEC: Final = 0.01
"""Nobody notices that everything else waits so long; a disk that needs longer is not waited for."""
SYNCS_AFTER_A_SLOW_ONE: Final = 20
"""The thread makes so many before the event loop tries one again."""


class DiskFull(Exception):  # noqa: N818 - a condition, not a mistake
    """The disk is full; the bytes that were half written have been cut off again."""


class AppendFile:
    """The open file and its last durable byte. Blocking; used by one writer at a time."""

    def __init__(self, path: Path, disk: Disk) -> None:
        self.path = path
        self._disk = disk
        self._handle = open_private_append(path, disk=disk)
        self.durable_offset = self._size = disk.size(self._handle)

    def write(self, data: bytes) -> None:
        try:
            write_all(self._handle, data, disk=self._disk)
        except OSError as fault:
            if fault.errno not in NO_ROOM:
                raise
            self._disk.truncate(self._handle, self.durable_offset)
            self._size = self.durable_offset
            raise DiskFull(str(self.path)) from fault
        self._size += len(data)

    def begin_writing(self) -> None:
        """The disk may begin with what was written; the sync has less to do then."""
        self._disk.begin_writing(self._handle)

    def sync(self) -> None:
        self._disk.sync(self._handle)
        self.durable_offset = self._size

    def cut(self, size: int) -> None:
        self._disk.truncate(self._handle, size)
        self._disk.sync(self._handle)
        self.durable_offset = self._size = size

    def close(self) -> None:
        self._disk.close(self._handle)


class Batch(NamedTuple):
    data: bytes
    last_seq: int


class Progress(Protocol):
    """The reports of a writer, made in the event loop in which it was started."""

    def on_durable(self, seq: int) -> None: ...

    def on_stalled(self) -> None: ...

    def on_broken(self, fault: OSError) -> None: ...


class Writer(Protocol):
    def start(self, file: AppendFile, progress: Progress) -> None: ...

    def put(self, batch: Batch) -> None: ...

    def delay(self, steps: int, *, is_begun: bool = False) -> None:
        """Lets at least so many steps of the event loop pass before the next sync, where that makes a difference; 0
        ends such a delay. With `is_begun`, what was put is written before them."""
        ...

    def close(self) -> None:
        """Everything put before is durable, or has been reported as impossible, when this returns."""
        ...


class JournalWriter:
    """While the disk is quick, the event loop itself writes and syncs; while it is not, a thread does.

    1. The step of the event loop that put the first batch ends first, and `delay` lets more of them pass. What they put
       behind that batch (a message, the start of its job, the hand-over) shares its sync. What was put before them may
       be written at once, so that the disk works while they last.
    2. On most disks a sync takes a few tenths of a millisecond, and to hand it to a thread and back takes about as long
       again. After a sync that took longer than `slow_sec`, the thread makes the next `SYNCS_AFTER_A_SLOW_ONE`.
    3. A full disk is the thread's: it tries again until there is room.
    4. Who takes batches holds the lock until they are durable. So their order is their order in the file.
    """

    def __init__(
        self, *, slow_sec: float = SLOW_SEC, retry_seconds: float = RETRY_SECONDS, times: DurationMeter | None = None
    ) -> None:
        """`times` is told how long each sync took."""
        self._times = times or DurationMeter()
        self._slow_sec = slow_sec
        self._retry_seconds = retry_seconds
        self._waiting: deque[Batch] = deque()
        self._written = 0
        """So many of those that wait are in the file already, and wait for the sync alone."""
        self._is_due = False
        self._steps_to_wait = 0
        self._is_begun = False
        self._is_broken = False
        self._left_to_thread = 0
        self._file_in_use = threading.Lock()
        self._wake_ups: SimpleQueue[None] = SimpleQueue()
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self, file: AppendFile, progress: Progress) -> None:
        self._loop = asyncio.get_running_loop()
        self._file, self._progress = file, progress
        file.begin_writing()  # nothing yet; what that needs is loaded now, and not while a message waits
        self._thread = threading.Thread(target=self._run_thread, name="journal", daemon=True)
        self._thread.start()

    def put(self, batch: Batch) -> None:
        self._waiting.append(batch)
        if not self._is_due:
            self._is_due = True
            self._loop.call_soon(self._write_waiting)

    def delay(self, steps: int, *, is_begun: bool = False) -> None:
        self._steps_to_wait = max(self._steps_to_wait, steps) if steps else 0
        self._is_begun = is_begun

    def close(self) -> None:
        self._closing.set()
        self._wake_ups.put(None)
        if self._thread is not None:
            self._thread.join()

    # --- in the event loop

    def _write_waiting(self) -> None:
        if self._steps_to_wait:
            self._steps_to_wait -= 1
            if self._is_begun:
                self._write_ahead()
            self._loop.call_soon(self._write_waiting)
            return
        self._is_due = False
        if self._left_to_thread:
            self._left_to_thread -= 1
        elif self._file_in_use.acquire(blocking=False):
            try:
                self._write_here()
            finally:
                self._file_in_use.release()
        if self._waiting:
            self._wake_ups.put(None)

    def _write_ahead(self) -> None:
        """Once before each sync: the steps that are waited for mostly add one line. A full disk is met by the sync."""
        may_write = self._waiting and not (self._written or self._left_to_thread or self._is_broken)
        if not may_write or not self._file_in_use.acquire(blocking=False):
            return
        began = time.perf_counter()
        try:
            self._file.write(b"".join([batch.data for batch in self._waiting]))
            self._written = len(self._waiting)
            self._file.begin_writing()
        except DiskFull:
            pass
        except OSError as fault:
            self._is_broken = True
            self._progress.on_broken(fault)
        finally:
            self._file_in_use.release()
        self._note_time(began)

    def _note_time(self, began: float) -> None:
        """The event loop was held up so long."""
        if time.perf_counter() - began > self._slow_sec:
            self._left_to_thread = SYNCS_AFTER_A_SLOW_ONE

    def _write_here(self) -> None:
        """Leaves everything to the thread if the disk is full."""
        together = self._take_waiting()
        if not together:
            return
        began = time.perf_counter()
        try:
            self._write_durably(together)
        except DiskFull:
            self._waiting.extendleft(reversed(together))
            return
        except OSError as fault:
            self._progress.on_broken(fault)
            return
        self._note_time(began)
        self._progress.on_durable(together[-1].last_seq)

    # --- in the thread

    def _run_thread(self) -> None:
        goes_on = True
        while goes_on:
            self._wake_ups.get()
            goes_on = not self._closing.is_set()  # before the batches are taken: those before `close` are among them
            with self._file_in_use:
                together = self._take_waiting()
                if together and not self._write_patiently(together):
                    return

    def _write_patiently(self, together: list[Batch]) -> bool:
        """False if they could not be written."""
        while True:
            try:
                self._write_durably(together)
            except DiskFull:
                self._report(self._progress.on_stalled)
                if self._closing.wait(self._retry_seconds):
                    return False
            except OSError as fault:
                self._report(self._progress.on_broken, fault)
                return False
            else:
                self._report(self._progress.on_durable, together[-1].last_seq)
                return True

    def _report(self, report: Callable[..., None], *given: object) -> None:
        self._loop.call_soon_threadsafe(report, *given)

    # --- in both, with the lock

    def _take_waiting(self) -> list[Batch]:
        """None of them once the file is broken: the other side may not have heard of it yet."""
        if self._is_broken:
            self._waiting.clear()
            self._written = 0
        return [self._waiting.popleft() for _ in range(len(self._waiting))]

    def _write_durably(self, together: list[Batch]) -> None:
        """If the disk is full, none of them is in the file afterwards."""
        began = time.perf_counter()
        written, self._written = self._written, 0
        try:
            self._file.write(b"".join([batch.data for batch in together[written:]]))
            self._file.sync()
        except OSError:
            self._is_broken = True
            raise
        self._times.note(time.perf_counter() - began)
