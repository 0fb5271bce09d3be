"""A disk that keeps only what it promised: unsynced bytes may be lost or torn anywhere at a power cut.

Implements kit's Disk in memory. It fills up, takes less than it was given, and fails to sync, when told to.

1. A file's bytes are durable after `sync`; before that, a crash keeps any beginning of what was done to it, or, since
   pages reach the disk in any order, all of its length with some of the new sectors zeros.
2. A name is durable after `sync_directory`; before that, a crash keeps any beginning of what was done to the names.
   Each name appears, moves or goes whole.
3. Rules 1 and 2 know nothing of each other: a name may survive without its bytes.
4. After a failed sync the bytes it should have saved are lost, also to later syncs; until the power goes they can
   still be read, as on a real system.
5. When only the process dies, everything written can be read by the next one, and is not more durable than before.
"""

import errno
import os
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Final

import msgspec

from fairlead.kit.files import PRIVATE_DIRECTORY, PRIVATE_FILE, Handle

_ZERO_TAILS: Final = 0.1
"""How often a file grows before its bytes arrive, so that a crash leaves zeros: file systems do that."""

_OUT_OF_ORDER: Final = 0.5
"""How often the sectors of unsynced bytes come to disk in any order."""

_SECTOR: Final = 512


class _Append(msgspec.Struct, frozen=True):
    data: bytes


class _Cut(msgspec.Struct, frozen=True):
    size: int


class _File:
    def __init__(self, durable: bytes = b"", *, mode: int = PRIVATE_FILE) -> None:
        self.mode = mode
        self.durable = bytearray(durable)
        self.content = bytearray(durable)
        self.pending: list[_Append | _Cut] = []

    def do(self, change: _Append | _Cut) -> None:
        _change(self.content, change)
        self.pending.append(change)

    def sync(self) -> None:
        for change in self.pending:
            _change(self.durable, change)
        self.pending.clear()

    def spoil(self) -> None:
        """What could not be synced will never be: in its place, zeros."""
        self.pending = [_Append(bytes(len(c.data))) if isinstance(c, _Append) else c for c in self.pending]

    def after_power_loss(self, rng: Random) -> "_File":
        if self.pending and rng.random() < _OUT_OF_ORDER:
            kept = bytearray(self.content)
            _lose_sectors(kept, self._count_untouched(), rng)
            return _File(bytes(kept), mode=self.mode)
        kept = bytearray(self.durable)
        done = rng.randint(0, len(self.pending))
        for change in self.pending[:done]:
            _change(kept, change)
        last = self.pending[done] if done < len(self.pending) else None
        if isinstance(last, _Append) and last.data:
            whole = rng.randint(0, len(last.data))
            zeros = rng.randint(0, len(last.data) - whole) if rng.random() < _ZERO_TAILS else 0
            kept += last.data[:whole] + bytes(zeros)
        return _File(bytes(kept), mode=self.mode)

    def _count_untouched(self) -> int:
        """How many of the durable bytes no pending change has cut off."""
        return min([len(self.durable), *(change.size for change in self.pending if isinstance(change, _Cut))])

    def after_death(self) -> "_File":
        copy = _File(bytes(self.durable), mode=self.mode)
        for change in self.pending:
            copy.do(change)
        return copy


