"""Unpacks the archive of a stranger: nothing of it can land outside of the directory, and it cannot fill the disk.

1. Names are checked before anything is written: no absolute path, no `..`, only files, directories and links.
2. Links are made when every file is written, so that no file is written through a link; then each must lead to a place
   inside, wherever other links bend its path.
"""

import lzma
import shutil
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, Final

import msgspec

from fairlead.errors import Code, error

MOST_BYTES: Final = 2 << 30
MOST_ENTRIES: Final = 50_000
_BLOCK: Final = 1 << 20
_TAR_ENDINGS: Final = (".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tar.xz", ".txz", ".tar")
_BROKEN: Final = (
    tarfile.TarError,
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    EOFError,
    KeyError,
    OSError,
    RuntimeError,
)


class _Link(msgspec.Struct, frozen=True):
    path: Path
    target: str


class _Unsafe(Exception):  # noqa: N818 - says what was found
    """An archive that must not be unpacked, and why."""


def unpack(archive: Path, name: str, target: Path) -> None:
    """`name` is what the archive is called where it comes from: its ending says what it is, and a file without a known
    ending is the program itself. Raises E_AGENT_INSTALL."""
    ending = name.lower()
    try:
        if ending.endswith(_TAR_ENDINGS):
            _unpack_tar(archive, target)
        elif ending.endswith(".zip"):
            _unpack_zip(archive, target)
        else:
            shutil.copyfile(archive, target / safe_path(name))
    except _Unsafe as found:
        raise error(
            Code.E_AGENT_INSTALL,
            f"{name} is not unpacked: {found}.",
            next_step="Tell the publisher of the agent. Nothing of it was run.",
        ) from None
    except _BROKEN as fault:
        raise error(Code.E_AGENT_INSTALL, f"{name} cannot be unpacked: {fault}.") from None


def safe_path(name: str) -> PurePosixPath:
    """A name in an archive as a path below the directory. Raises _Unsafe."""
    path = PurePosixPath(name.replace("\\", "/"))
    if path.is_absolute() or ".." in path.parts or "\0" in name:
        raise _Unsafe(f"{name[:100]!r} would be written outside of its directory")
    return path


class _Writer:
    """Writes entries below one directory, and counts what it writes: an archive may claim less than it holds."""

    def __init__(self, target: Path) -> None:
        self._target = target
        self._links: list[_Link] = []
        self._entries = 0
        self._bytes = 0

    def _place(self, name: str) -> Path:
        self._entries += 1
        if self._entries > MOST_ENTRIES:
            raise _Unsafe(f"it holds more than {MOST_ENTRIES} files")
        place = self._target / safe_path(name)
        place.parent.mkdir(parents=True, exist_ok=True)
        return place

    def add_directory(self, name: str) -> None:
        self._place(name).mkdir(exist_ok=True)

    def add_file(self, name: str, content: IO[bytes], mode: int) -> None:
        place = self._place(name)
        with place.open("xb") as file:
            while block := content.read(_BLOCK):
                self._bytes += len(block)
                if self._bytes > MOST_BYTES:
                    raise _Unsafe(f"it holds more than {MOST_BYTES >> 30} GiB")
                file.write(block)
        place.chmod(0o700 if mode & stat.S_IXUSR else 0o600)

    def add_link(self, name: str, target: str) -> None:
        if PurePosixPath(target).is_absolute():
            raise _Unsafe(f"the link {name[:100]!r} leads to {target[:100]!r}, outside of its directory")
        self._links.append(_Link(self._place(name), target))

    def finish(self) -> None:
        for link in self._links:
            link.path.symlink_to(link.target)
        root = self._target.resolve()
        for link in self._links:
            if not link.path.resolve().is_relative_to(root):
                raise _Unsafe(f"the link {link.path.name!r} leads to {link.target[:100]!r}, outside of its directory")


@contextmanager
def _writing(target: Path) -> Generator[_Writer]:
    writer = _Writer(target)
    yield writer
    writer.finish()


def _unpack_tar(archive: Path, target: Path) -> None:
    with tarfile.open(archive) as tar, _writing(target) as writer:
        for member in tar:
            if member.isdir():
                writer.add_directory(member.name)
            elif member.issym():
                writer.add_link(member.name, member.linkname)
            elif member.isfile() or member.islnk():
                content = tar.extractfile(member)  # of a hard link, the content of the entry that it names
                if content is None:
                    raise _Unsafe(f"the link {member.name[:100]!r} names no file of the archive")
                writer.add_file(member.name, content, member.mode)
            else:
                raise _Unsafe(f"{member.name[:100]!r} is not a file, directory or link")


def _unpack_zip(archive: Path, target: Path) -> None:
    with zipfile.ZipFile(archive) as zipped, _writing(target) as writer:
        for member in zipped.infolist():
            mode = member.external_attr >> 16
            if member.is_dir():
                writer.add_directory(member.filename)
            elif stat.S_ISLNK(mode):
                with zipped.open(member) as content:
                    writer.add_link(member.filename, content.read(4096).decode(errors="replace"))
            else:
                with zipped.open(member) as content:
                    writer.add_file(member.filename, content, mode)
