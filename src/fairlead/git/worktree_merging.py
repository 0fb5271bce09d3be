"""Merging a worktree's branch: rebase in the worktree, then a fast-forward of the branch that it began from.

A ref of ours marks the branch's commit before the rebase. A start that finds it after a crash knows that an unfinished
rebase is ours, and has the way back. Where nothing is merged, the branch stands where it stood, and no file has
changed.
"""

import os
from collections.abc import Mapping
from typing import Final

import msgspec

from fairlead.core.worktrees import MAX_FILES_NAMED, MergeResult, Worktree
from fairlead.errors import Code, FairleadError, error
from fairlead.git.command import GitCalls, GitFailed, GitPlace
from fairlead.git.repositories import (
    Repository,
    changed_files,
    checked_out_at,
    commit_at,
    current_branch,
    find_admin,
    find_unfinished,
    is_ancestor,
    status,
)

_NOBODY: Final = {"GIT_COMMITTER_NAME": "Fairlead", "GIT_COMMITTER_EMAIL": "fairlead@localhost"}


class Conflict(Exception):  # noqa: N818 - says what happened
    """Commits of both sides changed the same places in these files. Everything is as it was."""

    def __init__(self, target: str, files: tuple[str, ...]) -> None:
        super().__init__(f"{len(files)} files conflict with {target}")
        self.target = target
        self.files = files


class Merging(msgspec.Struct, frozen=True, kw_only=True):
    """One merge: the worktree's own place, the branch that it goes into, and the mark of the way back."""

    calls: GitCalls
    repository: Repository
    worktree: Worktree
    here: GitPlace
    git_dir: str
    target: str
    mark: str


def worktree_gone(worktree: Worktree) -> FairleadError:
    return error(Code.E_WORKTREE_GONE, f"{worktree.path} is not there any more, or is no worktree of the project.")


def merge_blocked(message: str, next_step: str = "") -> FairleadError:
    return error(Code.E_MERGE_BLOCKED, message, next_step=next_step)


def merge_worktree(
    calls: GitCalls, repository: Repository, worktree: Worktree, mark: str, committer: Mapping[str, str]
) -> MergeResult:
    """Raises E_WORKTREE_GONE, E_UNCOMMITTED_WORK, E_MERGE_BLOCKED, Conflict."""
    merging = _begin(calls, repository, worktree, mark)
    _abort_own_rebase(merging)
    tip = _check_worktree(merging)
    target_tip = commit_at(calls, repository.place, f"refs/heads/{merging.target}")
    if not target_tip:
        raise merge_blocked(f"There is no branch {merging.target}.", "Create it, or merge by hand with git.")
    is_merged = is_ancestor(calls, repository.place, tip, target_tip)
    needs_rebase = not is_merged and not is_ancestor(calls, repository.place, target_tip, tip)
    _check_uncommitted(merging, needs_rebase=needs_rebase)
    if is_merged:
        return _settle(merging, _result(merging, _find_known_before(merging, tip) or target_tip, target_tip))
    _check_target(merging, changed_files(calls, repository.place, _merge_base(merging, target_tip, tip), tip))
    if not commit_at(calls, repository.place, mark):
        calls.run(["update-ref", mark, tip], place=repository.place)
    try:
        if needs_rebase:
            _rebase(merging, target_tip, committer)
        new_tip = commit_at(calls, merging.here, "HEAD")
        _fast_forward(merging, target_tip, new_tip)
    except (FairleadError, GitFailed, Conflict):
        _go_back(merging)
        raise
    return _settle(merging, _result(merging, target_tip, new_tip))


def _begin(calls: GitCalls, repository: Repository, worktree: Worktree, mark: str) -> Merging:
    admin = find_admin(repository.common_dir, worktree.path)
    if admin is None or not os.path.isdir(worktree.path):  # noqa: PTH112 - text
        raise worktree_gone(worktree)
    target = worktree.target or repository.branch
    if not target:
        raise merge_blocked(
            "No branch is checked out in the project's directory, so there is nothing to merge into.",
            "Check out the branch that the work shall go into, and use /merge again.",
        )
    return Merging(
        calls=calls,
        repository=repository,
        worktree=worktree,
        here=repository.place_of(admin),
        git_dir=admin.path,
        target=target,
        mark=mark,
    )


