"""Files that survive, and that nobody else reads."""

import fcntl
import os
import re
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from fairlead.kit.files import (
    REAL_DISK,
    AlreadyLocked,
    Handle,
    RealDisk,
    is_locked,
    lock_file,
    make_private_directory,
    open_log,
    open_private_append,
    read_if_there,
    read_laid_out,
    read_regular,
    remove_leftovers,
    replace_durably,
    write_all,
)

CHILDREN = str(Path(__file__).with_name("children.py"))
HANG_SEC = 60


class WatchedDisk(RealDisk):
    """Tells in which order things happened; writes a few bytes at a time; breaks where it is told to."""

    def __init__(self, broken: str = "") -> None:
        self.story: list[str] = []
        self.broken = broken

    def _tell(self, what: str) -> None:
        self.story.append(what)
        if what == self.broken:
            raise OSError(5, "broken")

    def open_new(self, path: Path, mode: int = 0o600) -> Handle:
        self._tell("open_new")
        return super().open_new(path, mode)

    def write(self, handle: Handle, data: bytes | memoryview) -> int:
        self._tell("write")
        return super().write(handle, data[:4])

    def sync(self, handle: Handle) -> None:
        self._tell("sync")
        super().sync(handle)

    def replace(self, source: Path, target: Path) -> None:
        self._tell("replace")
        super().replace(source, target)

    def mkdir(self, path: Path, mode: int = 0o700) -> None:
        super().mkdir(path, mode)
        self._tell(f"mkdir {path.name}")

    def sync_directory(self, path: Path) -> None:
        self._tell(f"sync_directory {path.name}")
        super().sync_directory(path)


@pytest.fixture(params=[0o000, 0o077, 0o777], ids=oct)
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    assert os.umask(before) == request.param, "the umask is the agents', not ours"


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def names_in(path: Path) -> list[str]:
    return sorted(entry.name for entry in path.iterdir())


def test_a_file_is_replaced_in_the_only_order_that_survives_a_power_cut(tmp_path: Path):
    disk = WatchedDisk()
    replace_durably(tmp_path / "file", b"ten bytes.", disk=disk)
    assert disk.story == [
        *("open_new", "write", "write", "write", "sync", "replace"),
        f"sync_directory {tmp_path.name}",
    ]
    assert (tmp_path / "file").read_bytes() == b"ten bytes."


@pytest.mark.parametrize("broken", ["open_new", "write", "sync", "replace"])
def test_a_replacement_that_fails_leaves_the_old_file_and_no_other(tmp_path: Path, broken: str):
    path = tmp_path / "file"
    replace_durably(path, b"old")
    with pytest.raises(OSError, match="broken"):
        replace_durably(path, b"new", disk=WatchedDisk(broken))
    assert path.read_bytes() == b"old"
    assert names_in(tmp_path) == ["file"]


def test_what_a_crash_left_of_a_replacement_is_removed_and_nothing_else(tmp_path: Path):
    for name in (".file.12-1.tmp", ".hidden", "notes.tmp"):
        (tmp_path / name).touch()
    assert remove_leftovers(tmp_path) == [".file.12-1.tmp"]
    assert names_in(tmp_path) == [".hidden", "notes.tmp"]


def test_modes_are_exact_under_any_umask(tmp_path: Path, umask: int):
    make_private_directory(tmp_path / "a" / "b")
    replace_durably(tmp_path / "a" / "b" / "file", b"")
    replace_durably(tmp_path / "a" / "b" / "readable", b"", mode=0o644)
    RealDisk().close(open_private_append(tmp_path / "a" / "b" / "log"))
    lock_file(tmp_path / "a" / "b" / "lock").release()
    modes = {path.name: mode_of(path) for path in (tmp_path / "a").rglob("*")}
    assert modes == {"b": 0o700, "file": 0o600, "readable": 0o644, "log": 0o600, "lock": 0o600}
    assert mode_of(tmp_path / "a") == 0o700


def test_a_file_that_was_open_to_all_is_closed_when_it_is_opened(tmp_path: Path):
    (tmp_path / "log").touch(mode=0o666)
    RealDisk().close(open_private_append(tmp_path / "log"))
    assert mode_of(tmp_path / "log") == 0o600


def test_each_directory_is_made_durable_in_its_parent_also_if_its_maker_died_before(tmp_path: Path):
    disk = WatchedDisk()
    make_private_directory(tmp_path / "a" / "b", disk=disk)
    make_private_directory(tmp_path / "a" / "b", disk=disk)
    made = ["mkdir a", f"sync_directory {tmp_path.name}", "mkdir b", "sync_directory a"]
    assert disk.story == [*made, "sync_directory a"]


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="only /proc is there and takes no directories")
def test_a_place_that_takes_no_directories_is_an_error_not_an_endless_try():
    with pytest.raises(FileNotFoundError, match="/proc/nowhere"):
        make_private_directory(Path("/proc/nowhere/deeper"))


def test_a_directory_that_was_there_keeps_its_mode_and_a_file_is_no_directory(tmp_path: Path):
    tmp_path.chmod(0o755)
    make_private_directory(tmp_path)
    assert mode_of(tmp_path) == 0o755
    (tmp_path / "file").touch()
    with pytest.raises(NotADirectoryError):
        make_private_directory(tmp_path / "file")


