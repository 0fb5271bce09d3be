"""A worktree is discarded by real git: what was there is listed before, kept, and can be brought back."""

from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.core.worktrees import WorktreeWork
from tests.git.harness import git, make_repository
from tests.git.worktree_story import KEPT, Countdown, Killed, Story

pytestmark = pytest.mark.req("F5")


def busy(directory: Path) -> Story:
    """Committed, staged, edited, untracked, removed and ignored: all that can be in a worktree."""
    story = Story(directory, a="a\n", b="b\n", c="c\n", **{".gitignore": "*.o\n"})
    story.make()
    story.commit(story.path, "committed", d="d\n")
    (story.path / "a").write_text("staged\n")
    git(story.path, "add", "a")
    (story.path / "b").write_text("edited\n")
    (story.path / "c").unlink()
    (story.path / "new").write_text("new\n")
    (story.path / "x.o").write_text("built\n")
    return story


def files_in(where: Path) -> dict[str, str]:
    return {
        str(p.relative_to(where)): p.read_text() for p in sorted(where.iterdir()) if p.is_file() and p.name != ".git"
    }


def test_what_would_be_lost_is_listed(tmp_path: Path):
    work = busy(tmp_path).look()
    assert sorted(work.uncommitted) == ["a", "b", "c", "new"]
    assert (work.uncommitted_total, work.commits_total, work.ignored_total) == (4, 1, 1)
    assert work.commits[0].endswith(" committed")
    assert not work.is_nothing


def test_a_worktree_that_was_merged_has_nothing_to_lose(tmp_path: Path):
    story = Story(tmp_path)
    story.make()
    assert story.look() == WorktreeWork()
    story.commit(story.path, b="1")
    story.merge()
    assert story.look().is_nothing


def test_what_an_agent_left_on_another_branch_counts_too(tmp_path: Path):
    story = Story(tmp_path)
    story.make()
    story.commit(story.path, "on the branch", b="1")
    git(story.path, "checkout", "-q", "--detach", "main")
    story.commit(story.path, "on no branch", b="2")
    assert story.look().commits_total == 2
    kept = story.discard()
    assert kept is not None
    assert {"on the branch", "on no branch"} <= set(story.log(kept.ref))


def test_repositories_inside_the_worktree_are_named_because_they_are_not_kept(tmp_path: Path):
    story = Story(tmp_path)
    story.make()
    make_repository(story.path / "nested")
    assert story.look().submodules == ("nested/",)


def test_a_discarded_worktree_is_gone_and_kept(tmp_path: Path):
    story = busy(tmp_path)
    kept = story.discard()
    assert kept is not None
    assert not story.path.exists()
    assert list(story.path.parent.iterdir()) == []
    assert story.refs() == [KEPT, "refs/heads/main"]
    assert git(story.project, "worktree", "list").count("\n") == 1
    assert git(story.project, "show", f"{kept.ref}:new") == "new\n"
    assert git(story.project, "status", "--porcelain") == ""


def test_it_is_brought_back_as_it_was_with_what_was_not_committed(tmp_path: Path):
    story = busy(tmp_path)
    before = files_in(story.path)
    tip = git(story.path, "rev-parse", "HEAD")
    kept = story.discard()
    assert kept is not None
    made = story.make(source=kept.commit, status="planned", directory="")
    assert files_in(story.path) == {name: text for name, text in before.items() if name != "x.o"}
    assert git(story.path, "rev-parse", "HEAD") == tip
    assert made.base == tip.strip()
    assert sorted(line[3:] for line in git(story.path, "status", "--porcelain").splitlines()) == ["a", "b", "c", "new"]


def test_a_worktree_that_somebody_removed_keeps_its_commits(tmp_path: Path):
    story = busy(tmp_path)
    git(story.project, "worktree", "remove", "--force", str(story.path))
    work = story.look()
    assert (work.missing, work.commits_total, work.uncommitted_total) == (True, 1, 0)
    kept = story.discard()
    assert kept is not None
    assert "committed" in story.log(kept.ref)
    assert story.refs() == [KEPT, "refs/heads/main"]


def test_a_worktree_that_was_never_made_leaves_nothing_and_takes_nothing(tmp_path: Path):
    story = Story(tmp_path)
    git(story.project, "branch", "fairlead/fix")  # somebody else's
    assert story.discard() is None
    assert "refs/heads/fairlead/fix" in story.refs()


def test_a_branch_that_is_checked_out_elsewhere_stays(tmp_path: Path):
    story = busy(tmp_path)
    git(story.path, "checkout", "-q", "--detach", "-f")
    git(story.project, "worktree", "add", "-q", str(tmp_path / "mine"), "fairlead/fix")
    story.discard()
    assert "refs/heads/fairlead/fix" in story.refs()
    assert (tmp_path / "mine" / "d").is_file()


def test_a_persons_own_worktree_that_is_away_is_not_pruned(tmp_path: Path):
    story = busy(tmp_path)
    git(story.project, "worktree", "add", "-q", "-b", "usb", str(tmp_path / "usb"))
    (tmp_path / "usb").rename(tmp_path / "unplugged")
    story.discard()
    assert "usb" in git(story.project, "worktree", "list")


def test_directories_that_nobody_may_write_are_removed_too(tmp_path: Path):
    story = busy(tmp_path)
    (story.path / "locked").mkdir()
    (story.path / "locked" / "file.o").write_text("x")
    (story.path / "locked").chmod(0o500)
    story.discard()
    assert not story.path.exists()


def test_the_machine_dies_between_any_two_steps_of_a_discard_and_all_of_it_can_be_brought_back(tmp_path: Path):
    count = Countdown()
    busy(tmp_path / "count").discard(count)
    for left in range(count.steps):
        story = busy(tmp_path / str(left))
        before = files_in(story.path)
        planned = msgspec.structs.replace(story.worktree, status="planned", directory="")
        with pytest.raises(Killed):
            story.discard(Countdown(left))
        kept = story.discard()
        assert kept is not None
        assert story.refs() == [KEPT, "refs/heads/main"]
        assert list(story.path.parent.iterdir()) == []
        story.worktree = planned
        story.make(source=kept.commit)
        assert files_in(story.path) == {name: text for name, text in before.items() if name != "x.o"}


NAMES = st.sampled_from(["a", "b", "new", "käse", "line\nend", " -x"])
EDITS = st.dictionaries(NAMES, st.one_of(st.none(), st.binary(max_size=20)), max_size=4)


@settings(max_examples=25, deadline=None)
@given(committed=EDITS, drafts=EDITS)
def test_whatever_was_in_a_worktree_comes_back(
    tmp_path_factory: pytest.TempPathFactory, committed: dict[str, bytes | None], drafts: dict[str, bytes | None]
):
    story = Story(tmp_path_factory.mktemp("discard"), a="a\n", b="b\n")
    story.make()
    for files in (committed, drafts):
        for name, data in files.items():
            if data is None:
                (story.path / name).unlink(missing_ok=True)
            else:
                (story.path / name).write_bytes(data)
        if files is committed:
            git(story.path, "add", "-A")
            git(story.path, "commit", "-q", "--allow-empty", "-m", "work")
    before = {p.name: p.read_bytes() for p in story.path.iterdir() if p.name != ".git"}
    tip = git(story.path, "rev-parse", "HEAD")
    kept = story.discard()
    assert kept is not None
    story.make(source=kept.commit, status="planned", directory="")
    assert {p.name: p.read_bytes() for p in story.path.iterdir() if p.name != ".git"} == before
    assert git(story.path, "rev-parse", "HEAD") == tip