def _abort_own_rebase(merging: Merging) -> None:
    marked = commit_at(merging.calls, merging.repository.place, merging.mark)
    if marked and find_unfinished(merging.git_dir) == "a rebase":
        merging.calls.run(["rebase", "--abort"], place=merging.here)


def _check_worktree(merging: Merging) -> str:
    """The commit of the branch, which must be what the worktree has checked out."""
    middle = find_unfinished(merging.git_dir)
    if middle:
        raise error(
            Code.E_UNCOMMITTED_WORK,
            f"The worktree is in the middle of {middle}.",
            next_step="Ask the agent to finish it, then use /merge again.",
        )
    branch = current_branch(merging.calls, merging.here)
    if branch != merging.worktree.branch:
        raise merge_blocked(
            f"The worktree has {branch or 'no branch'} checked out, and not {merging.worktree.branch}.",
            f"Ask the agent to check out {merging.worktree.branch} with all that shall be merged.",
        )
    return commit_at(merging.calls, merging.here, "HEAD")


def _check_uncommitted(merging: Merging, *, needs_rebase: bool) -> None:
    entries = status(merging.calls, merging.here)
    if not entries or (merging.worktree.uncommitted == "leave" and not needs_rebase):
        return
    names = list_names([entry.path for entry in entries])
    if needs_rebase:
        raise error(
            Code.E_UNCOMMITTED_WORK,
            f"{merging.target} has moved on. Not committed in the worktree: {names}.",
            next_step="Ask the agent to commit them, then use /merge again; /discard gives the worktree up.",
        )
    raise error(
        Code.E_UNCOMMITTED_WORK,
        f"Not committed in the worktree: {names}.",
        next_step="Ask the agent to commit them, then use /merge again. /merge uncommitted:leave merges the commits "
        "alone; /discard gives the worktree up.",
    )


def list_names(names: list[str]) -> str:
    """The first of them, safe to read, and how many more there are."""
    shown = ", ".join("".join(c if c.isprintable() else "\ufffd" for c in name) for name in names[:MAX_FILES_NAMED])
    return shown + (f" and {len(names) - MAX_FILES_NAMED} more" if len(names) > MAX_FILES_NAMED else "")


def _check_target(merging: Merging, changed: list[str]) -> None:
    """Before anything is changed: would the fast-forward find the target's own work tree as it needs it?"""
    repository = merging.repository
    if current_branch(merging.calls, repository.place) != merging.target:
        elsewhere = checked_out_at(merging.calls, repository.real_place, merging.target)
        if elsewhere:
            raise merge_blocked(
                f"{merging.target} is checked out in {elsewhere[0]}.",
                f"Merge it there: git merge --ff-only {merging.worktree.branch}",
            )
        return
    middle = find_unfinished(repository.git_dir)
    if middle:
        raise merge_blocked(
            f"The project's directory is in the middle of {middle}.", "Finish or abort it, then use /merge again."
        )
    own = {name for e in status(merging.calls, repository.place, ignored=True) for name in (e.path, e.old) if name}
    collisions = sorted(name for name in changed if name in own or _is_below(name, own))
    if collisions:
        raise merge_blocked(
            f"These files have changes of your own in the project's directory: {list_names(collisions)}.",
            "Commit them, or put them away (git stash -u), then use /merge again.",
        )


def _is_below(name: str, own: set[str]) -> bool:
    """Whether it lies in a directory that git names as a whole, because all of it is ignored or a repository."""
    parts = name.split("/")
    return any("/".join(parts[:n]) + "/" in own for n in range(1, len(parts)))


def _merge_base(merging: Merging, target_tip: str, tip: str) -> str:
    found = merging.calls.run(["merge-base", target_tip, tip], place=merging.repository.place, codes=(0, 1))
    if found.code:
        raise merge_blocked(f"{merging.worktree.branch} and {merging.target} have no commit in common.")
    return found.line


