"""Bytes too long for a line of the journal: named by their content, durable before anybody may name them."""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Iterable, Iterator
from pathlib import Path
from typing import Final

from fairlead.core.ids import BlobName
from fairlead.core.state import State
from fairlead.errors import Code, error
from fairlead.kit.files import NO_ROOM, Disk, make_private_directory, remove_leftovers, replace_durably
from fairlead.store.history import Offload

BLOBS_NAME: Final = "blobs"
_REMOVED_AT_ONCE: Final = 16
REMEMBERED: Final = 1024
"""How many names are remembered as durable; bytes whose name was forgotten are only written once more."""


class FileBlobs:
    def __init__(self, directory: Path, *, disk: Disk, offload: Offload) -> None:
        self._directory = directory / BLOBS_NAME
        self._disk = disk
        self._offload = offload
        self._durable: dict[str, None] = {}
        self._put_lately: set[str] = set()
        """Since the last tidying: a fact that names them may be on its way into the journal."""
        make_private_directory(self._directory, disk=disk)

    async def put(self, data: bytes) -> BlobName:
        name = BlobName(hashlib.sha256(data).hexdigest())
        path = self._directory / name
        self._put_lately.add(name)
        # A file that exists may be from another call that has not synced the directory yet.
        if name not in self._durable:
            try:
                await self._offload(lambda: replace_durably(path, data, disk=self._disk))
            except OSError as fault:
                if fault.errno not in NO_ROOM:
                    raise
                raise error(Code.E_DISK_FULL) from fault
            self._remember(name)
        return name

    def _remember(self, name: str) -> None:
        self._durable[name] = None
        if len(self._durable) > REMEMBERED:
            del self._durable[next(iter(self._durable))]

    async def get(self, name: BlobName) -> bytes:
        path = self._path_of(name)
        try:
            return await self._offload(lambda: self._disk.read(path))
        except FileNotFoundError:
            raise error(Code.E_ATTACHMENT_GONE, f"The stored file {name[:12]}… is no longer kept.") from None

    def forget_unnamed(self, named: Iterable[str]) -> int:
        """At start: a blob that the state does not name was unfinished at the stop, or belonged to a forgotten job."""
        kept = frozenset(named)
        remove_leftovers(self._directory, disk=self._disk)
        gone = [name for name in self._disk.listdir(self._directory) if name not in kept]
        for name in gone:
            self._disk.unlink(self._directory / name)
            self._durable.pop(name, None)
        return len(gone)

    async def forget_unnamed_while_running(
        self, named: Callable[[], Iterable[str]], until_durable: Callable[[], Awaitable[None]]
    ) -> int:
        """The same for a daemon that stays up. Blobs that were put since the last call stay; so do those that were set
        free only by a fact which a crash could undo."""
        protected, self._put_lately = self._put_lately, set()
        listed: list[str] = await self._offload(lambda: self._disk.listdir(self._directory))
        before = frozenset(named())
        unnamed = [n for n in listed if n not in before and n not in protected and not n.startswith(".")]
        await until_durable()
        gone = 0
        for start in range(0, len(unnamed), _REMOVED_AT_ONCE):
            kept = frozenset(named()) | self._put_lately
            # In one step with the look at the state: nobody can put or name one of them in between.
            for name in (n for n in unnamed[start : start + _REMOVED_AT_ONCE] if n not in kept):
                self._durable.pop(name, None)
                self._disk.unlink(self._directory / name)
                gone += 1
            await asyncio.sleep(0)
        return gone

    def _path_of(self, name: str) -> Path:
        if len(name) != 64 or not all(c in "0123456789abcdef" for c in name):
            raise error(Code.E_ATTACHMENT_GONE, f"There is no stored file {name[:20]!r}.")
        return self._directory / name


def named_blobs(state: State) -> Iterator[BlobName]:
    """Every blob that the state still needs."""
    for job in state.jobs.values():
        yield from (a.blob for a in job.attachments if a.blob)
        yield from (f.blob for f in job.files)
        yield from (name for name in (job.prompt_blob, job.answer_blob) if name)
    for entry in state.outbox.values():
        yield from (f.blob for f in entry.files)
        if entry.plan is not None:
            yield from (f.blob for piece in entry.plan.pieces for f in piece.files)
