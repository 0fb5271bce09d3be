"""`ports.Worktrees` for a daemon whose people may never ask for a worktree: the real ones are loaded when one does."""

from collections.abc import Callable, Container
from functools import cached_property

from fairlead.core.worktrees import KeptWork, MadeWorktree, MergeResult, Worktree, WorktreeWork
from fairlead.ports import Worktrees


class LateWorktrees:
    def __init__(self, load: Callable[[], Worktrees]) -> None:
        self._load = load

    @cached_property
    def _real(self) -> Worktrees:
        return self._load()

    async def taken_branches(self, project_path: str) -> frozenset[str]:
        return await self._real.taken_branches(project_path)

    async def make(self, worktree: Worktree) -> MadeWorktree:
        return await self._real.make(worktree)

    async def look(self, worktree: Worktree) -> WorktreeWork:
        return await self._real.look(worktree)

    async def merge(self, worktree: Worktree) -> MergeResult:
        return await self._real.merge(worktree)

    async def discard(self, worktree: Worktree) -> KeptWork | None:
        return await self._real.discard(worktree)

    async def forget_kept(self, project_path: str, needed: Container[str]) -> None:
        await self._real.forget_kept(project_path, needed)

    def problem_at(self, worktree: Worktree) -> str:
        return self._real.problem_at(worktree)
