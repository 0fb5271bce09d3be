"""What a process was started with, where it works, and which files it has open. Only looks. Without /proc (macOS) a
process shows its arguments alone."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

_PROC: Final = Path("/proc")


class ProcessDetails(msgspec.Struct, frozen=True, kw_only=True):
    """`directory` is empty where it cannot be seen."""

    pid: int
    argv: tuple[str, ...]
    directory: str = ""

    @property
    def program(self) -> str:
        return self.argv[0].rpartition("/")[2] if self.argv else ""

    @property
    def words(self) -> str:
        return " ".join((self.program, *self.argv[1:]))


def look_at_processes() -> Iterator[ProcessDetails]:
    """Every process that this user may look at. What vanishes meanwhile, or is closed to this user, is left out."""
    return _look_in_proc() if (_PROC / "self" / "cmdline").exists() else _ask_ps()


def has_open(pid: int, path: Path) -> bool:
    """Whether the process has exactly this file open; False where that cannot be seen."""
    try:
        wanted = path.stat()
        with os.scandir(_PROC / str(pid) / "fd") as entries:
            return any(_is_same(entry.path, wanted) for entry in entries)
    except OSError:
        return False


def _is_same(descriptor: str, wanted: os.stat_result) -> bool:
    try:
        return os.path.samestat(os.stat(descriptor), wanted)  # noqa: PTH116 - a link of /proc, not a path of ours
    except OSError:
        return False


def _look_in_proc() -> Iterator[ProcessDetails]:
    for pid in sorted(int(entry.name) for entry in _PROC.iterdir() if entry.name.isdecimal()):
        try:
            given = (_PROC / str(pid) / "cmdline").read_bytes()
        except OSError:
            continue
        argv = tuple(part.decode(errors="replace") for part in given.rstrip(b"\0").split(b"\0"))
        if argv != ("",):
            yield ProcessDetails(pid=pid, argv=argv, directory=_directory_of(pid))


def _directory_of(pid: int) -> str:
    try:
        return str((_PROC / str(pid) / "cwd").readlink())
    except OSError:
        return ""


def _ask_ps() -> Iterator[ProcessDetails]:
    ran = subprocess.run(["ps", "-A", "-ww", "-o", "pid=,command="], stdout=subprocess.PIPE, check=False)
    for line in ran.stdout.decode(errors="replace").splitlines():
        pid, _, command = line.strip().partition(" ")
        if pid.isdecimal() and command:
            yield ProcessDetails(pid=int(pid), argv=tuple(command.split()))
