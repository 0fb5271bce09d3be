"""Rows about memory: each number comes from a process of its own."""

import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.daemon import DaemonProcess
from benchmarks.history import write_history
from benchmarks.rows import Row, at_most
from fairlead.store.journal import JOURNAL_NAME, SNAPSHOT_NAME

_RSS = "print([int(l.split()[1]) for l in open('/proc/self/status') if l.startswith('VmRSS')][0])"

_OPEN = f"""
import sys, pathlib, gc
from benchmarks.journal import write_snapshot_beside
state = write_snapshot_beside(pathlib.Path(sys.argv[1]))
gc.collect()
{_RSS}
"""

_START = f"""
import sys, pathlib, gc
from fairlead.store.journal import open_state
from fairlead.kit.files import REAL_DISK
opened = open_state(pathlib.Path(sys.argv[1]), REAL_DISK)
gc.collect()
{_RSS}
"""

_LIBRARIES = f"""
import asyncio, aiohttp.web, click, dotenv, msgspec
{_RSS}
"""

_SESSIONS = f"""
import sys, gc
from benchmarks.sessions import state_with
count = int(sys.argv[1])
state = state_with(count)
gc.collect()
{_RSS}
"""


def rss_kib(program: str, *arguments: str) -> int:
    done = subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=True)
    return int(done.stdout.split()[-1])


def history_rows(small: Path, large: Path, small_count: int) -> list[Row]:
    """What a start holds in memory, and what its snapshot weighs, does not grow with the journal."""
    write_history(small / JOURNAL_NAME, small_count)
    for directory in (small, large):
        rss_kib(_OPEN, str(directory))
    rss = [rss_kib(_START, str(directory)) / 1024 for directory in (small, large)]
    size = [(directory / SNAPSHOT_NAME).stat().st_size / 1024 for directory in (small, large)]
    return [
        at_most("RSS at 1 M events", rss[1], rss[0], floor_name="at 10 k events", unit="MiB", factor=1.2),
        at_most("snapshot size at 1 M events", size[1], size[0], floor_name="at 10 k events", unit="KiB", factor=1.2),
    ]


def idle_row() -> Row:
    with tempfile.TemporaryDirectory() as home, DaemonProcess(Path(home)) as daemon:
        measured = daemon.rss_kib()
    floor = rss_kib(_LIBRARIES)
    name = "idle daemon, HTTP on"
    return at_most(name, measured / 1024, floor / 1024, floor_name="its libraries imported", unit="MiB", factor=1.3)


def session_row() -> Row:
    few, many = 100, 2100
    each = (rss_kib(_SESSIONS, str(many)) - rss_kib(_SESSIONS, str(few))) / (many - few)
    return Row(
        name="a further idle session",
        measured=each,
        floor=None,
        floor_name="none",
        unit="KiB",
        reach="≤ 50 KiB",
        reached=each <= 50,
    )