def _lose_sectors(kept: bytearray, durable: int, rng: Random) -> None:
    """Some of the sectors behind the durable bytes never arrived: they are zeros. The sector that holds the last
    durable byte keeps what it held."""
    for sector in range(durable // _SECTOR, -(-len(kept) // _SECTOR)):
        if rng.random() < 0.5:
            begin, end = max(durable, sector * _SECTOR), min(len(kept), (sector + 1) * _SECTOR)
            kept[begin:end] = bytes(end - begin)


def _change(content: bytearray, change: _Append | _Cut) -> None:
    match change:
        case _Append():
            content += change.data
        case _Cut():
            del content[change.size :]
            content.extend(bytes(change.size - len(content)))


class _Named(msgspec.Struct, frozen=True):
    """`name` means `node` from now on, and `former`, if any, means nothing."""

    name: str
    node: "_Node | None"
    former: str = ""


class _Directory:
    def __init__(self, durable: "dict[str, _Node] | None" = None, *, mode: int = PRIVATE_DIRECTORY) -> None:
        self.mode = mode
        self.durable: dict[str, _Node] = dict(durable or {})
        self.names: dict[str, _Node] = dict(self.durable)
        self.pending: list[_Named] = []

    def do(self, change: _Named) -> None:
        _rename(self.names, change)
        self.pending.append(change)

    def sync(self) -> None:
        for change in self.pending:
            _rename(self.durable, change)
        self.pending.clear()

    def after_power_loss(self, rng: Random) -> "_Directory":
        kept = dict(self.durable)
        for change in self.pending[: rng.randint(0, len(self.pending))]:
            _rename(kept, change)
        return _Directory({name: node.after_power_loss(rng) for name, node in kept.items()}, mode=self.mode)

    def after_death(self) -> "_Directory":
        copies: dict[int, _Node] = {}

        def copy_node(node: "_Node | None") -> "_Node | None":
            return None if node is None else copies.setdefault(id(node), node.after_death())

        copy = _Directory(mode=self.mode)
        copy.durable = {name: node for name, was in self.durable.items() if (node := copy_node(was)) is not None}
        copy.names = {name: node for name, was in self.names.items() if (node := copy_node(was)) is not None}
        copy.pending = [_Named(c.name, copy_node(c.node), c.former) for c in self.pending]
        return copy


_Node = _File | _Directory


def _rename(names: dict[str, _Node], change: _Named) -> None:
    names.pop(change.former, None)
    if change.node is None:
        names.pop(change.name, None)
    else:
        names[change.name] = change.node


class SimulatedDisk:
    """kit's Disk. `capacity` may change at any time; `short_writes` makes every write take a random part."""

    def __init__(self, *, capacity: int | None = None) -> None:
        self.capacity = capacity
        self.short_writes: Random | None = None
        self.syncs = 0
        self.operations = 0
        self.before_operation: Callable[[int], None] | None = None
        self._failing_sync: int | None = None
        self._root = _Directory()
        self._open: dict[Handle, _File] = {}
        self._handles = 0

    # --- faults ------------------------------------------------------------------------------------------------

    def fail_sync(self, *, after: int = 0) -> None:
        """One sync of a file fails, after `after` more that work."""
        self._failing_sync = self.syncs + after

    def crash(self, rng: Random, *, power_lost: bool = True) -> "SimulatedDisk":
        """The disk as the next process finds it. This one stays as it is, so that code
        which still holds it does no harm."""
        found = SimulatedDisk(capacity=self.capacity)
        found._root = self._root.after_power_loss(rng) if power_lost else self._root.after_death()
        return found

    def durable_bytes(self, path: Path) -> bytes:
        """The bytes of this file that are certain to survive the next crash; for the judge, not for the store."""
        node = self._durable_node(path)
        return bytes(node.durable) if isinstance(node, _File) else b""

    def flip_bit(self, path: Path, at: int, bit: int) -> None:
        """Rot: a durable byte is another one from now on."""
        file = self._file_at(path)
        file.durable[at] ^= 1 << bit
        file.content[at] ^= 1 << bit

    @property
    def used_bytes(self) -> int:
        return _bytes_in(self._root)

    # --- Disk --------------------------------------------------------------------------------------------------

    def open_append(self, path: Path, mode: int = PRIVATE_FILE) -> Handle:
        directory = self._directory(path.parent)
        node = directory.names.get(path.name)
        if isinstance(node, _Directory):
            raise _fault(errno.EISDIR, path)
        if node is None:
            node = _File(mode=mode)
            directory.do(_Named(path.name, node))
        return self._make_handle(node)

    def open_new(self, path: Path, mode: int = PRIVATE_FILE) -> Handle:
        if self.exists(path):
            raise _fault(errno.EEXIST, path)
        return self.open_append(path, mode)

    def write(self, handle: Handle, data: bytes | memoryview) -> int:
        self._operate()
        file = self._file(handle)
        size = len(data)
        if self.short_writes is not None and size:
            size = self.short_writes.randint(1, size)
        if self.capacity is not None:
            free = max(0, self.capacity - self.used_bytes)
            if free == 0 and size:
                raise _fault(errno.ENOSPC, Path())
            size = min(size, free)
        file.do(_Append(bytes(data[:size])))
        return size

    def sync(self, handle: Handle) -> None:
        self._operate()
        number, self.syncs = self.syncs, self.syncs + 1
        if number == self._failing_sync:
            self._file(handle).spoil()
            raise _fault(errno.EIO, Path())
        self._file(handle).sync()

    def begin_writing(self, handle: Handle) -> None:
        """Nothing: what is not synced may come to the disk at any time anyway."""

    def truncate(self, handle: Handle, size: int) -> None:
        self._operate()
        self._file(handle).do(_Cut(size))

    def size(self, handle: Handle) -> int:
        return len(self._file(handle).content)

    def close(self, handle: Handle) -> None:
        self._file(handle)
        del self._open[handle]

    def read(self, path: Path, offset: int = 0, length: int | None = None) -> bytes:
        content = self._file_at(path).content
        return bytes(content[offset : None if length is None else offset + length])

    def size_of(self, path: Path) -> int:
        return len(self._file_at(path).content)

    def read_into(self, path: Path, offset: int, room: memoryview) -> int:
        data = self.read(path, offset, len(room))
        room[: len(data)] = data
        return len(data)

    def replace(self, source: Path, target: Path) -> None:
        self._operate()
        if source.parent != target.parent:
            raise _fault(errno.EXDEV, target)
        directory = self._directory(source.parent)
        directory.do(_Named(target.name, self._node(source), source.name))

    def unlink(self, path: Path) -> None:
        self._operate()
        if isinstance(self._node(path), _Directory):
            raise _fault(errno.EISDIR, path)
        self._directory(path.parent).do(_Named(path.name, None))

    def remove_tree(self, path: Path) -> None:
        self._operate()
        self._node(path)
        self._directory(path.parent).do(_Named(path.name, None))

    def mkdir(self, path: Path, mode: int = PRIVATE_DIRECTORY) -> None:
        self._operate()
        if self.exists(path):
            raise _fault(errno.EEXIST, path)
        self._directory(path.parent).do(_Named(path.name, _Directory(mode=mode)))

    def sync_directory(self, path: Path) -> None:
        self._operate()
        self._directory(path).sync()

    def listdir(self, path: Path) -> list[str]:
        return list(self._directory(path).names)

    def exists(self, path: Path) -> bool:
        try:
            self._node(path)
        except OSError:
            return False
        return True

    # -----------------------------------------------------------------------------------------------------------

    def _operate(self) -> None:
        """Called before each change, so that the simulator can look at the disk, or crash, at that point."""
        number, self.operations = self.operations, self.operations + 1
        if self.before_operation is not None:
            self.before_operation(number)

    def _make_handle(self, file: _File) -> Handle:
        self._handles += 1
        handle = Handle(self._handles)
        self._open[handle] = file
        return handle

    def _file(self, handle: Handle) -> _File:
        if handle not in self._open:
            raise _fault(errno.EBADF, Path())
        return self._open[handle]

    def _node(self, path: Path) -> _Node:
        node: _Node = self._root
        for part in path.parts[1:]:
            if isinstance(node, _File):
                raise _fault(errno.ENOTDIR, path)
            if part not in node.names:
                raise _fault(errno.ENOENT, path)
            node = node.names[part]
        return node

    def _durable_node(self, path: Path) -> _Node | None:
        node: _Node | None = self._root
        for part in path.parts[1:]:
            node = node.durable.get(part) if isinstance(node, _Directory) else None
        return node

    def _file_at(self, path: Path) -> _File:
        node = self._node(path)
        if isinstance(node, _Directory):
            raise _fault(errno.EISDIR, path)
        return node

    def _directory(self, path: Path) -> _Directory:
        node = self._node(path)
        if isinstance(node, _File):
            raise _fault(errno.ENOTDIR, path)
        return node


def _bytes_in(node: _Node) -> int:
    if isinstance(node, _File):
        return len(node.content)
    return sum(map(_bytes_in, node.names.values()))


def _fault(number: int, path: Path) -> OSError:
    return OSError(number, os.strerror(number), str(path))
