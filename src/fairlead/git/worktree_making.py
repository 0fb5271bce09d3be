"""Making a worktree with real git, in steps that can be repeated after a crash between any two of them.

1. `git worktree add --detach --no-checkout`: no files and no branch yet. Git marks a worktree that it has not finished;
   such a one is removed and made again.
2. The files are checked out. A worktree without an index has none yet.
3. The branch is created, unless somebody has one of that name.
4. The worktree's HEAD becomes that branch. A caller that finds the branch at the commit of the worktree does only this.
"""

import os
from pathlib import Path

from fairlead.core.worktrees import BRANCH_PREFIX, MadeWorktree, Worktree
from fairlead.git.command import GitCalls, GitFailed
from fairlead.git.repositories import (
    AdminDirectory,
    Repository,
    branches,
    checked_out_at,
    commit_at,
    current_branch,
    find_admin,
    has_temporary_head,
    status,
    unavailable,
)
from fairlead.git.worktree_files import WorktreeFiles


class BranchTaken(Exception):  # noqa: N818 - says what happened
    """Somebody has a branch of this name; `branches` are all that would clash."""

    def __init__(self, taken: frozenset[str]) -> None:
        super().__init__("the branch is taken")
        self.branches = taken


def make_worktree(calls: GitCalls, repository: Repository, worktree: Worktree, files: WorktreeFiles) -> MadeWorktree:
    """Raises E_WORKTREE_UNAVAILABLE, BranchTaken, GitFailed, OSError."""
    start = _find_start(calls, repository, worktree)
    admin = _clean_unfinished(repository, worktree, files)
    if admin is None:
        _check_is_free(worktree)
        files.make(worktree.path)
        arguments = ["worktree", "add", "-q", "--detach", "--no-checkout", worktree.path, start]
        calls.run(arguments, place=repository.real_place)
        admin = find_admin(repository.common_dir, worktree.path)
    if admin is None:
        raise unavailable(f"git made a worktree at {worktree.path}, and does not know it.")
    _check_out(calls, repository, admin)
    base = _name_branch(calls, repository, worktree, admin)
    files.share(worktree.path)
    return MadeWorktree(
        directory=os.path.join(worktree.path, repository.prefix) if repository.prefix else worktree.path,  # noqa: PTH118 - text
        common_dir=repository.common_dir,
        base=base,
        target=worktree.target or repository.branch,
        left_behind=len(status(calls, repository.place)),
        has_submodules=(Path(worktree.path) / ".gitmodules").is_file(),
    )


def _check_out(calls: GitCalls, repository: Repository, admin: AdminDirectory) -> None:
    """Git writes the index when all files are there. A lock file of one that was ended in the middle goes: nobody else
    works here yet."""
    index = Path(admin.path) / "index"
    if not index.exists():
        index.with_suffix(".lock").unlink(missing_ok=True)
        calls.run(["reset", "-q", "--hard", "--no-recurse-submodules"], place=repository.place_of(admin))


def _find_start(calls: GitCalls, repository: Repository, worktree: Worktree) -> str:
    """The commit whose files the worktree begins with."""
    if worktree.source:
        kept = commit_at(calls, repository.place, worktree.source)
        if not kept:
            raise unavailable("What was kept of that worktree is no longer in the repository.")
        return kept
    middle = has_temporary_head(repository.git_dir)
    if middle:
        raise unavailable(
            f"The project is in the middle of {middle}, so its HEAD is no place to begin from.",
            "Finish or abort it in the project's directory; then use /worktree make.",
        )
    if repository.prefix:
        name = f"{repository.head}:{repository.prefix}"
        found = calls.run(["cat-file", "-t", name], place=repository.place, codes=(0, 128))
        if found.line != "tree":
            raise unavailable(f"{repository.prefix} is not in the last commit, so no worktree would have it.")
    return repository.head


def _clean_unfinished(repository: Repository, worktree: Worktree, files: WorktreeFiles) -> AdminDirectory | None:
    """A worktree that git was making when it was ended: nobody has worked there."""
    admin = find_admin(repository.common_dir, worktree.path)
    if admin is None or (not admin.is_unfinished and Path(worktree.path).is_dir()):
        return admin
    files.remove(worktree.path)
    files.remove(admin.path)
    return None


def _check_is_free(worktree: Worktree) -> None:
    path = Path(worktree.path)
    if path.is_dir() and not any(path.iterdir()):
        return
    if os.path.lexists(path):
        raise unavailable(
            f"{path} is in the way: it belongs to no worktree that is known.",
            "Look at it, move it elsewhere, and use /worktree make.",
        )


def _name_branch(calls: GitCalls, repository: Repository, worktree: Worktree, admin: AdminDirectory) -> str:
    """The commit that the branch stands at. For a worktree that is brought back, that is the one before what was kept:
    the rest comes back as files that are not committed."""
    place = repository.place_of(admin)
    full = f"refs/heads/{worktree.branch}"
    has_branch = current_branch(calls, place) == worktree.branch
    if not has_branch and current_branch(calls, place):
        raise unavailable(f"{worktree.path} has another branch checked out.", "Look at it, and move it elsewhere.")
    head = commit_at(calls, place, "HEAD")
    base = head if not worktree.source or has_branch else commit_at(calls, place, "HEAD^1")
    if not has_branch:
        _create_branch(calls, repository, worktree, base)
        calls.run(["symbolic-ref", "-m", "fairlead: worktree made", "HEAD", full], place=place)
    if worktree.source:
        calls.run(["reset", "-q", "--mixed"], place=place)
    return base


def _create_branch(calls: GitCalls, repository: Repository, worktree: Worktree, base: str) -> None:
    """A branch of this name at this very commit, and nowhere checked out, is the one that was made before a crash; if
    it is somebody's, it loses nothing."""
    place, full = repository.place, f"refs/heads/{worktree.branch}"
    there = commit_at(calls, place, full)
    if there == base and not checked_out_at(calls, repository.real_place, worktree.branch):
        return
    if there:
        raise BranchTaken(branches(calls, place, BRANCH_PREFIX))
    try:
        # The empty old value says that it must not be there.
        calls.run(["update-ref", "-m", "fairlead: worktree made", full, base, "0" * len(base)], place=place)
    except GitFailed as failed:
        taken = branches(calls, place, BRANCH_PREFIX)
        if "exists" not in failed.stderr and "cannot lock ref" not in failed.stderr:
            raise
        raise BranchTaken(taken | {worktree.branch}) from failed
