"""`WorkTrees` of the ports with the real git: one private repository and one lock for each project."""

import asyncio
import os
import shutil
from collections.abc import AsyncGenerator, Callable, Container, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final, TypeVar

from fairlead.core.trees import FileChange, TreeChanges, TreeSnapshot, UndoPlan
from fairlead.errors import Code, FairleadError, error
from fairlead.git.command import Git, GitCalls, GitFailed, GitMissing
from fairlead.git.file_names import show_name
from fairlead.git.private_repository import PROJECT_NAME, PrivateRepository, directory_for, recall
from fairlead.git.project_repository import NoWorkTree, find_repository, sign
from fairlead.git.tree_snapshots import (
    OUR_REFS,
    TooMuch,
    find_commits,
    find_unchanged,
    forget,
    keep,
    list_refs,
    measure,
    take_snapshot,
)
from fairlead.git.tree_status import FileLimits
from fairlead.observe import log
from fairlead.tree_ports import TreeCost

T = TypeVar("T")

TREES_NAME: Final = "trees"
_NO_ROOM: Final = "No space left"
_GONE: Final = ("bad object", "unable to read", "Not a valid object name", "unknown revision", "bad tree")

Steps = Callable[[GitCalls, PrivateRepository], T]


class GitWorkTrees:
    """`home` is where the person's own git configuration lies: of it, the rules of ignoring count."""

    def __init__(self, git: Git, state_dir: Path, *, limits: FileLimits, home: Path) -> None:
        self._git = git
        self._trees = state_dir / TREES_NAME
        self._limits = limits
        self._home = str(home)
        self._open: dict[str, PrivateRepository] = {}
        self._locks: dict[str, asyncio.Lock] = {}
        self._in_files: set[str] = set()

    def takes_snapshots(self, project_path: str) -> bool:  # noqa: ARG002 - the port's shape
        return True

    async def snapshot(
        self, project_path: str, label: str, *, limit_sec: float | None = None, begins: str = ""
    ) -> TreeSnapshot | None:
        del begins  # only another machine must know whose turn it is

        def take(calls: GitCalls, repository: PrivateRepository) -> TreeSnapshot:
            return take_snapshot(calls, repository, self._limits, label)

        return await self.work(project_path, take, limit_sec=limit_sec)

    def find_unchanged(self, project_path: str) -> TreeSnapshot | None:
        known = self._open.get(project_path)
        if known is None or not known.is_quick or project_path in self._in_files:
            return None
        return find_unchanged(known) if self._is_current(known, project_path) else None

    async def keep(self, project_path: str, commits: Mapping[str, str]) -> None:
        refs = {f"{OUR_REFS}/{name}": commit for name, commit in commits.items()}
        await self.work(project_path, lambda calls, repository: keep(calls, repository, refs), is_for_files=False)

    async def list_changes(self, project_path: str, before: str, after: str) -> tuple[FileChange, ...]:
        def read(calls: GitCalls, repository: PrivateRepository) -> tuple[FileChange, ...]:
            from fairlead.git.tree_diff import list_changes

            return list_changes(calls, repository, before, after)

        return await self.work(project_path, read, is_for_files=False)

    async def show_changes(self, project_path: str, before: str, after: str) -> TreeChanges:
        def read(calls: GitCalls, repository: PrivateRepository) -> TreeChanges:
            from fairlead.git.tree_diff import show_changes

            return show_changes(calls, repository, before, after)

        return await self.work(project_path, read, is_for_files=False)

    async def plan_undo(self, project_path: str, steps: Sequence[tuple[str, str]], label: str) -> UndoPlan:
        def plan(calls: GitCalls, repository: PrivateRepository) -> UndoPlan:
            from fairlead.git.tree_diff import list_changes
            from fairlead.git.tree_undo import plan_files

            before = take_snapshot(calls, repository, self._limits, label)
            planned = plan_files(calls, repository, before.commit, steps, label)
            conflicts, left = (tuple(map(show_name, paths)) for paths in (planned.conflicts, planned.left))
            if not planned.after:
                return UndoPlan(before=before, conflicts=conflicts, left=left)
            files = list_changes(calls, repository, before.commit, planned.after)
            return UndoPlan(before=before, after=planned.after, files=files, left=left)

        return await self.work(project_path, plan)

    async def restore(self, project_path: str, before: str, after: str) -> tuple[str, ...]:
        def bring(calls: GitCalls, repository: PrivateRepository) -> tuple[str, ...]:
            from fairlead.git.tree_restore import restore

            return tuple(map(show_name, restore(calls, repository, before, after)))

        return await self.work(project_path, bring)

    async def keep_only(self, family: str, commits: Mapping[str, Mapping[str, str]]) -> None:
        """Projects may share a repository, as a worktree does with the one that it is of: what any of them needs stays
        in all of them."""
        needed = {
            project: {f"{OUR_REFS}/{name}": commit for name, commit in named.items()}
            for project, named in commits.items()
        }
        everywhere = frozenset(ref for refs in needed.values() for ref in refs)
        for project in await asyncio.to_thread(self._list_projects):
            settle = _settling(f"{OUR_REFS}/{family}/", needed.get(project, {}), everywhere)
            try:
                await self.work(project, settle, is_for_files=False)
            except (FairleadError, OSError) as fault:  # they are given up at the next look
                log.info("snapshots stay", project_path=project, message=str(fault))
                continue
            if not needed.get(project):
                await self._remove(project)

    async def costs(self) -> list[TreeCost]:
        """Looks beside a daemon that may be at work, so it opens nothing."""
        projects = await asyncio.to_thread(self._list_projects)
        first: dict[str, str] = {}
        for project in projects:
            first.setdefault(self._recall(project).refs_place.directory, project)
        counted = frozenset(first.values())
        return [
            await self._cost_of(
                project, "" if project in counted else first[self._recall(project).refs_place.directory]
            )
            for project in projects
        ]

    async def work(
        self, project: str, steps: Steps[T], *, limit_sec: float | None = None, is_for_files: bool = True
    ) -> T:
        """Carry out `steps` while nobody else works on this project. The time limit includes the waiting for them. What
        is not for its files is also done for a project that is gone."""
        try:
            async with asyncio.timeout(limit_sec), self._alone(project, is_for_files=is_for_files):
                return await self._git.work(
                    lambda calls: steps(calls, self._repository_of(calls, project, is_for_files=is_for_files))
                )
        except TimeoutError:
            raise error(Code.E_SNAPSHOT, f"It took longer than {limit_sec:.0f} s.") from None
        except (GitFailed, GitMissing, NoWorkTree, TooMuch, OSError) as fault:
            raise _explain(fault) from fault

    @asynccontextmanager
    async def _alone(self, project: str, *, is_for_files: bool) -> AsyncGenerator[None]:
        """Work on files changes what `find_unchanged` looks at; work on refs alone does not stand in its way."""
        async with self._locks.setdefault(project, asyncio.Lock()):
            if is_for_files:
                self._in_files.add(project)
            try:
                yield
            finally:
                self._in_files.discard(project)

    def _repository_of(self, calls: GitCalls, project: str, *, is_for_files: bool) -> PrivateRepository:
        """In the thread. The repository is looked for again when one was made or removed since."""
        known = self._open.get(project)
        if known is not None and self._is_current(known, project):
            return known
        if not Path(project).is_dir():
            return self._recall_gone(project, is_for_files=is_for_files)
        found = find_repository(calls, project, self._home)
        private = PrivateRepository(directory_for(self._trees, found), found)
        private.open(calls)
        self._open[project] = private
        return private

    def _recall_gone(self, project: str, *, is_for_files: bool) -> PrivateRepository:
        if is_for_files or not self._directories_of(project):
            raise NoWorkTree(f"The directory {show_name(project)} is not there any more.")
        return self._recall(project)

    def _recall(self, project: str) -> PrivateRepository:
        """The newest, where it has had one with a repository of its own and one without."""
        return recall(max(self._directories_of(project), key=lambda path: path.stat().st_mtime), project)

    def _is_current(self, known: PrivateRepository, project: str) -> bool:
        is_there = os.path.exists(known.directory)  # noqa: PTH110 - before every turn, where a Path takes longer
        return is_there and known.repository.signature == sign(project)

    def _list_projects(self) -> list[str]:
        """Those that have a private repository."""
        named = self._trees.glob(f"*/{PROJECT_NAME}")
        return sorted({os.fsdecode(path.read_bytes()) for path in named})

    def _directories_of(self, project: str) -> list[Path]:
        named = self._trees.glob(f"*/{PROJECT_NAME}")
        return [path.parent for path in named if os.fsdecode(path.read_bytes()) == project]

    async def _remove(self, project: str) -> None:
        async with self._locks.setdefault(project, asyncio.Lock()):
            self._open.pop(project, None)
            for directory in await asyncio.to_thread(self._directories_of, project):
                await asyncio.to_thread(shutil.rmtree, directory, ignore_errors=True)
        self._locks.pop(project, None)

    async def _cost_of(self, project: str, counted_for: str) -> TreeCost:
        here = await asyncio.to_thread(lambda: sum(map(_size_of, self._directories_of(project))))
        if counted_for:
            return TreeCost(project_path=project, refs=0, own_bytes=here, counted_for=counted_for)

        def measure_all(calls: GitCalls) -> tuple[int, int]:
            repository = self._recall(project)
            refs = list_refs(calls, repository, f"{OUR_REFS}/")
            return len(refs), measure(calls, repository, list(refs))

        try:
            refs, in_project = await self._git.work(measure_all)
        except (GitFailed, OSError):
            refs, in_project = 0, 0
        return TreeCost(project_path=project, refs=refs, own_bytes=here, project_bytes=in_project)


def _settling(below: str, needed: Mapping[str, str], everywhere: Container[str]) -> Steps[None]:
    """Keep what is needed here, and give up what is needed nowhere."""

    def settle(calls: GitCalls, repository: PrivateRepository) -> None:
        there = list_refs(calls, repository, below)
        missing = find_commits(calls, repository, {ref: commit for ref, commit in needed.items() if ref not in there})
        if missing:
            keep(calls, repository, missing)
        gone = [ref for ref in there if ref not in everywhere]
        if gone:
            forget(calls, repository, gone)

    return settle


def _size_of(directory: Path) -> int:
    return sum(path.lstat().st_size for path in directory.rglob("*"))


def _explain(fault: Exception) -> FairleadError:
    words = str(fault)
    if (isinstance(fault, GitFailed) and fault.is_disk_full) or _NO_ROOM in words:
        return error(Code.E_DISK_FULL, "The disk with the snapshot is full.")
    if isinstance(fault, GitFailed) and any(word in words for word in _GONE):
        return error(Code.E_SNAPSHOT_GONE)
    return error(Code.E_SNAPSHOT, words)
