"""Worktrees of sessions by the real git: `ports.Worktrees`. The steps are in `worktree_making`,
`worktree_merging` and `worktree_discarding`; here are the errors that people read, and one repository at a time."""

import asyncio
import os
from collections import defaultdict
from collections.abc import Callable, Container, Mapping
from pathlib import Path
from typing import Final, TypeVar

from fairlead.core.worktrees import BRANCH_PREFIX, KeptWork, MadeWorktree, MergeResult, Worktree, WorktreeWork
from fairlead.errors import Code, FairleadError, error
from fairlead.git.command import Git, GitCalls, GitFailed, GitMissing
from fairlead.git.person_config import PersonConfig, read_person_config
from fairlead.git.repositories import Repository, branches, open_repository, unavailable
from fairlead.git.worktree_discarding import discard_worktree, look_at_work
from fairlead.git.worktree_files import WorktreeFiles
from fairlead.git.worktree_making import BranchTaken, make_worktree
from fairlead.git.worktree_merging import Conflict, merge_worktree
from fairlead.ports import MergeConflict, TakenBranch

T = TypeVar("T")

LIMIT_SEC: Final = 600.0
"""For one operation: a checkout of a very large repository on a slow disk."""
_KEPT: Final = "refs/fairlead/discarded"
_MARKS: Final = "refs/fairlead/merging"


class RealWorktrees:
    """`state_id` is asked for late: a start founds it. With `are_separated`, agents are in a sandbox or run as another
    user: then no filter runs, and no repository that lies outside of its project is opened to them."""

    def __init__(
        self,
        git: Git,
        environment: Mapping[str, str],
        *,
        state_id: Callable[[], str],
        files: WorktreeFiles | None = None,
        are_separated: bool = False,
    ) -> None:
        self._git = git
        self._environment = environment
        self._state_id = state_id
        self._files = files or WorktreeFiles()
        self._are_separated = are_separated
        self._person: PersonConfig | None = None
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def taken_branches(self, project_path: str) -> frozenset[str]:
        return await self._work(
            project_path, lambda calls, repository: branches(calls, repository.place, BRANCH_PREFIX)
        )

    async def make(self, worktree: Worktree) -> MadeWorktree:
        try:
            return await self._work(
                worktree.repository,
                lambda calls, repository: make_worktree(calls, repository, worktree, self._files),
            )
        except BranchTaken as taken:
            raise TakenBranch(taken.branches) from taken

    async def look(self, worktree: Worktree) -> WorktreeWork:
        return await self._work(
            worktree.repository, lambda calls, repository: look_at_work(calls, repository, worktree)
        )

    async def merge(self, worktree: Worktree) -> MergeResult:
        mark = f"{_MARKS}/{self._state_id()}/{worktree.number}"

        def steps(calls: GitCalls, repository: Repository) -> MergeResult:
            try:
                return merge_worktree(calls, repository, worktree, mark, self._person_config(calls).committer)
            finally:
                self._files.share(worktree.path)

        try:
            return await self._work(worktree.repository, steps)
        except Conflict as conflict:
            raise MergeConflict(conflict.target, conflict.files) from conflict

    async def discard(self, worktree: Worktree) -> KeptWork | None:
        ref = f"{_KEPT}/{self._state_id()}/{worktree.number}"
        return await self._work(
            worktree.repository,
            lambda calls, repository: discard_worktree(calls, repository, worktree, ref, self._files),
        )

    async def forget_kept(self, project_path: str, needed: Container[str]) -> None:
        def steps(calls: GitCalls, repository: Repository) -> None:
            listed = calls.run(
                ["for-each-ref", "--format=%(refname)", f"{_KEPT}/{self._state_id()}/"], place=repository.place
            )
            for ref in os.fsdecode(listed.stdout).splitlines():
                if ref not in needed:
                    calls.run(["update-ref", "-d", ref], place=repository.place)

        await self._work(project_path, steps)

    def problem_at(self, worktree: Worktree) -> str:
        """Quick, because every turn asks."""
        if worktree.status == "failed":
            return worktree.error_message or worktree.error_code
        link = Path(worktree.path) / ".git"
        try:
            named = link.read_text(encoding="utf-8", errors="surrogateescape")
        except OSError:
            return f"{worktree.path} is not there any more, or is no worktree."
        admin = Path(worktree.path) / named.removeprefix("gitdir:").strip()
        is_known = (admin / "HEAD").is_file() and Path(worktree.directory).is_dir()
        return "" if is_known else f"The repository does not know the worktree {worktree.path} any more."

    # --- one repository at a time

    async def _work(self, project_path: str, steps: Callable[[GitCalls, Repository], T]) -> T:
        def all_steps(calls: GitCalls) -> T:
            with open_repository(calls, project_path, self._person_config(calls)) as repository:
                self._check_is_whole(project_path, repository)
                return steps(calls, repository)

        async with self._locks[project_path]:
            return await self._explain(project_path, all_steps)

    def _check_is_whole(self, project_path: str, repository: Repository) -> None:
        if self._are_separated and repository.prefix:
            raise unavailable(
                f"{project_path} is only a part of the repository {repository.top}, which agents here may not see.",
                "Register the repository's own directory as a project.",
            )

    def _person_config(self, calls: GitCalls) -> PersonConfig:
        if self._person is None:
            self._person = read_person_config(calls, self._environment, with_filters=not self._are_separated)
        return self._person

    async def _explain(self, project_path: str, steps: Callable[[GitCalls], T]) -> T:
        try:
            return await self._git.work(steps, limit_sec=LIMIT_SEC)
        except GitMissing as missing:
            raise unavailable(f"{missing}.", "Install git.") from missing
        except GitFailed as failed:
            if failed.is_disk_full:
                raise error(Code.E_DISK_FULL, str(failed)) from failed
            raise _git_error(project_path, str(failed)) from failed
        except TimeoutError:
            raise _git_error(project_path, f"git did not come to an end within {LIMIT_SEC:.0f} s") from None
        except OSError as fault:
            raise _git_error(project_path, f"{fault.filename or project_path}: {fault.strerror or fault}") from fault


def _git_error(project_path: str, words: str) -> FairleadError:
    safe = "".join(c if c.isprintable() else " " for c in words)
    return unavailable(f"In {project_path}: {safe}")