def _rebase(merging: Merging, target_tip: str, committer: Mapping[str, str]) -> None:
    calls = merging.calls
    variables = {**merging.here.variables, **(committer or _committer_of(merging))}
    place = msgspec.structs.replace(merging.here, variables=variables)
    # `--onto` with the commit itself, so that a branch that moves meanwhile changes nothing.
    arguments = ["rebase", "-q", "--no-autosquash", "--no-fork-point", "--onto", target_tip, target_tip]
    try:
        calls.run(arguments, place=place)
    except GitFailed as failed:
        files = calls.run(["diff", "--name-only", "--diff-filter=U", "-z"], place=merging.here)
        names = tuple(name for name in os.fsdecode(files.stdout).split("\0") if name)
        if names:
            raise Conflict(merging.target, names) from failed
        raise merge_blocked(f"git could not rebase {merging.worktree.branch}: {_words(failed)}") from failed


def _committer_of(merging: Merging) -> dict[str, str]:
    """Where the person has told git no name: who committed last in the worktree."""
    said = merging.calls.run(["log", "-1", "--format=%cn%x00%ce", "HEAD"], place=merging.here).line.split("\0")
    return dict(zip(_NOBODY, said, strict=False)) or dict(_NOBODY)


def _fast_forward(merging: Merging, target_tip: str, new_tip: str) -> None:
    """In the project's directory where the branch is checked out: git itself moves files and index together, and stops
    at everything that is not committed there, ignored files included."""
    calls, repository = merging.calls, merging.repository
    if current_branch(calls, repository.place) != merging.target:
        full = f"refs/heads/{merging.target}"
        calls.run(
            ["update-ref", "-m", f"fairlead: merge {merging.worktree.branch}", full, new_tip, target_tip],
            place=repository.place,
        )
        return
    try:
        calls.run(["merge", "-q", "--ff-only", "--no-overwrite-ignore", "--no-stat", new_tip], place=repository.place)
    except GitFailed as failed:
        raise merge_blocked(
            f"git did not move {merging.target} in the project's directory: {_words(failed)}",
            "Commit your own changes there, or put them away (git stash -u), then use /merge again.",
        ) from failed


def _words(failed: GitFailed) -> str:
    return "".join(c if c.isprintable() else " " for c in " ".join(failed.stderr.split()))[:400]


def _go_back(merging: Merging) -> None:
    """The branch as it was. `--keep` touches no file that somebody has changed since."""
    if find_unfinished(merging.git_dir) == "a rebase":
        merging.calls.run(["rebase", "--abort"], place=merging.here, codes=range(256))
    marked = commit_at(merging.calls, merging.repository.place, merging.mark)
    if marked and marked != commit_at(merging.calls, merging.here, "HEAD"):
        merging.calls.run(["reset", "-q", "--keep", marked], place=merging.here, codes=range(256))
    forget_mark(merging.calls, merging.repository.place, merging.mark)


def _find_known_before(merging: Merging, tip: str) -> str:
    """Where the target stood before a merge whose end a crash kept from being written down; empty if there was none."""
    if not commit_at(merging.calls, merging.repository.place, merging.mark):
        return ""
    base = merging.worktree.base
    return base if base and is_ancestor(merging.calls, merging.repository.place, base, tip) else ""


def _settle(merging: Merging, result: MergeResult) -> MergeResult:
    forget_mark(merging.calls, merging.repository.place, merging.mark)
    return result


def forget_mark(calls: GitCalls, place: GitPlace, mark: str) -> None:
    calls.run(["update-ref", "-d", mark], place=place)


def _result(merging: Merging, before: str, after: str) -> MergeResult:
    calls, place = merging.calls, merging.repository.place
    total = int(calls.run(["rev-list", "--count", f"{before}..{after}"], place=place).line)
    arguments = ["log", f"-n{MAX_FILES_NAMED}", "--no-show-signature", "--format=%h %s", "-z", f"{before}..{after}"]
    listed = calls.run(arguments, place=place)
    files = changed_files(calls, place, before, after)
    return MergeResult(
        target=merging.target,
        before=before,
        after=after,
        commits_total=total,
        commits=tuple(line for line in os.fsdecode(listed.stdout).split("\0") if line),
        files_total=len(files),
        files=tuple(files[:MAX_FILES_NAMED]),
    )
