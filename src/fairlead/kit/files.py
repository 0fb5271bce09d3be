"""Files that survive a power cut and are nobody else's to read. Knows nothing of what is in them.

A file's content is durable once it was synced, its name once its directory was synced; a rename is atomic at
any time but durable only after the latter. The process's umask is left alone, because children inherit it:
every mode is set on the open file.
"""

import errno
import fcntl
import io
import os
import shutil
import stat
import sys
import time
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Final, NewType, Protocol, Self

from fairlead.kit.writeback import begin_writeback

NO_ROOM: Final = frozenset({errno.ENOSPC, errno.EDQUOT})
"""What a full disk, or a user who has used up their share of it, answers."""

PRIVATE_FILE = 0o600
PRIVATE_DIRECTORY = 0o700
_TEMPORARY = ".tmp"
_temporary_numbers = count(1)
_temporary_in_use: set[Path] = set()
"""The temporary files that a thread of this process is writing."""

Handle = NewType("Handle", int)


class Disk(Protocol):
    """All that durable files need of a disk, so that a simulated one can stand in. Faults are OSError."""

    def open_append(self, path: Path, mode: int = PRIVATE_FILE) -> Handle:
        """Open for appending, made if missing, with exactly `mode`. A new name is not durable yet."""
        ...

    def open_new(self, path: Path, mode: int = PRIVATE_FILE) -> Handle:
        """Make and open for writing; FileExistsError if the name is taken. The name is not durable yet."""
        ...

    def write(self, handle: Handle, data: bytes | memoryview) -> int:
        """Write at the end, give the number of bytes taken, which may be fewer. Nothing is durable yet."""
        ...

    def sync(self, handle: Handle) -> None:
        """When this returns, all content and the size are durable. When it raises, nothing since the last
        sync can be trusted, not even after a second, successful one."""
        ...

    def begin_writing(self, handle: Handle) -> None:
        """A hint: the next sync has less to do if the disk begins now. Hardly waits, and makes nothing durable. When it
        raises, nothing since the last sync can be trusted."""
        ...

    def truncate(self, handle: Handle, size: int) -> None:
        """Cut to `size` bytes; durable after the next sync."""
        ...

    def size(self, handle: Handle) -> int:
        """The size now, durable or not."""
        ...

    def close(self, handle: Handle) -> None:
        """Makes nothing durable."""
        ...

    def read(self, path: Path, offset: int = 0, length: int | None = None) -> bytes:
        """What is there now, durable or not; fewer bytes than `length` only at the end of the file."""
        ...

    def read_into(self, path: Path, offset: int, room: memoryview) -> int:
        """Fill `room` from `offset` on, and say how far: the same as `read`, for a caller that reads much and has the
        memory ready. Fresh memory for every block costs more than the reading."""
        ...

    def size_of(self, path: Path) -> int:
        """The size of a file that nobody here has open, without reading it."""
        ...

    def replace(self, source: Path, target: Path) -> None:
        """Rename within a directory, atomically: every reader, and every crash, finds the old or the new.
        Durable after sync_directory. The content must be synced before, or a crash may leave it empty."""
        ...

    def unlink(self, path: Path) -> None:
        """Durable after sync_directory: until then a crash may bring the name back."""
        ...

    def remove_tree(self, path: Path) -> None:
        """Remove a file, or a directory with everything in it. A link is removed and not followed."""
        ...

    def mkdir(self, path: Path, mode: int = PRIVATE_DIRECTORY) -> None:
        """Make one directory with exactly `mode`. Durable after sync_directory of its parent."""
        ...

    def sync_directory(self, path: Path) -> None:
        """When this returns, names made, replaced and removed in `path` before are durable."""
        ...

    def listdir(self, path: Path) -> list[str]:
        """Names in no particular order."""
        ...

    def exists(self, path: Path) -> bool:
        """True for a file or a directory."""
        ...


