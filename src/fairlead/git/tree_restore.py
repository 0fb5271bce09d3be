"""Brings the files of a work tree from one snapshot to another: only paths that differ between the two, and only those
that still are as the first has them. The index and everything else of the person's git stay as they are.

It can be carried out any number of times, also after it was killed in the middle: what is done is left alone.
"""

from collections.abc import Iterator
from typing import Final

from fairlead.git.command import GitCalls, GitFailed
from fairlead.git.private_repository import PrivateRepository
from fairlead.git.tree_entries import ABSENT, Entry, list_entries
from fairlead.git.tree_files import WorkFiles

_AT_ONCE: Final = 64
"""So many files are read from git at a time: a snapshot's file is not large, but there may be many."""


def restore(calls: GitCalls, repository: PrivateRepository, before: str, after: str) -> list[str]:
    """Returns the paths that were left, because somebody has changed them meanwhile. Raises OSError, GitFailed."""
    files = WorkFiles.of(repository.repository)
    changes = list_entries(calls, repository, before, after)
    left: list[str] = []
    # Deep paths first, so that a directory is empty before the one above it is looked at.
    going = sorted((path for path, (_, new) in changes.items() if new == ABSENT), reverse=True)
    for path in going:
        calls.check()
        if _may_act(files, path, *changes[path], left):
            files.remove(path)
    coming = [path for path, (_, new) in sorted(changes.items()) if new != ABSENT]
    for path, data in _read_all(calls, repository, {path: changes[path][1] for path in coming}):
        files.forget_leftover(path)
        if _may_act(files, path, *changes[path], left):
            files.write(path, changes[path][1], data)
    return left


def _may_act(files: WorkFiles, path: str, expected: Entry, wanted: Entry, left: list[str]) -> bool:
    now = files.find(path)
    if files.is_like(now, wanted):
        return False
    if not files.is_like(now, expected):
        left.append(path)
        return False
    return True


def _read_all(calls: GitCalls, repository: PrivateRepository, wanted: dict[str, Entry]) -> Iterator[tuple[str, bytes]]:
    items = list(wanted.items())
    for first in range(0, len(items), _AT_ONCE):
        part = items[first : first + _AT_ONCE]
        asked = "".join(f"{entry.name}\n" for _, entry in part).encode()
        out = calls.run(["cat-file", "--batch"], place=repository.reading_place, stdin=asked).stdout
        at = 0
        for path, _ in part:
            end = out.index(b"\n", at)
            if out[at:end].endswith(b" missing"):
                raise GitFailed(["cat-file"], 1, "bad object: it is missing")
            size = int(out[at:end].rsplit(b" ", 1)[1])
            yield path, out[end + 1 : end + 1 + size]
            at = end + 1 + size + 1
