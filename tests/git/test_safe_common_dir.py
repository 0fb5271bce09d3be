"""A common directory with a configuration of our own: what an agent writes into the real one is never read."""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest

from fairlead.git.command import Git, GitCalls, GitPlace
from fairlead.git.safe_common_dir import safe_common_dir
from tests.git.harness import git, make_repository

pytestmark = pytest.mark.req("F5")

T = TypeVar("T")


def work(steps: Callable[[GitCalls], T]) -> T:
    runner = Git(dict(os.environ))
    try:
        return asyncio.run(runner.work(steps))
    finally:
        runner.close()


@pytest.mark.parametrize("form", ["sha1", "sha256"])
def test_what_is_written_while_we_work_is_not_read(tmp_path: Path, form: str):
    """The agent is quick: it writes its filter after we have looked at the configuration."""
    app = make_repository(tmp_path / "app", f"--object-format={form}", a="one\n", **{".gitignore": "x\n"})
    (app / ".git" / "info" / "exclude").write_text("*.tmp\n")
    (app / "b.tmp").write_text("x")
    trace = tmp_path / "ran"

    def steps(calls: GitCalls) -> str:
        with safe_common_dir(calls, str(app / ".git"), str(app / ".git")) as safe:
            git(app, "config", "filter.evil.smudge", f"touch {trace}; cat")
            git(app, "config", "filter.evil.clean", f"touch {trace}; cat")
            git(app, "config", "core.fsmonitor", f"touch {trace}; false")
            (app / ".git" / "info" / "attributes").write_text("* filter=evil\n")
            (app / "a").unlink()
            named = {"GIT_DIR": str(app / ".git"), "GIT_WORK_TREE": str(app), "GIT_COMMON_DIR": safe}
            place = GitPlace(directory=str(app), variables=named)
            calls.run(["reset", "-q", "--hard"], place=place)
            calls.run(["update-ref", "refs/heads/new/branch", "HEAD"], place=place)
            calls.run(["pack-refs", "--all"], place=place)
            calls.run(["update-ref", "-d", "refs/heads/new/branch"], place=place)
            return calls.run(["status", "--porcelain"], place=place).line

    assert work(steps) == ""
    assert (app / "a").read_text() == "one\n"
    assert not trace.exists()
    assert git(app, "for-each-ref", "--format=%(refname)").split() == ["refs/heads/main"]
    assert not (app / ".git" / "packed-refs").is_symlink()


def test_it_is_gone_afterwards_and_nothing_behind_its_links(tmp_path: Path):
    app = make_repository(tmp_path / "app")

    def steps(calls: GitCalls) -> str:
        with safe_common_dir(calls, str(app / ".git"), str(app / ".git")) as safe:
            assert (Path(safe) / "objects").resolve() == app / ".git" / "objects"
            assert "hooks" not in os.listdir(safe)  # noqa: PTH208 - names
            return safe

    assert not Path(work(steps)).exists()
    assert git(app, "fsck", "--full") == ""
    assert git(app, "log", "--format=%s") == "first\n"


def test_a_programs_name_is_not_taken_over(tmp_path: Path):
    app = make_repository(tmp_path / "app")
    for key in ("core.pager", "core.editor", "merge.x.driver", "include.path", "core.worktree", "core.attributesFile"):
        git(app, "config", key, "/evil")
    git(app, "config", "core.autocrlf", "input")

    def steps(calls: GitCalls) -> str:
        with safe_common_dir(calls, str(app / ".git"), str(app / ".git")) as safe:
            return (Path(safe) / "config").read_text()

    config = work(steps)
    assert "evil" not in config
    assert 'autocrlf = "input"' in config