def sync_data(fd: int) -> None:
    """Return when the file's content and size are on the medium, not only in a cache."""
    if sys.platform == "darwin":
        # On macOS fsync stops at the drive's own cache.
        fcntl.fcntl(fd, fcntl.F_FULLFSYNC)
    else:
        os.fdatasync(fd)


class RealDisk:
    """The operating system's files. A handle is a file descriptor, closed in children."""

    def open_append(self, path: Path, mode: int = PRIVATE_FILE) -> Handle:
        return _open_with_mode(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, mode)

    def open_new(self, path: Path, mode: int = PRIVATE_FILE) -> Handle:
        return _open_with_mode(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL, mode)

    def write(self, handle: Handle, data: bytes | memoryview) -> int:
        return os.write(handle, data)

    def sync(self, handle: Handle) -> None:
        sync_data(handle)

    def begin_writing(self, handle: Handle) -> None:
        begin_writeback(handle)

    def truncate(self, handle: Handle, size: int) -> None:
        os.ftruncate(handle, size)

    def size(self, handle: Handle) -> int:
        return os.fstat(handle).st_size

    def close(self, handle: Handle) -> None:
        os.close(handle)

    def read(self, path: Path, offset: int = 0, length: int | None = None) -> bytes:
        with open_regular(path) as file:
            file.seek(offset)
            return file.readall() if length is None else b"".join(_parts(file, length))

    def read_into(self, path: Path, offset: int, room: memoryview) -> int:
        with open_regular(path) as file:
            file.seek(offset)
            filled = 0
            while filled < len(room) and (got := file.readinto(room[filled:])):
                filled += got
            return filled

    def size_of(self, path: Path) -> int:
        return path.stat().st_size

    def replace(self, source: Path, target: Path) -> None:
        source.replace(target)

    def unlink(self, path: Path) -> None:
        path.unlink()

    def remove_tree(self, path: Path) -> None:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()

    def mkdir(self, path: Path, mode: int = PRIVATE_DIRECTORY) -> None:
        path.mkdir(mode=mode)
        path.chmod(mode)  # mkdir lets the umask take bits away

    def sync_directory(self, path: Path) -> None:
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)

    def listdir(self, path: Path) -> list[str]:
        return [entry.name for entry in path.iterdir()]

    def exists(self, path: Path) -> bool:
        return path.exists()


REAL_DISK = RealDisk()


def open_regular(path: Path) -> io.FileIO:
    """Open for reading what must be an ordinary file. Where a named pipe or a device stands in its place, opening or
    reading it could last for ever; this raises OSError at once."""
    return io.FileIO(_open_regular(path, os.O_RDONLY, PRIVATE_FILE), "rb")


def open_log(path: Path) -> int:
    """Open for appending, 0600 where it is made; never waits for the other end of a named pipe."""
    return _open_regular(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, PRIVATE_FILE)


def read_regular(path: Path, limit: int = -1) -> bytes:
    """The first `limit` bytes, or all, of what must be an ordinary file."""
    with open_regular(path) as file:
        return file.readall() if limit < 0 else b"".join(_parts(file, limit))


def read_laid_out(path: Path, limit: int = -1) -> bytes:
    """The same for a file that we laid down where an agent may write. What the agent has put in its place may lead to
    a file that we may read and the agent may not: a link of either kind raises OSError."""
    with io.FileIO(_open_regular(path, os.O_RDONLY | os.O_NOFOLLOW, PRIVATE_FILE), "rb") as file:
        if os.fstat(file.fileno()).st_nlink > 1:
            raise OSError(errno.ELOOP, "it is a link to another file", str(path))
        return file.readall() if limit < 0 else b"".join(_parts(file, limit))


def _parts(file: io.FileIO, limit: int) -> Generator[bytes]:
    while limit > 0 and (part := file.read(limit)):
        limit -= len(part)
        yield part


