"""Runs Fairlead's command line with clocks that a test moves ahead: `python moved_clock.py FILE COMMAND …`.

FILE says by how many seconds; it may say another number at any time. The wall clock and the clock of the event loop
move together, so everything that is due by then happens at once, as on a computer that slept. What a socket has to say
is waited for as ever. Once a loop has done all that was due, `FILE.PID` has the number that it knows.

The standard library is changed before anything of Fairlead is loaded; Fairlead itself is not touched."""

import datetime as dt
import os
import queue  # noqa: F401 - threads wait by the real clock: their modules take it before it is changed
import runpy
import selectors
import subprocess  # noqa: F401 - as above
import sys
import threading  # noqa: F401 - as above
import time
from pathlib import Path

LOOK_SEC = 0.02
_real_time, _real_monotonic = time.time, time.monotonic


class Ahead:
    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_RDONLY)
        self._answer = Path(f"{path}.{os.getpid()}")
        self._told = -1.0
        self.seconds = self.read()

    def read(self) -> float:
        return float(os.pread(self._file, 64, 0))

    def tell(self) -> None:
        if self._told != self.seconds:
            self._told = self.seconds
            self._answer.write_text(f"{self._told:.0f}\n")


AHEAD = Ahead(sys.argv[1])


class LookingSelector(selectors.DefaultSelector):
    """Looks at the file often enough. A loop that is ready to wait has done what was due."""

    def select(self, timeout: float | None = None) -> list:
        if timeout is None or timeout > 0:
            AHEAD.tell()
            timeout = LOOK_SEC if timeout is None else min(timeout, LOOK_SEC)
        ready = super().select(timeout)
        AHEAD.seconds = AHEAD.read()
        return ready


class MovedDatetime(dt.datetime):
    @classmethod
    def now(cls, tz: dt.tzinfo | None = None) -> dt.datetime:
        return dt.datetime.fromtimestamp(time.time(), tz)


selectors.DefaultSelector = LookingSelector
time.time = lambda: _real_time() + AHEAD.seconds
time.monotonic = lambda: _real_monotonic() + AHEAD.seconds
dt.datetime = MovedDatetime
sys.argv = ["fairlead", *sys.argv[2:]]
runpy.run_module("fairlead", run_name="__main__", alter_sys=True)
