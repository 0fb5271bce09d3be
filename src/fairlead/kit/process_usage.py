"""What this process uses of the machine: time, memory, file descriptors. None where the system does not tell."""

import os
import resource
import time
from pathlib import Path
from typing import Final

import msgspec

_OWN: Final = Path("/proc/self")
_IMPORTED_AT: Final = time.time()
_START_TIME: Final = 19
_VIRTUAL_SIZE: Final = 20
_RESIDENT_PAGES: Final = 21
"""The places of these fields in /proc/self/stat, counted behind the program's name."""


class ProcessUsage(msgspec.Struct, frozen=True, kw_only=True):
    cpu_seconds: float
    started_at: float
    """Seconds since 1970."""
    resident_bytes: int | None = None
    virtual_bytes: int | None = None
    open_files: int | None = None
    max_files: int | None = None


def read_own_usage() -> ProcessUsage:
    used = resource.getrusage(resource.RUSAGE_SELF)
    stat = _read_stat()
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return ProcessUsage(
        cpu_seconds=used.ru_utime + used.ru_stime,
        started_at=_find_start(stat),
        resident_bytes=int(stat[_RESIDENT_PAGES]) * resource.getpagesize() if stat else None,
        virtual_bytes=int(stat[_VIRTUAL_SIZE]) if stat else None,
        open_files=_count_open_files(),
        max_files=None if limit == resource.RLIM_INFINITY else limit,
    )


def _read_stat() -> list[str]:
    """The fields behind the program's name, which may hold spaces and brackets; empty where there is no /proc."""
    try:
        return (_OWN / "stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return []


def _find_start(stat: list[str]) -> float:
    """When the process began; where the system does not tell, when this module was first needed."""
    try:
        booted = next(line for line in Path("/proc/stat").read_text().splitlines() if line.startswith("btime "))
        return int(booted.split()[1]) + int(stat[_START_TIME]) / os.sysconf("SC_CLK_TCK")
    except (OSError, StopIteration, IndexError):
        return _IMPORTED_AT


def _count_open_files() -> int | None:
    for directory in (_OWN / "fd", Path("/dev/fd")):
        try:
            return len([*directory.iterdir()]) - 1  # without the one that lists them
        except OSError:
            continue
    return None