def _open_regular(path: Path, flags: int, mode: int) -> int:
    try:
        fd = os.open(path, flags | os.O_NONBLOCK, mode)  # else opening a named pipe waits for its other end
    except OSError as fault:
        if fault.errno == errno.ENXIO:
            raise _not_ordinary(path) from None
        raise
    with _close_on_error(fd):
        kind = os.fstat(fd).st_mode
        if stat.S_ISDIR(kind):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if not stat.S_ISREG(kind):
            raise _not_ordinary(path)
    return fd


def _not_ordinary(path: Path) -> OSError:
    return OSError(errno.EINVAL, "it is not an ordinary file", str(path))


def write_all(handle: Handle, data: bytes, *, disk: Disk = REAL_DISK) -> None:
    """Write every byte or raise; after an error an unknown part is written, and the caller cuts it off."""
    left = memoryview(data)
    while left:
        left = left[disk.write(handle, left) :]


def replace_durably(path: Path, data: bytes, mode: int = PRIVATE_FILE, *, disk: Disk = REAL_DISK) -> None:
    """When this returns, `path` durably holds `data`; before that, the old or the new, whole."""
    replace_durably_with(path, (data,), mode, disk=disk)


def replace_durably_with(
    path: Path, chunks: Iterable[bytes], mode: int = PRIVATE_FILE, *, disk: Disk = REAL_DISK
) -> None:
    """The same for content that is too long to be held at once."""
    temporary, handle = _open_temporary(path, mode, disk)
    try:
        try:
            for chunk in chunks:
                write_all(handle, chunk, disk=disk)
            disk.sync(handle)
        finally:
            disk.close(handle)
        disk.replace(temporary, path)
    except BaseException:  # also when cancelled: no temporary file is left behind
        with suppress(OSError):
            disk.unlink(temporary)
        raise
    finally:
        _temporary_in_use.discard(temporary)
    disk.sync_directory(path.parent)


def remove_leftovers(directory: Path, *, disk: Disk = REAL_DISK) -> list[str]:
    """Remove temporary files that a crash left behind. Only for the one process that writes in `directory`; the files
    that it is writing at this moment stay."""
    temporary = [name for name in disk.listdir(directory) if name.startswith(".") and name.endswith(_TEMPORARY)]
    left = [name for name in temporary if directory / name not in _temporary_in_use]
    for name in left:
        with suppress(FileNotFoundError):  # its writer has just finished
            disk.unlink(directory / name)
    return sorted(left)


def make_private_directory(path: Path, *, disk: Disk = REAL_DISK) -> None:
    """Make `path` and its missing parents, each 0700 and durable.

    A directory that exists keeps its mode: it may be somebody's home or /tmp, and not ours to close.
    """
    try:
        disk.mkdir(path, PRIVATE_DIRECTORY)
    except FileNotFoundError:
        make_private_directory(path.parent, disk=disk)
        disk.mkdir(path, PRIVATE_DIRECTORY)  # raises where the parent exists and takes no directories, as below /proc
        disk.sync_directory(path.parent)
    except FileExistsError:
        disk.listdir(path)  # a file of that name raises here instead of at the first use
        with suppress(PermissionError):  # a parent that we may not open was made by somebody else, long ago
            disk.sync_directory(path.parent)  # the process that made it may have died before the name was durable
    else:
        disk.sync_directory(path.parent)


def open_private_append(path: Path, *, disk: Disk = REAL_DISK) -> Handle:
    """Open for appending, 0600. Name and content are durable when it returns, even if the writer of before crashed."""
    handle = disk.open_append(path, PRIVATE_FILE)
    disk.sync(handle)
    disk.sync_directory(path.parent)
    return handle


def read_if_there(path: Path, *, disk: Disk = REAL_DISK) -> bytes | None:
    """None only if the file does not exist; what exists and cannot be read raises."""
    try:
        return disk.read(path)
    except FileNotFoundError:
        return None


