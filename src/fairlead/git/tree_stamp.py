"""Whether a small work tree is still as the last snapshot found it, told from its files' own times. Runs no git, and
reads no file.

To start git takes longer than to look at some hundred files, and most messages change none. Only what is certain
counts: a tree that changed a moment ago, or has more files, is left to git.
"""

import os
import stat
import time
from functools import lru_cache
from pathlib import Path
from typing import Final

import msgspec

from fairlead.git.private_repository import PrivateRepository
from fairlead.git.project_repository import ProjectRepository

MOST_ENTRIES: Final = 500
SETTLED_NS: Final = 100_000_000
"""Disks tell times in steps of some milliseconds: a second change in the same step would not be seen."""

Look = tuple[str, int, int, int, int, int]
"""A path, and what changes when anybody changes something there: inode, mode, size, both times."""


class TreeStamp(msgspec.Struct, frozen=True):
    """Two that are equal were taken of the same files with the same content, and of the same rules of ignoring."""

    looks: tuple[Look, ...]


def stamp_tree(repository: PrivateRepository) -> TreeStamp | None:
    """None if nothing certain can be said."""
    now = time.time_ns()
    looks = _look_at_rules(repository)
    project = repository.repository.project
    directories = [project]
    while directories:
        try:
            found = _look_into(directories.pop(), directories, project)
        except OSError:
            return None  # something vanished, cannot be read, or is a repository of its own
        looks += found
        if len(looks) + len(directories) > MOST_ENTRIES:  # every directory that is left brings at least one look
            return None
    newest = max((look[-1] for look in looks), default=0)
    return TreeStamp(tuple(sorted(looks))) if newest < now - SETTLED_NS else None


def _look_into(directory: str, further: list[str], root: str) -> list[Look]:
    """Its directories are added to `further`. Whether a repository in it changed, only git can tell."""
    looks = [_look(directory, os.lstat(directory))]
    with os.scandir(directory) as entries:
        for entry in entries:
            if entry.name == ".git":
                if directory != root:
                    raise FileExistsError(entry.path)
                continue
            found = entry.stat(follow_symlinks=False)
            if stat.S_ISDIR(found.st_mode):
                further.append(entry.path)
            else:
                looks.append(_look(entry.path, found))
            if len(looks) > MOST_ENTRIES:
                break
    return looks


def _look_at_rules(repository: PrivateRepository) -> list[Look]:
    """What git ignores is also said above the project and outside of it, and by the person's index, which may have
    what rules ignore."""
    looks: list[Look] = []
    for path in _list_rules(repository.repository):
        try:
            looks.append(_look(path, os.stat(path)))  # noqa: PTH116 - before every turn, where a Path takes longer
        except OSError:
            looks.append((path, 0, 0, 0, 0, 0))
    return looks


@lru_cache(maxsize=256)
def _list_rules(of: ProjectRepository) -> tuple[str, ...]:
    """Kept, because every turn asks for them."""
    above = [*Path(of.project).parents, Path(of.project)] if of.prefix else [Path(of.project)]
    rules = [str(directory / ".gitignore") for directory in above if str(directory).startswith(of.root)]
    own = [f"{of.common_dir}/info/exclude", f"{of.git_dir}/index"] if of.common_dir else []
    return tuple(filter(None, [*rules, of.excludes_file, *own]))


def _look(path: str, found: os.stat_result) -> Look:
    return path, found.st_ino, found.st_mode, found.st_size, found.st_mtime_ns, found.st_ctime_ns
