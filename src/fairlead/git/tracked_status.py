"""What the next snapshot does with files that rules ignore: those that the person's own git tracks are in it, and no
others. Writes nothing."""

import os
from pathlib import Path
from typing import Final

import msgspec

from fairlead.git.command import GitCalls
from fairlead.git.private_repository import PrivateRepository
from fairlead.git.tracked_files import list_ignored
from fairlead.git.tree_status import FileLimits, TreeStatus, sort_file

_NOTHING: Final[frozenset[str]] = frozenset()


def read_tracked(
    calls: GitCalls, repository: PrivateRepository, limits: FileLimits, status: TreeStatus, *, has_new_rules: bool
) -> TreeStatus:
    """After our index followed `status`. `stored` are those that our index lacks, `dropped` those that it has of the
    ignored ones that nobody tracks."""
    tracked, prefix = repository.tracked, repository.repository.prefix
    tracked.read(calls, repository.persons_place, prefix, has_new_rules=has_new_rules)
    held = tracked.held
    if held is None or has_new_rules:
        has_none = status.is_clean and not (has_new_rules or tracked.paths or _read_noted(repository))
        held = _NOTHING if has_none else frozenset(list_ignored(calls, repository.place, prefix))
        tracked.held = held
    found = TreeStatus(stored=[], dropped=sorted(held - tracked.paths), uncovered={}, new=[], is_clean=False)
    new_bytes = sum(_sort(found, repository.repository.root, path, limits) for path in sorted(tracked.paths - held))
    is_clean = not found.stored and not found.dropped
    return msgspec.structs.replace(found, is_clean=is_clean, new_bytes=new_bytes)


def _read_noted(repository: PrivateRepository) -> frozenset[str]:
    last = repository.last
    return last.notes.tracked if last is not None and last.notes is not None else _NOTHING


def _sort(found: TreeStatus, root: str, path: str, limits: FileLimits) -> int:
    """The number of bytes that are to be stored. Behind a link stands nothing of the project."""
    try:
        is_there = not _is_behind_link(root, path) and bool(os.lstat(f"{root}/{path}"))
    except PermissionError:
        found.uncovered[path] = "unreadable"
        return 0
    except OSError:
        return 0  # gone, or its directory is
    if not is_there:
        return 0
    is_repository = os.path.lexists(f"{root}/{path}/.git")
    return sort_file(found, Path(root), f"{path}/" if is_repository else path, limits, is_tracked=False)


def _is_behind_link(root: str, path: str) -> bool:
    above = path.split("/")[:-1]
    return any(os.path.islink(f"{root}/{'/'.join(above[: depth + 1])}") for depth in range(len(above)))  # noqa: PTH114 - text
