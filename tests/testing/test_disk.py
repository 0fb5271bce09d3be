"""The simulated disk keeps what it promised, and, sooner or later, nothing else."""

import errno
from pathlib import Path
from random import Random

import pytest

from fairlead.kit.files import (
    Disk,
    make_private_directory,
    open_private_append,
    read_if_there,
    replace_durably,
    write_all,
)
from fairlead.testing.disk import SimulatedDisk

HOME = Path("/home/state")
LOG = HOME / "log"


def furnished(**more) -> SimulatedDisk:
    disk = SimulatedDisk(**more)
    as_disk: Disk = disk
    make_private_directory(HOME, disk=as_disk)
    return disk


def outcomes(disk: SimulatedDisk, path: Path) -> set[bytes | None]:
    return {read_if_there(path, disk=disk.crash(Random(seed))) for seed in range(300)}


def test_synced_bytes_survive_and_the_rest_is_torn_anywhere():
    disk = furnished()
    handle = open_private_append(LOG, disk=disk)
    write_all(handle, b"safe\n", disk=disk)
    disk.sync(handle)
    write_all(handle, b"new\n", disk=disk)
    found = outcomes(disk, LOG)
    assert {b"safe\n", b"safe\nn", b"safe\nnew", b"safe\nnew\n"} <= found
    assert all(f is not None and f.rstrip(b"\0") in {b"safe\nnew\n"[:n] for n in range(5, 10)} for f in found)
    assert any(f is not None and f.endswith(b"\0") for f in found)


def test_a_name_is_lost_until_its_directory_is_synced():
    disk = furnished()
    handle = disk.open_append(LOG)
    write_all(handle, b"x", disk=disk)
    disk.sync(handle)
    assert outcomes(disk, LOG) == {None, b"x"}
    disk.sync_directory(HOME)
    assert outcomes(disk, LOG) == {b"x"}


def test_a_rename_shows_the_old_or_the_new_and_after_the_sync_the_new():
    disk = furnished()
    replace_durably(LOG, b"old", disk=disk)
    handle = disk.open_new(HOME / "fresh")
    write_all(handle, b"new", disk=disk)
    disk.sync(handle)
    disk.replace(HOME / "fresh", LOG)
    assert outcomes(disk, LOG) == {b"old", b"new"}
    disk.sync_directory(HOME)
    assert outcomes(disk, LOG) == {b"new"}


def test_a_rename_before_the_bytes_are_synced_may_leave_an_empty_file():
    disk = furnished()
    replace_durably(LOG, b"old", disk=disk)
    write_all(disk.open_new(HOME / "fresh"), b"new", disk=disk)
    disk.replace(HOME / "fresh", LOG)
    disk.sync_directory(HOME)
    assert b"" in outcomes(disk, LOG)
    assert b"old" not in outcomes(disk, LOG)


def test_what_was_cut_may_come_back_until_the_next_sync():
    disk = furnished()
    handle = open_private_append(LOG, disk=disk)
    write_all(handle, b"whole", disk=disk)
    disk.sync(handle)
    disk.truncate(handle, 2)
    assert outcomes(disk, LOG) == {b"whole", b"wh"}
    disk.sync(handle)
    assert outcomes(disk, LOG) == {b"wh"}


def test_a_full_disk_takes_what_fits_and_then_nothing():
    disk = furnished(capacity=6)
    handle = open_private_append(LOG, disk=disk)
    with pytest.raises(OSError) as fault:
        write_all(handle, b"too much", disk=disk)
    assert fault.value.errno == errno.ENOSPC
    assert disk.read(LOG) == b"too mu"
    disk.capacity = None
    write_all(handle, b"ch", disk=disk)
    assert disk.read(LOG) == b"too much"


def test_short_writes_still_write_everything_in_the_end():
    disk = furnished()
    disk.short_writes = Random(1)
    write_all(open_private_append(LOG, disk=disk), b"a longer line than one write takes", disk=disk)
    assert disk.read(LOG) == b"a longer line than one write takes"


def test_after_a_failed_sync_the_bytes_can_be_read_but_are_never_saved():
    disk = furnished()
    handle = open_private_append(LOG, disk=disk)
    disk.fail_sync()
    write_all(handle, b"gone", disk=disk)
    with pytest.raises(OSError):
        disk.sync(handle)
    assert disk.read(LOG) == b"gone"
    disk.sync(handle)
    assert outcomes(disk, LOG) == {b"\0\0\0\0"}


def test_when_only_the_process_dies_everything_is_there_and_no_safer_than_before():
    disk = furnished()
    handle = open_private_append(LOG, disk=disk)
    write_all(handle, b"unsynced", disk=disk)
    found = disk.crash(Random(1), power_lost=False)
    assert found.read(LOG) == b"unsynced"
    assert b"" in outcomes(found, LOG)


def test_files_in_the_way_and_missing_files_are_named_as_the_system_names_them():
    disk = furnished()
    open_private_append(LOG, disk=disk)
    with pytest.raises(FileExistsError):
        disk.open_new(LOG)
    with pytest.raises(NotADirectoryError):
        disk.listdir(LOG)
    with pytest.raises(FileNotFoundError):
        disk.read(HOME / "nothing")
    with pytest.raises(FileNotFoundError):
        disk.size_of(HOME / "nothing")
    with pytest.raises(IsADirectoryError):
        disk.open_append(HOME)


def test_a_tree_goes_whole_and_is_gone_for_good_when_its_directory_was_synced():
    disk = furnished()
    disk.mkdir(HOME / "below")
    for path in (LOG, HOME / "below" / "file"):
        disk.close(open_private_append(path, disk=disk))
    disk.remove_tree(HOME / "below")
    disk.sync_directory(HOME)
    assert disk.listdir(HOME) == [LOG.name]
    assert disk.crash(Random(1)).listdir(HOME) == [LOG.name]
    with pytest.raises(FileNotFoundError):
        disk.remove_tree(HOME / "below")
