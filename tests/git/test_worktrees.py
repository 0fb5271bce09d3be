"""Git's side of worktrees as the flow meets it: errors that people read, and what a turn is told before it starts."""

import os
import shutil
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest

from fairlead.core.worktrees import Worktree
from fairlead.errors import FairleadError
from fairlead.git.command import Git
from fairlead.git.repositories import status
from fairlead.git.worktrees import RealWorktrees
from fairlead.ports import NO_WORKTREES, MergeConflict, TakenBranch
from tests.git.harness import git, make_repository
from tests.git.worktree_story import Story

pytestmark = [pytest.mark.anyio, pytest.mark.req("F5")]


@asynccontextmanager
async def worktrees(home: Path, *, are_separated: bool = False, path: str = "") -> AsyncGenerator[RealWorktrees]:
    environment = {**os.environ, "HOME": str(home), "XDG_CONFIG_HOME": "", "GIT_CONFIG_GLOBAL": ""}
    runner = Git(environment | ({"PATH": path} if path else {}))
    try:
        yield RealWorktrees(runner, environment, state_id=lambda: "abcd", are_separated=are_separated)
    finally:
        runner.close()


async def make(trees: RealWorktrees, worktree: Worktree) -> Worktree:
    made = await trees.make(worktree)
    return msgspec.structs.replace(
        worktree, status="ready", directory=made.directory, base=made.base, target=made.target
    )


async def test_made_merged_and_discarded(tmp_path: Path):
    story = Story(tmp_path, a="one\n")
    async with worktrees(tmp_path) as trees:
        worktree = await make(trees, story.worktree)
        assert await trees.taken_branches(str(story.project)) == {"fairlead/fix"}
        story.commit(story.path, a="two\n")
        assert (await trees.look(worktree)).commits_total == 1
        assert (await trees.merge(worktree)).commits_total == 1
        kept = await trees.discard(worktree)
        assert kept is not None
        await trees.forget_kept(str(story.project), {kept.ref})
        assert kept.ref in story.refs()
        await trees.forget_kept(str(story.project), ())
    assert story.refs() == ["refs/heads/main"]


async def test_what_git_cannot_do_is_an_error_with_words(tmp_path: Path):
    story = Story(tmp_path, a="one\n")
    async with worktrees(tmp_path) as trees:
        git(story.project, "branch", "fairlead/fix", "main")
        story.commit(story.project, b="x")
        with pytest.raises(TakenBranch):
            await trees.make(story.worktree)
        worktree = await make(trees, msgspec.structs.replace(story.worktree, branch="fairlead/other"))
        story.commit(story.path, a="theirs\n")
        story.commit(story.project, a="mine\n")
        with pytest.raises(MergeConflict) as conflict:
            await trees.merge(worktree)
        assert conflict.value.files == ("a",)
        (story.project / ".git" / "HEAD").write_text("nonsense\n")
        with pytest.raises(FairleadError) as refused:
            await trees.look(worktree)
        assert refused.value.code == "E_WORKTREE_UNAVAILABLE"
    async with worktrees(tmp_path, path="/nowhere") as trees:
        with pytest.raises(FairleadError, match="git was not found"):
            await trees.look(worktree)
    with pytest.raises(FairleadError, match="no git here"):
        await NO_WORKTREES.make(worktree)


async def test_a_turn_is_told_what_is_wrong_with_its_worktree(tmp_path: Path):
    story = Story(tmp_path)
    async with worktrees(tmp_path) as trees:
        worktree = await make(trees, story.worktree)
        assert trees.problem_at(worktree) == ""
        admin = next((story.project / ".git" / "worktrees").iterdir())
        admin.rename(tmp_path / "admin")
        assert "does not know" in trees.problem_at(worktree)
        shutil.rmtree(story.path)
        assert "not there any more" in trees.problem_at(worktree)
        failed = msgspec.structs.replace(worktree, status="failed", error_message="no room")
        assert trees.problem_at(failed) == "no room"


async def test_a_persons_own_filters_and_ignores_count_and_those_of_the_repository_do_not(tmp_path: Path):
    """Where agents are separated, no filter runs at all: one such as git-lfs runs what the repository names."""
    home = tmp_path / "home"
    home.mkdir()
    (home / ".gitconfig").write_text(
        "[user]\n\tname = Grace\n\temail = grace@example.org\n"
        "[core]\n\texcludesFile = ~/ignored\n"
        '[filter "mine"]\n\tsmudge = tr a-z A-Z\n\tclean = tr A-Z a-z\n'
    )
    (home / "ignored").write_text(".DS_Store\n")
    for name, expected in (("open", "ONE\n"), ("closed", "one\n")):
        story = Story(tmp_path / name, a="one\n", **{".gitattributes": "a filter=mine\n"})
        git(story.project, "config", "filter.mine.smudge", "touch /tmp/evil; cat")
        async with worktrees(home, are_separated=name == "closed") as trees:
            worktree = await make(trees, story.worktree)
            assert (story.path / "a").read_text() == expected
            (story.path / ".DS_Store").write_text("x")
            assert (await trees.look(worktree)).uncommitted == ()
            story.commit(story.project, "mine", b="b\n")
            git(story.path, "-c", "filter.mine.smudge=", "commit", "-q", "--allow-empty", "-m", "theirs")
            await trees.merge(worktree)
            assert git(story.project, "log", "-1", "--format=%an %cn").strip() == "Ada Grace"


async def test_a_part_of_a_repository_is_not_opened_to_separated_agents(tmp_path: Path):
    story = Story(tmp_path)
    (story.project / "part").mkdir()
    story.commit(story.project, **{"part/x": "x"})
    async with worktrees(tmp_path, are_separated=True) as trees:
        with pytest.raises(FairleadError, match="only a part"):
            await trees.taken_branches(str(story.project / "part"))


async def test_a_worktree_that_says_it_belongs_elsewhere_is_not_believed(tmp_path: Path):
    """An agent can write the `.git` file of its worktree, and nothing in the other repository."""
    story = Story(tmp_path, a="one\n")
    secret = make_repository(tmp_path / "secret", key="s3cret\n")
    before = git(secret, "log", "--format=%H")
    async with worktrees(tmp_path) as trees:
        worktree = await make(trees, story.worktree)
        story.commit(story.path, a="two\n")
        (story.path / ".git").write_text(f"gitdir: {secret}/.git\n")
        await trees.merge(worktree)
        await trees.discard(worktree)
    assert git(secret, "log", "--format=%H") == before
    assert git(secret, "status", "--porcelain") == ""
    assert (story.project / "a").read_text() == "two\n"
    assert status.__module__ == "fairlead.git.repositories"
