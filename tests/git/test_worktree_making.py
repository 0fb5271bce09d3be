"""Worktrees are made by real git, from every state that a repository can be in, whenever the machine dies."""

from pathlib import Path

import pytest

from fairlead.errors import FairleadError
from fairlead.git.worktree_making import BranchTaken
from tests.git.harness import git, make_repository
from tests.git.worktree_story import Countdown, Killed, Story

pytestmark = pytest.mark.req("F5")


@pytest.mark.parametrize("form", ["sha1", "sha256"])
def test_a_worktree_has_a_branch_of_its_own_from_the_projects_head(tmp_path: Path, form: str):
    story = Story(tmp_path, f"--object-format={form}", a="one\n")
    head = git(story.project, "rev-parse", "HEAD").strip()
    made = story.make()
    assert (made.base, made.target, made.directory) == (head, "main", str(story.path))
    assert made.common_dir == str(story.project / ".git")
    assert git(story.path, "symbolic-ref", "HEAD").strip() == "refs/heads/fairlead/fix"
    assert (story.path / "a").read_text() == "one\n"
    assert git(story.path, "status", "--porcelain") == ""
    assert git(story.project, "status", "--porcelain") == ""
    assert git(story.project, "symbolic-ref", "HEAD").strip() == "refs/heads/main"


def test_what_the_person_has_not_committed_stays_behind_and_is_counted(tmp_path: Path):
    story = Story(tmp_path, a="one\n")
    (story.project / "a").write_text("edited\n")
    (story.project / "new").write_text("new\n")
    made = story.make()
    assert made.left_behind == 2
    assert (story.path / "a").read_text() == "one\n"
    assert not (story.path / "new").exists()
    assert (story.project / "a").read_text() == "edited\n"


def test_a_project_below_its_repository_works_at_the_same_place_of_the_worktree(tmp_path: Path):
    story = Story(tmp_path)
    (story.project / "services").mkdir()
    story.commit(story.project, **{"services/api": "x\n"})
    story.project = story.project / "services"
    made = story.make(repository=str(story.project))
    assert made.directory == str(story.path / "services")
    assert (story.path / "services" / "api").is_file()


def test_a_directory_that_was_never_committed_cannot_be_in_a_worktree(tmp_path: Path):
    story = Story(tmp_path)
    story.project = story.project / "new"
    story.project.mkdir()
    with pytest.raises(FairleadError, match="not in the last commit"):
        story.make()


def test_a_detached_head_has_no_branch_to_merge_into(tmp_path: Path):
    story = Story(tmp_path)
    git(story.project, "checkout", "-q", "--detach")
    assert story.make().target == ""


def test_a_worktree_of_a_persons_own_worktree_begins_where_that_one_is(tmp_path: Path):
    story = Story(tmp_path)
    git(story.project, "worktree", "add", "-q", "-b", "feature", str(tmp_path / "feature"))
    story.project = tmp_path / "feature"
    head = story.commit(story.project, b="two\n")
    made = story.make()
    assert (made.base, made.target) == (head, "feature")
    assert made.common_dir == str(tmp_path / "app" / ".git")


@pytest.mark.parametrize(
    ("prepare", "words"),
    [
        ("nothing", "not in a git repository"),
        ("bare", "bare repository"),
        ("empty", "no commits yet"),
        ("rebase", "in the middle of a rebase"),
        ("foreign", "lies outside of it"),
    ],
)
def test_what_cannot_have_a_worktree_says_why(tmp_path: Path, prepare: str, words: str):
    story = Story(tmp_path, a="one\n")
    match prepare:
        case "nothing":
            story.project = tmp_path / "plain"
            story.project.mkdir()
        case "bare":
            story.project = tmp_path / "bare.git"
            git(tmp_path, "init", "-q", "--bare", str(story.project))
        case "empty":
            story.project = tmp_path / "fresh"
            git(tmp_path, "init", "-q", str(story.project))
        case "rebase":
            story.commit(story.project, a="two\n")
            git(story.project, "checkout", "-q", "-b", "other", "HEAD^")
            story.commit(story.project, a="three\n")
            git(story.project, "rebase", "main", codes=(1,))
        case _:
            secret = make_repository(tmp_path / "secret")
            story.project = tmp_path / "trap"
            story.project.mkdir()
            (story.project / ".git").write_text(f"gitdir: {secret}/.git\n")
    with pytest.raises(FairleadError, match=words) as refused:
        story.make()
    assert refused.value.code == "E_WORKTREE_UNAVAILABLE"
    assert not story.path.exists()


