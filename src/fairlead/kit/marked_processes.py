"""The living processes that carry a mark, with the memory that each of them holds. Only looks; signals nothing."""

import os
import resource
import subprocess
from collections.abc import Iterable
from pathlib import Path

import msgspec

from fairlead.kit.process_table import ProcessTable, system_table


class MarkedProcess(msgspec.Struct, frozen=True, kw_only=True):
    """`resident_bytes` is None where the system does not tell."""

    pid: int
    mark: str
    command: str
    resident_bytes: int | None = None


def list_marked(prefix: str, table: ProcessTable | None = None) -> list[MarkedProcess]:
    """Those whose mark begins so, oldest first. Reads the whole process table: call it in a thread."""
    found = [entry for entry in (table or system_table()).scan() if entry.mark and entry.mark.startswith(prefix)]
    sizes = _read_sizes(entry.pid for entry in found)
    return [
        MarkedProcess(pid=entry.pid, mark=entry.mark or "", command=entry.command, resident_bytes=sizes.get(entry.pid))
        for entry in sorted(found, key=lambda entry: entry.pid)
    ]


def _read_sizes(pids: Iterable[int]) -> dict[int, int]:
    wanted = list(pids)
    return _read_statm(wanted) if Path("/proc/self/statm").exists() else _ask_ps(wanted)


def _read_statm(pids: Iterable[int]) -> dict[int, int]:
    sizes: dict[int, int] = {}
    for pid in pids:
        try:
            sizes[pid] = int(Path(f"/proc/{pid}/statm").read_bytes().split()[1]) * resource.getpagesize()
        except (OSError, IndexError, ValueError):
            continue  # it has ended meanwhile
    return sizes


def _ask_ps(pids: list[int]) -> dict[int, int]:
    if not pids:
        return {}
    command = ["ps", "-o", "pid=,rss=", "-p", ",".join(map(str, pids))]
    ran = subprocess.run(command, env={**os.environ, "LC_ALL": "C"}, stdout=subprocess.PIPE, check=False)
    rows = (line.split() for line in ran.stdout.decode(errors="replace").splitlines())
    return {int(row[0]): int(row[1]) * 1024 for row in rows if len(row) == 2}
