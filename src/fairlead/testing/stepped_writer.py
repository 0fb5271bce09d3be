"""The journal's writer without a thread: each write and each sync is a step of the event loop, a moment later."""

import asyncio
from collections.abc import Callable

from fairlead.store.writer import RETRY_SECONDS, AppendFile, Batch, DiskFull, Progress


class SteppedWriter:
    """store.writer.Writer. Between any two of its steps the power may go."""

    def __init__(self, latency: Callable[[], float]) -> None:
        self._latency = latency
        self._queue: list[Batch] = []
        self._in_hand: list[Batch] = []
        self._timer: asyncio.TimerHandle | None = None
        self._file: AppendFile | None = None
        self._progress: Progress | None = None
        self._is_written = False
        self._is_broken = False

    def start(self, file: AppendFile, progress: Progress) -> None:
        self._file = file
        self._progress = progress

    def put(self, batch: Batch) -> None:
        self._queue.append(batch)
        if self._timer is None:
            self._after(self._latency())

    def delay(self, steps: int, *, is_begun: bool = False) -> None:
        """Nothing: its own latency is a delay of any length."""

    def close(self) -> None:
        """Like the threaded writer: everything is durable when this returns, unless the disk is full."""
        if self._timer is not None:
            self._timer.cancel()
        while (self._queue or self._in_hand) and not self._is_broken:
            if not self._step():
                return

    def _after(self, seconds: float) -> None:
        self._timer = asyncio.get_running_loop().call_later(seconds, self._on_timer)

    def _on_timer(self) -> None:
        self._timer = None
        if self._is_broken:
            return
        went_on = self._step()
        if self._queue or self._in_hand:
            self._after(self._latency() if went_on else RETRY_SECONDS)

    def _step(self) -> bool:
        """Write the waiting bytes, or sync the written ones. False if the disk is full."""
        assert self._file is not None
        assert self._progress is not None
        try:
            if self._is_written:
                self._file.sync()
                self._finish(self._progress)
            else:
                self._in_hand, self._queue = [*self._in_hand, *self._queue], []
                self._file.write(b"".join([batch.data for batch in self._in_hand]))
                self._is_written = True
        except DiskFull:
            self._progress.on_stalled()
            return False
        except OSError as fault:
            self._is_broken = True
            self._progress.on_broken(fault)
        return True

    def _finish(self, progress: Progress) -> None:
        last = self._in_hand[-1].last_seq
        self._in_hand = []
        self._is_written = False
        progress.on_durable(last)
