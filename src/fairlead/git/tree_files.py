"""The files of a work tree, one at a time: what stands at a path, and putting something else there. Follows no link.

1. Every directory on the way is opened from the one above it, and none is a link: a link that somebody puts in the way
   leads nowhere.
2. A file is replaced whole: its new bytes are written beside it and renamed. A kill in between leaves the old file or
   the new one, and at most a file with a name of ours, which the next attempt removes.
3. What stands at a path is compared with what is expected right before it is replaced.
"""

import errno
import hashlib
import os
import stat
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from fairlead.git.project_repository import ProjectRepository
from fairlead.git.tree_entries import ABSENT, LINK, PLAIN, PROGRAM, Entry

_DIRECTORY: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_NOTHING_THERE: Final = {errno.ENOENT, errno.ENOTDIR, errno.ELOOP}
_READ: Final = 1 << 20


class WorkFiles:
    """`algorithm` names bytes as the repository's git does. Without `has_modes`, the disk knows no programs."""

    def __init__(self, root: str, algorithm: str, *, has_modes: bool = True) -> None:
        self._root = root
        self._algorithm = algorithm
        self._has_modes = has_modes

    @classmethod
    def of(cls, found: ProjectRepository) -> "WorkFiles":
        return cls(found.root, found.object_format, has_modes=("core.filemode", "false") not in found.followed)

    def find(self, path: str) -> Entry:
        """What stands there now. ABSENT also for a directory, and where a link is on the way."""
        try:
            with _open_parent(self._root, path) as (parent, name):
                return self._read(parent, name)
        except OSError as fault:
            if fault.errno in _NOTHING_THERE:
                return ABSENT
            raise

    def has_file(self, path: str) -> bool:
        """Whether `find` would find something. Reads no file."""
        try:
            with _open_parent(self._root, path) as (parent, name):
                return not stat.S_ISDIR(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode)
        except OSError as fault:
            if fault.errno in _NOTHING_THERE:
                return False
            raise

    def is_like(self, found: Entry, wanted: Entry) -> bool:
        if self._has_modes or LINK in {found.mode, wanted.mode}:
            return found == wanted
        return found.name == wanted.name

    def _read(self, parent: int, name: str) -> Entry:
        seen = os.stat(name, dir_fd=parent, follow_symlinks=False)
        if stat.S_ISLNK(seen.st_mode):
            target = os.fsencode(os.readlink(name, dir_fd=parent))
            return Entry(LINK, self._name(len(target), [target]))
        if not stat.S_ISREG(seen.st_mode):
            return ABSENT if stat.S_ISDIR(seen.st_mode) else Entry("other", "")
        fd = os.open(name, _FILE, dir_fd=parent)
        try:
            seen = os.fstat(fd)
            parts = iter(lambda: os.read(fd, _READ), b"")
            return Entry(PROGRAM if seen.st_mode & stat.S_IXUSR else PLAIN, self._name(seen.st_size, parts))
        finally:
            os.close(fd)

    def _name(self, size: int, parts: Iterable[bytes]) -> str:
        named = hashlib.new(self._algorithm, b"blob %d\0" % size, usedforsecurity=False)
        for part in parts:
            named.update(part)
        return named.hexdigest()

    def remove(self, path: str) -> None:
        """The file or link, and every directory above it that is empty then; never the root itself."""
        with suppress(FileNotFoundError), _open_parent(self._root, path) as (parent, name):
            os.unlink(name, dir_fd=parent)
        above = Path(path).parent
        while above != Path():
            try:
                with _open_parent(self._root, str(above)) as (parent, name):
                    os.rmdir(name, dir_fd=parent)
            except OSError:
                return  # not empty, or gone already
            above = above.parent

    def write(self, path: str, entry: Entry, data: bytes) -> None:
        """Replace what stands there, or make it, with the directories above it. Raises OSError."""
        _make_parents(self._root, path)
        with _open_parent(self._root, path) as (parent, name):
            beside = name_beside(name)
            with suppress(FileNotFoundError):
                os.unlink(beside, dir_fd=parent)
            if entry.mode == LINK:
                os.symlink(os.fsdecode(data), beside, dir_fd=parent)
            else:
                self._write_file(parent, name, beside, entry, data)
            with suppress(OSError):
                os.rmdir(name, dir_fd=parent)  # an empty directory, where a file was before
            os.replace(beside, name, src_dir_fd=parent, dst_dir_fd=parent)

    def _write_file(self, parent: int, name: str, beside: str, entry: Entry, data: bytes) -> None:
        is_program = entry.mode == PROGRAM
        fd = os.open(beside, _NEW, 0o777 if is_program else 0o666, dir_fd=parent)
        try:
            left = memoryview(data)
            while left:
                left = left[os.write(fd, left) :]
            _take_rights_of(parent, name, fd, is_program=is_program)
            os.fsync(fd)
        finally:
            os.close(fd)

    def forget_leftover(self, path: str) -> None:
        """What a write that was killed has left beside this path."""
        with suppress(OSError), _open_parent(self._root, path) as (parent, name):
            os.unlink(name_beside(name), dir_fd=parent)


def name_beside(name: str) -> str:
    return f".fairlead-undo-{hashlib.sha256(os.fsencode(name)).hexdigest()[:16]}"


def find_obstacles(root: str, wanted: Mapping[str, Entry]) -> set[str]:
    """Paths that would have to be removed, and do not go by themselves: ignored files in a directory that stands where
    a file was, and a file or a link that stands where a directory was."""
    goes = {path for path, entry in wanted.items() if entry == ABSENT}
    comes = [path for path, entry in wanted.items() if entry != ABSENT]
    found: set[str] = set()
    for path in comes:
        found.update(above for above in map(str, Path(path).parents[:-1]) if _is_no_directory(Path(root, above)))
        found.update(_list_files(root, path))
    return found - goes


def _is_no_directory(path: Path) -> bool:
    return path.is_symlink() or (path.exists() and not path.is_dir())


def _list_files(root: str, path: str) -> list[str]:
    """All that stands in a directory, links to directories included; nothing for a file."""
    if Path(root, path).is_symlink():
        return []
    below = (Path(at, name) for at, names, files in os.walk(Path(root, path)) for name in (*names, *files))
    return [str(found.relative_to(root)) for found in below if found.is_symlink() or not found.is_dir()]


def _take_rights_of(parent: int, name: str, fd: int, *, is_program: bool) -> None:
    """Who may read and write the file stays as it was; git knows only whether it is a program."""
    with suppress(OSError):
        old = os.stat(name, dir_fd=parent, follow_symlinks=False)
        if stat.S_ISREG(old.st_mode):
            rights = stat.S_IMODE(old.st_mode) & ~0o111
            os.fchmod(fd, rights | ((rights & 0o444) >> 2 if is_program else 0))
            os.fchown(fd, old.st_uid, old.st_gid)


def _make_parents(root: str, path: str) -> None:
    for above in reversed(Path(path).parents[:-1]):
        with _open_parent(root, str(above)) as (parent, name), suppress(FileExistsError):
            os.mkdir(name, dir_fd=parent)


@contextmanager
def _open_parent(root: str, path: str) -> Generator[tuple[int, str]]:
    """The directory of `path`, and the last part of it."""
    *above, name = Path(path).parts
    at = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for step in above:
            below = os.open(step, _DIRECTORY, dir_fd=at)
            os.close(at)
            at = below
        yield at, name
    finally:
        os.close(at)