_AGAIN_SEC: Final = (0.01, 0.02, 0.03)
"""How long to wait before each further try at a lock that is taken: `is_locked` shares it for a moment."""


class AlreadyLocked(Exception):  # noqa: N818 - says what happened
    """Another open lock holds the file. `pid` is None in the moment before the holder has written it."""

    def __init__(self, path: Path, pid: int | None, note: str) -> None:
        holder = "another process" if pid is None else f"process {pid}"
        super().__init__(f"{path} is locked by {holder}{f' ({note})' if note else ''}; stop it first")
        self.path = path
        self.pid = pid
        self.note = note


class Lock:
    """Held until released or until this process ends, however it ends. Children do not inherit it."""

    def __init__(self, path: Path, fd: int) -> None:
        self.path = path
        self._fd: int | None = fd

    def release(self) -> None:
        """The file stays: removing it would let two processes lock two files of one name."""
        if self._fd is not None:
            os.ftruncate(self._fd, 0)
            os.close(self._fd)
            self._fd = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


def lock_file(path: Path, note: str = "") -> Lock:
    """Take the lock, or raise AlreadyLocked after a moment. `note` is one line that the refused process shows."""
    handle = _open_with_mode(path, os.O_RDWR | os.O_CREAT, PRIVATE_FILE)
    with _close_on_error(handle):
        if not any(_try_lock(handle, fcntl.LOCK_EX, pause) for pause in (0.0, *_AGAIN_SEC)):
            pid, holder_note = _holder(os.pread(handle, 4096, 0))
            raise AlreadyLocked(path, pid, holder_note)
        os.ftruncate(handle, 0)
        os.pwrite(handle, f"{os.getpid()} {' '.join(note.split())}\n".encode(), 0)
    return Lock(path, handle)


def is_locked(path: Path) -> bool:
    """Whether a process holds the lock now. What the file says does not tell: it stays when its writer is killed, and
    its pid may be another program's by then. To find out, the lock is shared for some microseconds; a process
    that wants it for itself meanwhile tries again."""
    try:
        handle = _open_regular(path, os.O_RDONLY, PRIVATE_FILE)
    except FileNotFoundError:
        return False
    try:
        return not _try_lock(handle, fcntl.LOCK_SH)
    finally:
        os.close(handle)


def _try_lock(handle: int, kind: int, pause: float = 0.0) -> bool:
    """After a pause."""
    time.sleep(pause)
    try:
        fcntl.flock(handle, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _holder(content: bytes) -> tuple[int | None, str]:
    pid, _, note = content.decode(errors="replace").strip().partition(" ")
    return (int(pid) if pid.isdecimal() else None), note


def _open_with_mode(path: Path, flags: int, mode: int) -> Handle:
    handle = Handle(_open_regular(path, flags, mode))
    with _close_on_error(handle):
        # Only if it differs: a file of another owner that we may write is opened, not refused.
        if stat.S_IMODE(os.fstat(handle).st_mode) != mode:
            os.fchmod(handle, mode)
    return handle


def _open_temporary(path: Path, mode: int, disk: Disk) -> tuple[Path, Handle]:
    """In the same directory, since a rename across file systems is a copy."""
    while True:
        name = f".{path.name}.{os.getpid()}-{next(_temporary_numbers)}{_TEMPORARY}"
        temporary = path.with_name(name)
        _temporary_in_use.add(temporary)
        try:
            return temporary, disk.open_new(temporary, mode)
        except FileExistsError:  # only if a crashed process had our pid
            _temporary_in_use.discard(temporary)
        except BaseException:  # whatever kept the file from being made, its name is free again
            _temporary_in_use.discard(temporary)
            raise


@contextmanager
def _close_on_error(fd: int) -> Generator[None]:
    try:
        yield
    except BaseException:  # also when cancelled: nobody else knows of the open file
        os.close(fd)
        raise