def test_a_branch_of_somebody_else_is_not_taken(tmp_path: Path):
    story = Story(tmp_path)
    git(story.project, "branch", "fairlead/fix")
    story.commit(story.project, b="x")
    with pytest.raises(BranchTaken) as taken:
        story.make()
    assert taken.value.branches == {"fairlead/fix"}
    story.make(branch="fairlead/fix-2")
    assert git(story.path, "symbolic-ref", "HEAD").strip() == "refs/heads/fairlead/fix-2"


def test_a_branch_that_is_a_directory_of_branches_is_taken_too(tmp_path: Path):
    story = Story(tmp_path)
    git(story.project, "branch", "fairlead/fix/deep")
    with pytest.raises(BranchTaken) as taken:
        story.make()
    assert "fairlead/fix" in taken.value.branches


def test_hooks_and_filters_of_the_repository_do_not_run(tmp_path: Path):
    trace = tmp_path / "ran"
    story = Story(tmp_path, a="one\n", **{".gitattributes": "* filter=evil\n"})
    hook = story.project / ".git" / "hooks" / "post-checkout"
    hook.write_text(f"#!/bin/sh\ntouch {trace}\n")
    hook.chmod(0o755)
    git(story.project, "config", "filter.evil.smudge", f"touch {trace}; cat")
    git(story.project, "config", "filter.evil.required", "true")
    git(story.project, "config", "core.fsmonitor", f"touch {trace}; false")
    story.make()
    assert (story.path / "a").read_text() == "one\n"
    assert not trace.exists()


def test_a_worktree_says_that_it_has_submodules(tmp_path: Path):
    inner = make_repository(tmp_path / "inner")
    story = Story(tmp_path)
    git(story.project, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(inner), "inner")
    git(story.project, "commit", "-q", "-m", "submodule")
    assert story.make().has_submodules
    assert list((story.path / "inner").iterdir()) == []


def test_a_strange_directory_in_the_way_is_left_alone(tmp_path: Path):
    story = Story(tmp_path)
    story.path.mkdir(parents=True)
    (story.path / "precious").write_text("x")
    with pytest.raises(FairleadError, match="in the way"):
        story.make()
    assert (story.path / "precious").read_text() == "x"


def count_steps(directory: Path) -> int:
    count = Countdown()
    Story(directory, a="one\n").make(count)
    return count.steps


def test_the_machine_dies_between_any_two_steps_and_the_next_start_finishes(tmp_path: Path):
    for left in range(count_steps(tmp_path / "count")):
        story = Story(tmp_path / str(left), a="one\n")
        with pytest.raises(Killed):
            story.make(Countdown(left))
        story.make()
        assert git(story.path, "symbolic-ref", "HEAD").strip() == "refs/heads/fairlead/fix"
        assert git(story.path, "status", "--porcelain") == ""
        assert story.refs() == ["refs/heads/fairlead/fix", "refs/heads/main"]
        assert len(list((story.project / ".git" / "worktrees").iterdir())) == 1


def test_a_checkout_that_was_cut_off_is_made_again(tmp_path: Path):
    story = Story(tmp_path, a="one\n")
    story.make()
    admin = next((story.project / ".git" / "worktrees").iterdir())
    (admin / "locked").write_text("initializing")
    (story.path / "a").unlink()
    git(story.project, "branch", "-q", "-f", "fairlead/fix", "main", codes=(0, 128))
    story.make()
    assert (story.path / "a").read_text() == "one\n"
    assert git(story.path, "status", "--porcelain") == ""
