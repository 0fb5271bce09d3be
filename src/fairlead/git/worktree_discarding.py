"""What would be lost with a worktree, and discarding one so that it can be brought back.

1. A commit keeps the branch's last commit and every file that is not committed; a ref of ours keeps that commit.
2. The directory is set aside in one step: it is whole and kept again, or it is gone.
3. It is removed; then git's own directory of it, and the branch.

After a crash all is done again from what stands: a directory that is there is whole, so it is kept once more.
"""

import os
import tempfile
from pathlib import Path

import msgspec

from fairlead.core.worktrees import MAX_FILES_NAMED, KeptWork, Worktree, WorktreeWork
from fairlead.git.command import GitCalls, GitPlace
from fairlead.git.repositories import (
    AdminDirectory,
    Repository,
    checked_out_at,
    commit_at,
    find_admin,
    is_ancestor,
    split_ignored,
    status,
)
from fairlead.git.worktree_files import WorktreeFiles


def look_at_work(calls: GitCalls, repository: Repository, worktree: Worktree) -> WorktreeWork:
    admin = _find_whole(repository, worktree)
    place = repository.place if admin is None else repository.place_of(admin)
    tips = _tips(calls, repository, worktree, place if admin is not None else None)
    known = commit_at(calls, repository.place, f"refs/heads/{worktree.target or repository.branch}") or worktree.base
    unmerged = [tip for tip in tips if not known or not is_ancestor(calls, repository.place, tip, known)]
    entries, ignored = split_ignored(status(calls, place, ignored=True)) if admin is not None else ([], 0)
    nested = tuple(entry.path for entry in entries if entry.path.endswith("/"))
    return WorktreeWork(
        uncommitted=tuple(entry.path for entry in entries[:MAX_FILES_NAMED]),
        uncommitted_total=len(entries),
        commits=_list_commits(calls, repository.place, unmerged, known),
        commits_total=_count_commits(calls, repository.place, unmerged, known),
        ignored_total=ignored,
        submodules=(*nested, *_submodules(admin)),
        missing=admin is None,
    )


def _find_whole(repository: Repository, worktree: Worktree) -> AdminDirectory | None:
    admin = find_admin(repository.common_dir, worktree.path)
    return admin if admin is not None and Path(worktree.path).is_dir() else None


def _tips(calls: GitCalls, repository: Repository, worktree: Worktree, here: GitPlace | None) -> list[str]:
    """What the worktree has checked out, and its branch, where an agent has left that for another one."""
    head = commit_at(calls, here, "HEAD") if here is not None else ""
    branch = commit_at(calls, repository.place, f"refs/heads/{worktree.branch}") if worktree.directory else ""
    return list(dict.fromkeys(tip for tip in (head, branch) if tip))


def _list_commits(calls: GitCalls, place: GitPlace, tips: list[str], known: str) -> tuple[str, ...]:
    if not tips:
        return ()
    arguments = ["log", f"-n{MAX_FILES_NAMED}", "--no-show-signature", "--format=%h %s", "-z", *tips]
    listed = calls.run([*arguments, *([f"^{known}"] if known else [])], place=place)
    return tuple(line for line in os.fsdecode(listed.stdout).split("\0") if line)


def _count_commits(calls: GitCalls, place: GitPlace, tips: list[str], known: str) -> int:
    if not tips:
        return 0
    return int(calls.run(["rev-list", "--count", *tips, *([f"^{known}"] if known else [])], place=place).line)


def _submodules(admin: AdminDirectory | None) -> list[str]:
    """Those that were checked out in the worktree: their own commits are in no repository of ours."""
    modules = Path(admin.path) / "modules" if admin is not None else None
    return sorted(path.name for path in modules.iterdir()) if modules is not None and modules.is_dir() else []


def discard_worktree(
    calls: GitCalls, repository: Repository, worktree: Worktree, ref: str, files: WorktreeFiles
) -> KeptWork | None:
    """Where it is kept; None where there was nothing. Raises GitFailed, OSError."""
    admin = find_admin(repository.common_dir, worktree.path)
    kept = _keep(calls, repository, worktree, ref, admin)
    if os.path.lexists(worktree.path):
        files.set_aside(worktree.path)
    files.remove_aside(worktree.path)
    if admin is not None:
        _forget_admin(calls, repository, admin, files)
    if kept is not None and worktree.directory:
        _delete_branch(calls, repository, worktree, kept)
    return kept


def _keep(
    calls: GitCalls, repository: Repository, worktree: Worktree, ref: str, admin: AdminDirectory | None
) -> KeptWork | None:
    is_whole = admin is not None and Path(worktree.path).is_dir() and not admin.is_unfinished
    here = repository.place_of(admin) if is_whole and admin is not None else None
    earlier = commit_at(calls, repository.place, ref)
    if here is None and earlier:
        return KeptWork(ref=ref, commit=earlier)
    tips = _tips(calls, repository, worktree, here)
    if not tips:
        return None
    tree = _tree_of(calls, here) if here is not None else f"{tips[0]}^{{tree}}"
    tree = calls.run(["rev-parse", "--verify", "-q", tree], place=repository.place).line
    parents = [word for tip in tips for word in ("-p", tip)]
    message = f"Worktree {worktree.number} of Fairlead, {worktree.branch}, as it was when it was discarded\n"
    commit = calls.run(["commit-tree", tree, *parents], place=repository.place, stdin=os.fsencode(message)).line
    calls.run(["update-ref", "-m", "fairlead: worktree discarded", ref, commit], place=repository.place)
    return KeptWork(ref=ref, commit=commit)


def _tree_of(calls: GitCalls, here: GitPlace) -> str:
    """All files that are not ignored, by an index of our own: the worktree's is not needed any more, but it may be in
    the middle of a merge."""
    with tempfile.TemporaryDirectory(prefix="fairlead-index-") as directory:
        variables = {**here.variables, "GIT_INDEX_FILE": str(Path(directory) / "index")}
        own = msgspec.structs.replace(here, variables=variables)
        calls.run(["read-tree", "HEAD"], place=own)
        calls.run(["add", "-A", "--ignore-errors", "--", "."], place=own)
        return calls.run(["write-tree"], place=own).line


def _forget_admin(calls: GitCalls, repository: Repository, admin: AdminDirectory, files: WorktreeFiles) -> None:
    """Of this one worktree: `git worktree prune` would also forget a person's own that is not mounted just now."""
    if admin.is_unfinished:
        files.remove(admin.path)
        return
    calls.run(["worktree", "remove", "--force", "--force", admin.work_tree], place=repository.real_place)


def _delete_branch(calls: GitCalls, repository: Repository, worktree: Worktree, kept: KeptWork) -> None:
    """Only what is kept is deleted, and nothing that somebody has checked out elsewhere."""
    place = repository.real_place
    tip = commit_at(calls, place, f"refs/heads/{worktree.branch}")
    if tip and is_ancestor(calls, place, tip, kept.commit) and not checked_out_at(calls, place, worktree.branch):
        calls.run(["branch", "-q", "-D", "--", worktree.branch], place=place)
