"""A real daemon in a process of its own, from its start to its end."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from benchmarks.rows import Row, at_most, side_by_side


class DaemonProcess:
    """Up when the block is entered; `started_in` says how long that took."""

    def __init__(self, home: Path, state: Path | None = None, more: Mapping[str, str] | None = None) -> None:
        began = time.perf_counter()
        environment = {"PATH": os.environ["PATH"], "HOME": str(home), "FAIRLEAD_HTTP_PORT": "0"}
        if state is not None:
            environment["STATE_DIR"] = str(state)
        environment.update(more or {})
        argv = [sys.executable, "-m", "fairlead", "up", "--no-chat"]
        self._process = subprocess.Popen(argv, env=environment, stdout=subprocess.PIPE, cwd=home)
        assert self._process.stdout is not None
        while b"is up" not in self._process.stdout.readline():
            assert self._process.poll() is None, "the daemon did not start"
        self.started_in = time.perf_counter() - began

    def rss_kib(self) -> int:
        return self._kib("VmRSS")

    def peak_rss_kib(self) -> int:
        """The most it ever held."""
        return self._kib("VmHWM")

    def _kib(self, field: str) -> int:
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        return int(next(line.split()[1] for line in status.splitlines() if line.startswith(field)))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.send_signal(signal.SIGTERM)
        self._process.communicate()


def start_row(home: Path, large: Path, empty: Path) -> Row:
    """From the command to «is up». A snapshot lies beside the million lines."""

    def start(state: Path) -> float:
        with DaemonProcess(home, state) as daemon:
            return daemon.started_in

    measured, floor = side_by_side(lambda: start(large), lambda: start(empty), 5)
    name = "start, 1 M events and a snapshot"
    return at_most(name, measured * 1e3, floor * 1e3, floor_name="an empty journal", unit="ms", factor=2)
