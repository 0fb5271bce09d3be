"""What differs between a work tree and the last snapshot of it, sorted by what the next snapshot does with it.

Names everything that it leaves out. Writes nothing."""

import os
import stat
from pathlib import Path
from typing import Final

import msgspec

from fairlead.core.trees import UncoveredReason
from fairlead.git.command import GitCalls
from fairlead.git.ignore_rules import RULES_NAME
from fairlead.git.private_repository import PrivateRepository

_STATUS: Final = (
    *("status", "--porcelain=v2", "-z", "--untracked-files=all"),
    *("--no-renames", "--no-ahead-behind", "--ignore-submodules=dirty"),
)
_FIELDS_BEFORE_PATH: Final = {b"1": 8, b"u": 10}
_UNTRUSTED: Final[frozenset[UncoveredReason]] = frozenset({"unreadable", "nested repository"})
"""What git's cache would not name twice."""
_UNOPENED: Final = "warning: could not open directory '"


class FileLimits(msgspec.Struct, frozen=True, kw_only=True):
    """`largest`: a file with more bytes is named and not stored. `most_new`: one snapshot stores no more bytes."""

    largest: int = 25 * 1024 * 1024
    most_new: int = 1024 * 1024 * 1024


class TreeStatus(msgspec.Struct, frozen=True, kw_only=True):
    """Paths from the root of the work tree. `stored`: read and store them. `dropped`: they are gone, or no longer to be
    stored. `new`: the last snapshot knows nothing of them. `is_clean`: nothing differs from the last snapshot.
    `new_bytes` is the size of what is to be stored. `has_new_rules`: a `.gitignore` is among what differs."""

    stored: list[str]
    dropped: list[str]
    uncovered: dict[str, UncoveredReason]
    new: list[str]
    is_clean: bool
    new_bytes: int = 0
    has_new_rules: bool = False


def read_status(calls: GitCalls, repository: PrivateRepository, limits: FileLimits) -> TreeStatus:
    cache = repository.cache
    status = _look(calls, repository, limits)
    if cache.is_trusted and _is_any_in_repository(Path(repository.repository.root), status.new):
        cache.is_trusted = False
        status = _look(calls, repository, limits)
    cache.is_trusted = not _UNTRUSTED.intersection(status.uncovered.values())
    return status


def _look(calls: GitCalls, repository: PrivateRepository, limits: FileLimits) -> TreeStatus:
    prefix = repository.repository.prefix
    ran = repository.cache.look(calls, [*_STATUS, *(["--", prefix] if prefix else [])], repository.place)
    status = TreeStatus(stored=[], dropped=[], uncovered={}, new=[], is_clean=False)
    root = Path(repository.repository.root)
    is_index_clean, new_bytes, has_new_rules = True, 0, False
    for entry in ran.stdout.split(b"\0"):
        if not entry:
            continue
        state, path = _read_entry(entry)
        has_new_rules = has_new_rules or path.rpartition("/")[2] == RULES_NAME
        if state == b".":
            is_index_clean = False  # an earlier snapshot was interrupted after it had changed the index
        elif state == b"D":
            status.dropped.append(path)  # not looked at: a link in its way may lead to a file elsewhere
        else:
            status.new.extend([path] if state == b"?" else [])
            new_bytes += sort_file(status, root, path, limits, is_tracked=state != b"?")
    for name in _find_unopened(ran.stderr):
        status.uncovered[name] = "unreadable"
    is_clean = is_index_clean and not status.stored and not status.dropped
    return msgspec.structs.replace(status, is_clean=is_clean, new_bytes=new_bytes, has_new_rules=has_new_rules)


def _is_any_in_repository(root: Path, paths: list[str]) -> bool:
    """Whether one of these files is in a repository of its own, below `root`."""
    directories = {directory for path in paths for directory in Path(path).parents[:-1]}
    return any(os.path.lexists(root / directory / ".git") for directory in directories)


def _read_entry(entry: bytes) -> tuple[bytes, str]:
    """`?` for a file that the last snapshot does not have; for others, git's letter for how they differ from the index:
    `.` if they do not, but the index differs from the last snapshot."""
    head = entry[:1]
    if head == b"?":
        return b"?", os.fsdecode(entry[2:])
    fields = entry.split(b" ", _FIELDS_BEFORE_PATH.get(head, 8))
    return fields[1][1:2], os.fsdecode(fields[-1])


def sort_file(status: TreeStatus, root: Path, path: str, limits: FileLimits, *, is_tracked: bool) -> int:
    """The number of bytes that are to be stored."""
    if path.endswith("/"):
        status.uncovered[path] = "nested repository"
        return 0
    try:
        found = (root / path).lstat()
    except OSError:
        found = None  # gone, or its directory is
    if found is None or stat.S_ISDIR(found.st_mode):
        status.dropped.extend([path] if is_tracked else [])
        return 0
    reason = _why_not(root / path, found, limits)
    if reason is None:
        status.stored.append(path)
        return found.st_size
    status.uncovered[path] = reason
    status.dropped.extend([path] if is_tracked else [])
    return 0


def _why_not(path: Path, found: os.stat_result, limits: FileLimits) -> UncoveredReason | None:
    if stat.S_ISLNK(found.st_mode):
        return None
    if not stat.S_ISREG(found.st_mode):
        return "special file"
    if found.st_size > limits.largest:
        return "too large"
    return None if os.access(path, os.R_OK) else "unreadable"


def _find_unopened(stderr: str) -> list[str]:
    """Directories that git could not read; their files are not seen at all."""
    lines = (line for line in stderr.splitlines() if line.startswith(_UNOPENED))
    return [line.removeprefix(_UNOPENED).rpartition("':")[0] for line in lines]
