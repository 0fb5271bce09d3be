"""What processes there are, who made them, and which carry a mark. Only looks; signals nothing.

A mark is the value of FAIRLEAD_RUN in a process's environment. It is inherited by everything a child starts,
also by what makes its own session or loses its parent, and cannot be changed from outside.
"""

import os
import re
import subprocess
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Protocol

import msgspec

from fairlead.kit.other_user import other_users

MARK_VARIABLE = "FAIRLEAD_RUN"
_MARK_PATTERN = re.compile(r"[!-~]+")
_MARK_IN_PS = re.compile(rf"(?:^| ){MARK_VARIABLE}=([!-~]+)")
_MARK_ENTRY = f"{MARK_VARIABLE}=".encode()
_LISTINGS = 100  # a machine on which new processes never cease must not hold up a scan for ever
ReadClosedMarks = Callable[[], dict[int, str]]
_PS_COLUMNS = 10  # pid, ppid, pgid, state, the start in five words, the program


class ProcessEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One process at the moment it was looked at. `pid` and `started` together name it for ever."""

    pid: int
    parent: int
    group: int
    started: str
    command: str
    mark: str | None = None

    @property
    def identity(self) -> tuple[int, str]:
        return self.pid, self.started


class ProcessTable(Protocol):
    def scan(self) -> Iterator[ProcessEntry]:
        """Every living process that this user may look at; zombies are not living."""
        ...

    def start_time(self, pid: int) -> str | None:
        """When the process that has this pid now was started; None if there is none living."""
        ...


def validate_mark(mark: str) -> str:
    if not _MARK_PATTERN.fullmatch(mark):
        raise ValueError(f"a mark is printable ASCII without spaces, and not empty: {mark!r}")
    return mark


def descendants(roots: Iterable[int], processes: Iterable[ProcessEntry]) -> set[int]:
    """The pids below `roots`, any number of generations down."""
    children: dict[int, list[int]] = {}
    for process in processes:
        children.setdefault(process.parent, []).append(process.pid)
    found: set[int] = set()
    waiting = list(roots)
    while waiting:
        for child in children.get(waiting.pop(), ()):
            if child not in found:
                found.add(child)
                waiting.append(child)
    return found


class ProcTable:
    """Linux. What vanishes while it is read, or belongs to another user, is left out of the scan."""

    def __init__(self, root: Path = Path("/proc"), read_closed: ReadClosedMarks = dict) -> None:
        """`read_closed` gives the marks of processes whose environment is closed to this user."""
        self._root = root
        self._read_closed = read_closed
        self._closed_marks: dict[int, str] = {}

    def scan(self) -> Iterator[ProcessEntry]:
        self._closed_marks = self._read_closed()
        looked_at: set[int] = set()
        # Listed again until no pid is new, since what was just looked at may have forked meanwhile.
        for _ in range(_LISTINGS):
            unseen = self._pids() - looked_at
            # Newest first, and lazily, so that processes that fork and exit all the time are met while they live.
            for pid in sorted(unseen, reverse=True):
                if (seen := self._look(pid)) is not None:
                    yield seen
            if not unseen:
                return
            looked_at |= unseen

    def start_time(self, pid: int) -> str | None:
        stat = self._read(pid, "stat")
        seen = None if stat is None else parse_proc_stat(stat)
        return None if seen is None else seen.started

    def _pids(self) -> set[int]:
        with os.scandir(self._root) as entries:
            return {int(entry.name) for entry in entries if entry.name.isdecimal()}

    def _look(self, pid: int) -> ProcessEntry | None:
        # The mark is read first, because a short-lived process is recognised by it.
        mark = find_mark(self._read(pid, "environ") or b"") or self._closed_marks.get(pid)
        stat = self._read(pid, "stat")
        seen = None if stat is None else parse_proc_stat(stat)
        if seen is None or mark is None:
            return seen
        line = (self._read(pid, "cmdline") or b"").replace(b"\0", b" ").decode(errors="replace").strip()
        return msgspec.structs.replace(seen, mark=mark, command=line or seen.command)

    def _read(self, pid: int, name: str) -> bytes | None:
        try:
            fd = os.open(f"{self._root}/{pid}/{name}", os.O_RDONLY)
        except OSError:
            return None
        try:
            parts: list[bytes] = []
            while part := os.read(fd, 65536):
                parts.append(part)
        except OSError:
            return None
        else:
            return b"".join(parts)
        finally:
            os.close(fd)


def parse_proc_stat(stat: bytes) -> ProcessEntry | None:
    """None for a zombie. The program's name stands in brackets and may hold spaces and brackets itself."""
    head, _, tail = stat.rpartition(b")")
    pid, _, name = head.partition(b" (")
    fields = tail.split()
    if len(fields) < 20 or fields[0] in {b"Z", b"X"}:
        return None
    return ProcessEntry(
        pid=int(pid),
        parent=int(fields[1]),
        group=int(fields[2]),
        started=fields[19].decode(),
        command=name.decode(errors="replace"),
    )


def find_mark(environment: bytes) -> str | None:
    for entry in environment.split(b"\0"):
        if entry.startswith(_MARK_ENTRY):
            return entry[len(_MARK_ENTRY) :].decode(errors="replace")
    return None


class PsTable:
    """macOS and other systems without /proc. `ps -E` tells the environment of this user's processes only.

    It prints the environment behind the arguments, so an argument that looks like a mark counts as one.
    """

    def scan(self) -> Iterator[ProcessEntry]:
        marks = parse_ps_marks(_ps("-A", "-E", "-ww", "-o", "pid=,command="))
        for seen in parse_ps(_ps("-A", "-ww", "-o", "pid=,ppid=,pgid=,state=,lstart=,command=")):
            yield msgspec.structs.replace(seen, mark=marks.get(seen.pid))

    def start_time(self, pid: int) -> str | None:
        found = parse_ps(_ps("-p", str(pid), "-ww", "-o", "pid=,ppid=,pgid=,state=,lstart=,command="))
        return next((seen.started for seen in found), None)


def parse_ps(text: str) -> Iterator[ProcessEntry]:
    for line in text.splitlines():
        columns = line.split(maxsplit=_PS_COLUMNS - 1)
        if len(columns) == _PS_COLUMNS and not columns[3].startswith("Z"):
            pid, parent, group = (int(column) for column in columns[:3])
            yield ProcessEntry(
                pid=pid, parent=parent, group=group, started=" ".join(columns[4:9]), command=columns[9].strip()
            )


def parse_ps_marks(text: str) -> dict[int, str]:
    marks: dict[int, str] = {}
    for line in text.splitlines():
        pid, _, command = line.strip().partition(" ")
        if found := _MARK_IN_PS.search(command):
            marks[int(pid)] = found[1]
    return marks


def _ps(*arguments: str) -> str:
    # Not checked: ps fails for a pid that is gone, which is an answer.
    ran = subprocess.run(["ps", *arguments], env={**os.environ, "LC_ALL": "C"}, stdout=subprocess.PIPE, check=False)
    return ran.stdout.decode(errors="replace")


def system_table() -> ProcessTable:
    return ProcTable(read_closed=_read_marks_of_others) if Path("/proc/self/environ").exists() else PsTable()


def _read_marks_of_others() -> dict[int, str]:
    """The marks of children that run as another user, read out by that user."""
    entries = {pid: entry for user in other_users() for pid, entry in user.read_environments(MARK_VARIABLE).items()}
    marks = {pid: find_mark(entry) for pid, entry in entries.items()}
    return {pid: mark for pid, mark in marks.items() if mark}
