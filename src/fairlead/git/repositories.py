"""What stands in a repository and its work trees: where it is, what is checked out, what is not committed. Only reads.

What an agent can write is not followed: a command in a worktree gets repository and work tree by name, and reads the
configuration of `safe_common_dir`, not that of the repository.
"""

import os
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec

from fairlead.errors import Code, FairleadError, error
from fairlead.git.command import GitCalls, GitFailed, GitPlace
from fairlead.git.person_config import NO_PERSON, PersonConfig
from fairlead.git.safe_common_dir import safe_common_dir

_TEMPORARY_HEAD: Final = {"rebase-merge": "a rebase", "rebase-apply": "a rebase", "BISECT_LOG": "a bisection"}
"""What git leaves in its directory while HEAD is only somewhere in between."""
_UNFINISHED: Final = {
    **_TEMPORARY_HEAD,
    "MERGE_HEAD": "a merge",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
}
_RENAMED: Final = "RC"
_IGNORED: Final = "!!"
_HEADS: Final = "refs/heads/"


class Repository(msgspec.Struct, frozen=True, kw_only=True):
    """The repository of a project. `top` is the work tree that the project lies in, and `prefix` where the project lies
    below it. `branch` is empty while no branch is checked out. `safe_dir` is that of `safe_common_dir`."""

    top: str
    prefix: str
    git_dir: str
    common_dir: str
    safe_dir: str
    head: str
    branch: str
    config: tuple[tuple[str, str], ...] = ()
    variables: Mapping[str, str] = {}

    @property
    def place(self) -> GitPlace:
        """Where a command in the project's own work tree runs."""
        return self._place(self.top, self.git_dir)

    def place_of(self, admin: "AdminDirectory") -> GitPlace:
        """Where a command in this worktree runs. What the worktree says of its repository is not read."""
        return self._place(admin.work_tree, admin.path)

    def _place(self, work_tree: str, git_dir: str) -> GitPlace:
        named = {"GIT_DIR": git_dir, "GIT_WORK_TREE": work_tree, "GIT_COMMON_DIR": self.safe_dir}
        return GitPlace(directory=work_tree, variables={**self.variables, **named}, config=self.config)

    @property
    def real_place(self) -> GitPlace:
        """For the few commands that write the repository's own path down. They touch no file of a work tree, so they
        run no program that the repository names."""
        return GitPlace(directory=self.top, config=self.config)


class StatusEntry(msgspec.Struct, frozen=True):
    """One file that differs from HEAD; `old` is its former name. A directory that is a repository ends with a slash."""

    code: str
    path: str
    old: str = ""


def unavailable(message: str, next_step: str = "") -> FairleadError:
    return error(Code.E_WORKTREE_UNAVAILABLE, message, next_step=next_step)


@contextmanager
def open_repository(calls: GitCalls, project_path: str, person: PersonConfig = NO_PERSON) -> Generator[Repository]:
    """While the block lasts. Raises E_WORKTREE_UNAVAILABLE that says what is missing."""
    place = GitPlace(directory=project_path)
    if _ask(calls, place, "--is-bare-repository", why=f"{project_path} is not in a git repository.") == "true":
        raise unavailable(f"{project_path} is a bare repository, which has no files to work on.")
    top = _ask(calls, place, "--show-toplevel", why=f"{project_path} is inside of a .git directory.")
    common = os.path.realpath(_ask(calls, place, "--git-common-dir"))
    git_dir = os.path.realpath(_ask(calls, place, "--absolute-git-dir"))
    _check_is_its_own(top, git_dir, common)
    head = calls.run(["rev-parse", "-q", "--verify", "HEAD^{commit}"], place=place, codes=(0, 1, 128))
    if head.code:
        raise unavailable(f"The repository {top} has no commits yet.", "Commit something first.")
    with safe_common_dir(calls, common, git_dir) as safe_dir:
        yield Repository(
            top=top,
            prefix=_ask(calls, place, "--show-prefix").rstrip("/"),
            git_dir=git_dir,
            common_dir=common,
            safe_dir=safe_dir,
            head=head.line,
            branch=current_branch(calls, place),
            config=person.config,
            variables=person.variables,
        )


def _ask(calls: GitCalls, place: GitPlace, what: str, why: str = "") -> str:
    try:
        return calls.run(["rev-parse", "--path-format=absolute", what], place=place).line
    except GitFailed as failed:
        raise unavailable(why or f"git does not understand {place.directory}: {_words(failed)}") from failed


def _words(failed: GitFailed) -> str:
    return " ".join(failed.stderr.split())[:300]


def _check_is_its_own(top: str, git_dir: str, common: str) -> None:
    """A repository that lies elsewhere must know this work tree: an agent that can write here alone could otherwise
    lead us, by a `.git` file, to a repository that is none of its business."""
    if Path(common).is_relative_to(os.path.realpath(top)):
        return
    try:
        known = (Path(git_dir) / "gitdir").read_text(encoding="utf-8", errors="surrogateescape").strip()
    except OSError:
        known = ""
    if not known or os.path.realpath(known) != os.path.realpath(os.path.join(top, ".git")):  # noqa: PTH118 - text
        raise unavailable(
            f"The repository of {top} lies outside of it, in {common}.",
            "A worktree needs a project whose .git is its own, or one that was made with `git worktree add`.",
        )


