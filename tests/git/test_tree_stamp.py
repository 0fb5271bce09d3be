"""A small work tree that has not changed is not asked of git again; one that has changed in any way is."""

import asyncio
import os
import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from fairlead.core.trees import TreeSnapshot
from fairlead.git import tree_snapshots, tree_stamp
from tests.git.harness import Trees, git, make_repository

pytestmark = pytest.mark.req("F1")


class CountedGit:
    """A git that writes down each of its runs, and is the real one."""

    def __init__(self, directory: Path) -> None:
        self._runs = directory / "runs"
        directory.mkdir()
        (directory / "git").write_text(f'#!/bin/sh\necho "$2" >> {self._runs}\nexec {shutil.which("git")} "$@"\n')
        (directory / "git").chmod(0o755)

    def take_runs(self) -> list[str]:
        found = self._runs.read_text().split() if self._runs.exists() else []
        self._runs.unlink(missing_ok=True)
        return found


@pytest.fixture
def counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CountedGit:
    counted = CountedGit(tmp_path / "bin")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    return counted


@pytest.fixture
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the files were old: those of a test are of this moment."""
    monkeypatch.setattr(tree_stamp, "SETTLED_NS", -int(1e18))


@pytest.fixture
def trees(counted: CountedGit, tmp_path: Path) -> Trees:
    return Trees(tmp_path / "state")


def is_looked_at_by_git(counted: CountedGit) -> bool:
    return "status" in counted.take_runs()


@pytest.mark.usefixtures("settled")
@pytest.mark.parametrize("is_repository", [True, False])
def test_what_did_not_change_is_not_asked_of_git_again(
    trees: Trees, counted: CountedGit, tmp_path: Path, *, is_repository: bool
):
    app = make_repository(tmp_path / "app") if is_repository else tmp_path
    app = app if is_repository else (tmp_path / "plain")
    app.mkdir(exist_ok=True)
    (app / "new.py").write_text("print()\n")
    first = trees.snapshot(app)
    assert is_looked_at_by_git(counted)
    assert trees.snapshot(app) == first
    assert not is_looked_at_by_git(counted)


def edit(app: Path) -> None:
    (app / "README.md").write_text("HELLO\n")  # as many bytes as before


def edit_and_hide_the_time(app: Path) -> None:
    before = (app / "README.md").stat()
    edit(app)
    os.utime(app / "README.md", ns=(before.st_atime_ns, before.st_mtime_ns))


def replace_whole(app: Path) -> None:
    (app / "beside").write_text("HELLO\n")
    (app / "beside").replace(app / "README.md")


def no_longer_ignore(app: Path) -> None:
    (app / ".git" / "info" / "exclude").write_text("")


CHANGES: list[Callable[[Path], object]] = [
    edit,
    edit_and_hide_the_time,
    replace_whole,
    no_longer_ignore,
    lambda app: (app / "README.md").chmod(0o755),
    lambda app: (app / "README.md").unlink(),
    lambda app: (app / "below" / "a.txt").rename(app / "below" / "b.txt"),
    lambda app: (app / "below" / "deeper" / "more").write_text("x"),
    lambda app: (app / ".gitignore").write_text("new.py\n"),
]


@pytest.mark.usefixtures("settled")
@pytest.mark.parametrize("change", CHANGES)
def test_whatever_changed_is_in_the_next_snapshot(trees: Trees, tmp_path: Path, change: Callable[[Path], object]):
    app = make_repository(tmp_path / "app")
    (app / "below" / "deeper").mkdir(parents=True)
    (app / "below" / "a.txt").write_text("a")
    (app / "new.py").write_text("print()\n")
    (app / "notes").write_text("mine")
    (app / ".git" / "info").mkdir(exist_ok=True)
    (app / ".git" / "info" / "exclude").write_text("notes\n")
    first = trees.snapshot(app)
    time.sleep(0.02)  # longer than a step of the disk's clock
    change(app)
    assert trees.snapshot(app).tree != first.tree


def test_files_of_this_moment_are_left_to_git(
    trees: Trees, counted: CountedGit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """They could change once more without another time."""
    monkeypatch.setattr(tree_stamp, "SETTLED_NS", int(1e18))  # a moment, however busy this machine is
    app = make_repository(tmp_path / "app")
    trees.snapshot(app)
    counted.take_runs()
    trees.snapshot(app)
    assert is_looked_at_by_git(counted)


@pytest.mark.usefixtures("settled")
def test_many_files_and_repositories_within_are_left_to_git(trees: Trees, counted: CountedGit, tmp_path: Path):
    app = make_repository(tmp_path / "app")
    make_repository(app / "vendored")
    trees.snapshot(app)
    counted.take_runs()
    trees.snapshot(app)
    assert is_looked_at_by_git(counted)
    shutil.rmtree(app / "vendored")
    for number in range(tree_stamp.MOST_ENTRIES):
        (app / f"file-{number}").touch()
    trees.snapshot(app)
    counted.take_runs()
    trees.snapshot(app)
    assert is_looked_at_by_git(counted)


@pytest.mark.usefixtures("settled")
def test_a_snapshot_that_somebody_removed_is_taken_again(trees: Trees, tmp_path: Path):
    app = make_repository(tmp_path / "app")
    first = trees.snapshot(app)
    git(app, "update-ref", "-d", "refs/fairlead/test/job_1/start")
    git(app, "gc", "-q", "--prune=now")
    git(app, "cat-file", "-e", first.commit, codes=(1, 128))
    again = trees.snapshot(app)
    git(app, "cat-file", "-e", again.commit)


@pytest.mark.usefixtures("settled")
def test_that_a_few_files_have_not_changed_is_known_at_once(
    trees: Trees, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(tree_snapshots, "QUICK_SEC", 60)  # however busy this machine is
    app = make_repository(tmp_path / "app", a="one\n")
    assert trees.trees.find_unchanged(str(app)) is None
    taken = trees.snapshot(app)
    assert trees.trees.find_unchanged(str(app)) == taken
    (app / "a").write_text("two and more\n")
    assert trees.trees.find_unchanged(str(app)) is None


@pytest.mark.usefixtures("settled")
def test_it_is_known_also_while_refs_are_written(trees: Trees, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Refs of the turns before are written about when the next turns begin, and nothing of the files changes by it."""
    monkeypatch.setattr(tree_snapshots, "QUICK_SEC", 60)
    app = make_repository(tmp_path / "app", a="one\n")
    taken = trees.snapshot(app)
    is_writing, may_end = threading.Event(), threading.Event()

    def write_refs(_calls: object, _repository: object) -> None:
        is_writing.set()
        may_end.wait()

    async def look_meanwhile() -> tuple[TreeSnapshot | None, TreeSnapshot | None]:
        writing = asyncio.create_task(trees.trees.work(str(app), write_refs, is_for_files=False))
        await asyncio.to_thread(is_writing.wait)
        while_refs = trees.trees.find_unchanged(str(app))
        may_end.set()
        await writing
        is_writing.clear()
        may_end.clear()
        writing = asyncio.create_task(trees.trees.work(str(app), write_refs))
        await asyncio.to_thread(is_writing.wait)
        while_files = trees.trees.find_unchanged(str(app))
        may_end.set()
        await writing
        return while_refs, while_files

    assert asyncio.run(look_meanwhile()) == (taken, None)


@pytest.mark.usefixtures("settled")
def test_of_many_files_it_is_not_known_at_once(trees: Trees, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(tree_snapshots, "QUICK_SEC", 60)
    app = make_repository(tmp_path / "app", **{f"f{n}": "x" for n in range(tree_snapshots.FEW_ENTRIES)})
    trees.snapshot(app)
    assert trees.trees.find_unchanged(str(app)) is None
