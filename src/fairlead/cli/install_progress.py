"""What a person sees while an agent is installed: a line for each step, which counts its seconds on a terminal.

A file or a pipe gets one plain line when a step begins, so that what is written does not depend on how long it takes.
"""

import asyncio
import shutil
import sys
from contextlib import suppress
from typing import Final, Self, TextIO

from fairlead.kit.tasks import OwnedTasks
from fairlead.render.safe_text import visible_lines

_TICK_SEC: Final = 1.0
_SIZE_STEP: Final = 50 << 20
_CLEAR_LINE: Final = "\r\x1b[K"


class InstallProgress:
    """`async with progress:`, and in it `begin_step(words)` for each step. Outside of it nothing is shown."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = sys.stdout if stream is None else stream
        self._moves = self._stream.isatty()
        self._tasks = OwnedTasks("progress")
        self._ticking: asyncio.Task[None] | None = None
        self._step = ""
        self._began_at = 0.0
        self._size = ""
        self._next_size = _SIZE_STEP

    async def __aenter__(self) -> Self:
        self._tasks = OwnedTasks("progress")
        self._ticking = self._tasks.start(self._tick(), name="tick")
        return self

    async def __aexit__(self, *_: object) -> None:
        self._end_step()
        if self._ticking is not None:
            self._ticking.cancel()
        await self._tasks.join()
        self._ticking = None

    def begin_step(self, words: str) -> None:
        if self._ticking is None:
            return
        self._end_step()
        self._step = words
        self._began_at = asyncio.get_running_loop().time()
        if self._moves:
            self._draw()
        else:
            self._write(f"  {words} …\n")

    def note_size(self, size: int) -> None:
        """How many bytes have come."""
        self._size = f"{size >> 20} MiB, "
        if size >= self._next_size:
            self._next_size += _SIZE_STEP
            if not self._moves:
                self._write(f"  {size >> 20} MiB …\n")

    async def _tick(self) -> None:
        with suppress(asyncio.CancelledError):
            while True:
                await asyncio.sleep(_TICK_SEC)
                if self._step and self._moves:
                    self._draw()

    def _end_step(self) -> None:
        """On a terminal the line stays, with the time that the step took."""
        if self._step and self._moves:
            self._write(f"{_CLEAR_LINE}{self._describe()}\n")
        self._step = self._size = ""

    def _draw(self) -> None:
        widest = max(20, shutil.get_terminal_size().columns - 1)  # a line that wraps could not be cleared again
        self._write(f"{_CLEAR_LINE}{self._describe()[:widest]}")

    def _describe(self) -> str:
        seconds = asyncio.get_running_loop().time() - self._began_at
        return visible_lines(f"  {self._step} … {self._size}{seconds:.0f} s")

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()
