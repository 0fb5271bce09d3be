"""The directories of worktrees: whole or gone, and open to the agents' user where there is one."""

import stat
from pathlib import Path

import pytest

from fairlead.git.worktree_files import WorktreeFiles

pytestmark = pytest.mark.req("F5")


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_only_the_owner_enters_unless_agents_have_a_user_of_their_own(tmp_path: Path):
    WorktreeFiles().make(str(tmp_path / "own" / "app" / "1-x"))
    assert [mode(tmp_path / part) for part in ("own", "own/app", "own/app/1-x")] == [0o700, 0o700, 0o700]
    given: list[Path] = []
    files = WorktreeFiles(prepare=given.append, give=given.append)
    path = tmp_path / "shared" / "app" / "1-x"
    files.make(str(path))
    files.share(str(path))
    assert [mode(tmp_path / part) for part in ("shared", "shared/app", "shared/app/1-x")] == [0o711, 0o711, 0o700]
    assert given == [path, path]


def test_a_directory_that_was_there_keeps_its_mode(tmp_path: Path):
    (tmp_path / "mine").mkdir(mode=0o755)
    WorktreeFiles().make(str(tmp_path / "mine" / "app" / "1-x"))
    assert mode(tmp_path / "mine") == 0o755


def test_what_is_set_aside_is_gone_from_its_place_and_removed_later(tmp_path: Path):
    path = tmp_path / "1-x"
    path.mkdir()
    (path / "file").write_text("x")
    files = WorktreeFiles()
    files.set_aside(str(path))
    assert not path.exists()
    files.remove_aside(str(path))
    assert list(tmp_path.iterdir()) == []
    files.remove_aside(str(path))


def test_a_link_is_removed_and_not_followed(tmp_path: Path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").write_text("x")
    path = tmp_path / "1-x"
    path.mkdir()
    (path / "link").symlink_to(outside)
    WorktreeFiles().remove(str(path))
    assert (outside / "precious").read_text() == "x"
