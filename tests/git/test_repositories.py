"""Reading what stands in a repository, whatever the files are called."""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest

from fairlead.git.command import Git, GitCalls, GitPlace
from fairlead.git.repositories import (
    Repository,
    StatusEntry,
    branches,
    changed_files,
    checked_out_at,
    find_admin,
    find_unfinished,
    open_repository,
    split_ignored,
    status,
)
from tests.git.harness import git, make_repository

pytestmark = pytest.mark.req("F5")

T = TypeVar("T")


def work(steps: Callable[[GitCalls], T]) -> T:
    runner = Git(dict(os.environ))
    try:
        return asyncio.run(runner.work(steps))
    finally:
        runner.close()


def look(calls: GitCalls, directory: Path) -> Repository:
    with open_repository(calls, str(directory)) as found:
        return found


def test_names_with_line_ends_renames_and_ignored_files(tmp_path: Path):
    repository = make_repository(tmp_path / "app", a="a\n" * 50, **{".gitignore": "*.o\n"})
    git(repository, "mv", "a", "b c")
    (repository / "x\ny").write_text("x")
    (repository / "z.o").write_text("x")
    entries, ignored = split_ignored(
        work(lambda calls: status(calls, GitPlace(directory=str(repository)), ignored=True))
    )
    assert entries == [StatusEntry("R ", "b c", "a"), StatusEntry("??", "x\ny")]
    assert ignored == 1


def test_where_things_are(tmp_path: Path):
    repository = make_repository(tmp_path / "app")
    first = git(repository, "rev-parse", "HEAD").strip()
    git(repository, "worktree", "add", "-q", "-b", "fairlead/x", str(tmp_path / "tree"))
    place = GitPlace(directory=str(repository))
    found = work(lambda calls: look(calls, repository))
    assert (found.top, found.prefix, found.branch, found.head) == (str(repository), "", "main", first)
    assert work(lambda calls: checked_out_at(calls, place, "fairlead/x")) == [str(tmp_path / "tree")]
    assert work(lambda calls: branches(calls, place, "fairlead/")) == {"fairlead/x"}
    assert find_admin(found.common_dir, str(tmp_path / "tree")) is not None
    assert find_admin(found.common_dir, str(tmp_path / "other")) is None
    assert find_admin(str(tmp_path / "nowhere"), "x") is None
    assert find_unfinished(found.git_dir) == ""
    (repository / "new").write_text("x")
    git(repository, "add", "-A")
    git(repository, "commit", "-q", "-m", "second")
    assert work(lambda calls: changed_files(calls, place, first, "HEAD")) == ["new"]
