"""Opening a file that must lie in a directory, however its path is written and whatever changes meanwhile.

A path is resolved first, so that links inside of the directory may be used; the resolved path is then opened step by
step from the directory's own descriptor, and no step follows a link. A link that is put in the way between the two
is met by the second, so nothing outside is ever opened.
"""

import errno
import io
import os
import stat
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

_STEP: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK  # a named pipe must not make us wait


class NotBeneath(OSError):  # noqa: N818 - says what is wrong
    """The path leads out of the directory."""

    def __init__(self, path: str) -> None:
        super().__init__(errno.EXDEV, "it is not in that directory", path)


def open_beneath(directory: Path, path: str) -> io.FileIO:
    """The regular file at `path`, which is absolute or taken from `directory`. A hard link is refused as well: it may
    be another name of a file that lies elsewhere. Raises OSError."""
    root = Path(os.path.realpath(directory))
    steps = _steps_below(root, path)
    with _open_root(root) as at:
        descriptor = _walk(at, steps, path)
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise OSError(errno.EINVAL, "it is not an ordinary file", path)
        if found.st_nlink > 1:
            raise OSError(errno.EMLINK, "it is a link to another file", path)
    except OSError:
        os.close(descriptor)
        raise
    return io.FileIO(descriptor, "rb")


def _steps_below(root: Path, path: str) -> tuple[str, ...]:
    resolved = Path(os.path.realpath(root / path))
    if not resolved.is_relative_to(root) or resolved == root:
        raise NotBeneath(path)
    return resolved.relative_to(root).parts


@contextmanager
def _open_root(root: Path) -> Generator[int]:
    descriptor = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _walk(root: int, steps: tuple[str, ...], path: str) -> int:
    """The last step's descriptor. The one that it began with stays open."""
    at = root
    try:
        for step in steps[:-1]:
            below = _open_step(step, os.O_DIRECTORY, at, path)
            if at != root:
                os.close(at)
            at = below
        return _open_step(steps[-1], 0, at, path)
    finally:
        if at != root:
            os.close(at)


def _open_step(step: str, flags: int, at: int, path: str) -> int:
    try:
        return os.open(step, _STEP | flags, dir_fd=at)
    except OSError as fault:
        if fault.errno in {errno.ELOOP, errno.EMLINK}:  # a link, which was none when the path was resolved
            raise NotBeneath(path) from fault
        raise