def current_branch(calls: GitCalls, place: GitPlace) -> str:
    """Without refs/heads/; empty while HEAD is detached."""
    found = calls.run(["symbolic-ref", "-q", "HEAD"], place=place, codes=(0, 1))
    return found.line.removeprefix(_HEADS) if found.line.startswith(_HEADS) else ""


def commit_at(calls: GitCalls, place: GitPlace, name: str) -> str:
    """The commit that a full name leads to; empty if there is none."""
    found = calls.run(["rev-parse", "-q", "--verify", f"{name}^{{commit}}"], place=place, codes=(0, 1, 128))
    return found.line if found.code == 0 else ""


def is_ancestor(calls: GitCalls, place: GitPlace, older: str, newer: str) -> bool:
    return calls.run(["merge-base", "--is-ancestor", older, newer], place=place, codes=(0, 1)).code == 0


def branches(calls: GitCalls, place: GitPlace, prefix: str) -> frozenset[str]:
    found = calls.run(["for-each-ref", "--format=%(refname)", f"{_HEADS}{prefix}"], place=place)
    return frozenset(name.removeprefix(_HEADS) for name in os.fsdecode(found.stdout).splitlines())


def find_unfinished(git_dir: str) -> str:
    """What git is in the middle of, in words; empty if in nothing."""
    return next((words for name, words in _UNFINISHED.items() if (Path(git_dir) / name).exists()), "")


def has_temporary_head(git_dir: str) -> str:
    return next((words for name, words in _TEMPORARY_HEAD.items() if (Path(git_dir) / name).exists()), "")


def status(calls: GitCalls, place: GitPlace, *, ignored: bool = False) -> list[StatusEntry]:
    """Every file that differs from HEAD, untracked ones each by its name; ignored ones only if they are asked for."""
    arguments = ["status", "--porcelain=v1", "-z", "--untracked-files=all", "--ignore-submodules=dirty"]
    found = calls.run([*arguments, *(["--ignored=matching"] if ignored else [])], place=place)
    return list(_parse_status(os.fsdecode(found.stdout).split("\0")))


def _parse_status(fields: list[str]) -> Iterable[StatusEntry]:
    left = iter(fields)
    for field in left:
        if not field:
            continue
        code, path = field[:2], field[3:]
        yield StatusEntry(code, path, next(left, "") if code[0] in _RENAMED or code[1] in _RENAMED else "")


def split_ignored(entries: Iterable[StatusEntry]) -> tuple[list[StatusEntry], int]:
    """The files that matter, and how many are ignored."""
    kept = list(entries)
    return [e for e in kept if e.code != _IGNORED], sum(e.code == _IGNORED for e in kept)


def changed_files(calls: GitCalls, place: GitPlace, old: str, new: str) -> list[str]:
    found = calls.run(["diff", "--name-only", "--no-renames", "-z", old, new], place=place)
    return [name for name in os.fsdecode(found.stdout).split("\0") if name]


class AdminDirectory(msgspec.Struct, frozen=True, kw_only=True):
    """What a repository has on one of its worktrees. `is_unfinished`: git was ended while it made it."""

    path: str
    work_tree: str
    is_unfinished: bool = False


def find_admin(common_dir: str, work_tree: str) -> AdminDirectory | None:
    """That of the worktree at this path, whether the worktree is there or not."""
    try:
        admins = sorted((Path(common_dir) / "worktrees").iterdir())
    except OSError:
        return None
    wanted = os.path.join(os.path.realpath(os.path.dirname(work_tree)), os.path.basename(work_tree))  # noqa: PTH118, PTH119, PTH120 - it may be gone
    for admin in admins:
        found = _first_line(admin / "gitdir")
        if found and found.removesuffix("/.git") in {work_tree, wanted}:
            initializing = _first_line(admin / "locked") == "initializing"
            return AdminDirectory(path=str(admin), work_tree=work_tree, is_unfinished=initializing)
    return None


def _first_line(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="surrogateescape").rstrip("\n")
    except OSError:
        return ""


def checked_out_at(calls: GitCalls, place: GitPlace, branch: str) -> list[str]:
    """The work trees, by their paths, that have this branch checked out."""
    listed = os.fsdecode(calls.run(["worktree", "list", "--porcelain", "-z"], place=place).stdout)
    found: list[str] = []
    for record in listed.split("\0\0"):
        lines = [line.partition(" ") for line in record.split("\0") if line]
        fields = {name: value for name, _, value in lines}
        if fields.get("branch") == f"{_HEADS}{branch}":
            found.append(fields.get("worktree", ""))
    return found