def test_only_a_missing_file_reads_as_nothing(tmp_path: Path):
    assert read_if_there(tmp_path / "missing") is None
    (tmp_path / "empty").touch()
    assert read_if_there(tmp_path / "empty") == b""
    with pytest.raises(IsADirectoryError):
        read_if_there(tmp_path)


def test_an_appended_file_grows_at_its_end_also_after_it_was_cut(tmp_path: Path):
    disk = WatchedDisk()
    path = tmp_path / "log"
    handle = open_private_append(path, disk=disk)
    write_all(handle, b"first second", disk=disk)
    disk.truncate(handle, 6)
    write_all(handle, b"third", disk=disk)
    disk.sync(handle)
    assert (disk.size(handle), disk.read(path), disk.read(path, 6), disk.read(path, 2, 3)) == (
        *(11, b"first third", b"third", b"rst"),
    )
    assert disk.size_of(path) == 11
    disk.close(handle)
    disk.close(open_private_append(path, disk=disk))
    assert disk.story[-2:] == ["sync", f"sync_directory {tmp_path.name}"], "who made it may have died before that"


def test_a_second_lock_names_the_holder_until_it_is_released(tmp_path: Path):
    path = tmp_path / "lock"
    with lock_file(path, note="fairlead up\n  on port 1") as lock:
        with pytest.raises(AlreadyLocked) as caught:
            lock_file(path)
        assert (caught.value.pid, caught.value.note) == (os.getpid(), "fairlead up on port 1")
        assert str(caught.value) == (
            f"{path} is locked by process {os.getpid()} (fairlead up on port 1); stop it first"
        )
    lock.release()
    lock_file(path).release()


def test_who_asks_for_a_lock_keeps_nobody_from_taking_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "lock"
    assert not is_locked(path)
    with lock_file(path):
        assert is_locked(path)
    assert not is_locked(path)
    asker = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(asker, fcntl.LOCK_SH)  # in the middle of asking
        monkeypatch.setattr(time, "sleep", lambda seconds: seconds and fcntl.flock(asker, fcntl.LOCK_UN))
        lock_file(path).release()
    finally:
        os.close(asker)


def test_the_lock_of_a_killed_process_is_free_even_if_its_child_lives(tmp_path: Path, mark: str):
    path = tmp_path / "lock"
    environment = {**os.environ, "FAIRLEAD_RUN": mark}
    argv = [sys.executable, CHILDREN, "locker", str(path)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, env=environment, text=True) as locker:
        assert locker.stdout is not None
        said = [locker.stdout.readline(), locker.stdout.readline()]
        child = int(re.findall(r"nameless (\d+)", "".join(said))[0])
        with pytest.raises(AlreadyLocked) as caught:
            lock_file(path)
        locker.kill()
        locker.wait()
        os.kill(child, 0)
        lock_file(path).release()
        os.kill(child, 9)
    assert (caught.value.pid, caught.value.note) == (locker.pid, "the locker")


def test_a_tree_is_removed_and_a_link_in_it_is_not_followed(tmp_path: Path):
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "file").write_bytes(b"")
    tree = tmp_path / "tree"
    (tree / "below").mkdir(parents=True)
    (tree / "link").symlink_to(kept)
    (tmp_path / "another link").symlink_to(kept)
    for path in (tree, tmp_path / "another link"):
        RealDisk().remove_tree(path)
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]
    assert (kept / "file").exists()


@pytest.fixture
def bounded() -> Iterator[None]:
    """A read that waits for ever fails, where it would hold up the whole run. The limit only bounds a hang."""

    def give_up(_number: int, _frame: object) -> None:
        raise AssertionError(f"waited for {HANG_SEC} s")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(HANG_SEC)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.usefixtures("bounded")
def test_what_is_no_ordinary_file_is_refused_at_once_and_never_waited_for(tmp_path: Path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    (tmp_path / "link").symlink_to(pipe)
    for path in (pipe, tmp_path / "link", Path("/dev/zero")):
        for read in (read_regular, REAL_DISK.read, read_if_there):
            with pytest.raises(OSError, match="not an ordinary file"):
                read(path)
        with pytest.raises(OSError):
            open_log(path)
    with pytest.raises(IsADirectoryError):
        read_regular(tmp_path)


def test_an_ordinary_file_is_read_up_to_a_limit(tmp_path: Path):
    file = tmp_path / "file"
    file.write_bytes(b"0123456789")
    assert [read_regular(file), read_regular(file, 4), read_regular(file, 40)] == [
        b"0123456789",
        b"0123",
        b"0123456789",
    ]


@pytest.mark.req("B14")
@pytest.mark.usefixtures("bounded")
def test_what_an_agent_put_in_the_place_of_a_file_that_we_laid_down_is_not_read(tmp_path: Path):
    secret, laid, other = tmp_path / "http-token", tmp_path / "picture.png", tmp_path / "other.png"
    secret.write_bytes(b"the token")
    laid.write_bytes(b"a picture")
    assert read_laid_out(laid) == b"a picture"
    assert read_laid_out(laid, 3) == b"a p"
    laid.unlink()
    laid.symlink_to(secret)
    other.hardlink_to(secret)
    for link in (laid, other):
        with pytest.raises(OSError):
            read_laid_out(link)
    other.unlink()
    os.mkfifo(other)
    with pytest.raises(OSError):
        read_laid_out(other)
