"""Clocks of real processes that a test moves ahead (tests/support/moved_clock.py)."""

import asyncio
import sys
from pathlib import Path

from tests.two_machines.harness import Program

MOVED_CLOCK = Path(__file__).parent.parent / "support" / "moved_clock.py"
MINUTE = 60


class MovedClock:
    """One for all processes that are started with its launcher."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._ahead = 0
        self._write()
        self.launcher = (sys.executable, str(MOVED_CLOCK), str(path))

    async def move(self, seconds: int, *programs: Program) -> None:
        """Returns when all of them have done what was due by then."""
        self._ahead += seconds
        self._write()
        for program in programs:
            told = self._path.with_name(f"{self._path.name}.{program.process.pid}")
            while told.read_text().strip() != str(self._ahead):
                await asyncio.sleep(0.01)

    def _write(self) -> None:
        """In place and of one length: who reads it meanwhile reads the old number or the new one."""
        with self._path.open("r+b" if self._path.exists() else "wb", buffering=0) as file:
            file.write(b"%012d" % self._ahead)
