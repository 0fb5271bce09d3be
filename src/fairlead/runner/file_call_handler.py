"""Handles the calls of the daemon about files of this machine: snapshots, changes, undo, worktrees, single files."""

from collections.abc import Awaitable, Callable
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec

from fairlead.core.worktrees import Worktree
from fairlead.errors import Code, error
from fairlead.ports import MergeConflict, ProjectFiles, TakenBranch, Worktrees
from fairlead.runner.runner import CallHandler, CallRefused
from fairlead.tree_ports import WorkTrees

Handler = Callable[..., Awaitable[Any]]


class FileCallHandler:
    """runner.runner.CallHandler: those about files, and whatever else `others` handles. Worktrees are made below
    `directory`, whatever the daemon calls them."""

    def __init__(
        self, others: CallHandler, *, trees: WorkTrees, worktrees: Worktrees, files: ProjectFiles, directory: Path
    ) -> None:
        self._others = others
        self._worktrees = worktrees
        self._directory = directory
        self._handlers: dict[str, Handler] = {
            "trees.snapshot": trees.snapshot,
            "trees.keep": trees.keep,
            "trees.keep_only": trees.keep_only,
            "trees.list_changes": trees.list_changes,
            "trees.show_changes": trees.show_changes,
            "trees.plan_undo": trees.plan_undo,
            "trees.restore": trees.restore,
            "trees.costs": trees.costs,
            "files.read": files.read,
            "worktrees.taken_branches": worktrees.taken_branches,
            "worktrees.make": self._make,
            "worktrees.look": self._look,
            "worktrees.merge": self._merge,
            "worktrees.discard": self._discard,
        }

    async def handle(self, name: str, args: dict[str, Any]) -> Any:
        handler = self._handlers.get(name)
        if handler is None:
            return await self._others.handle(name, args)
        try:
            return await handler(**args)
        except TakenBranch as taken:
            raise CallRefused(Code.E_WORKTREE_UNAVAILABLE, str(taken), branches=sorted(taken.branches)) from taken
        except MergeConflict as conflict:
            details: dict[str, Any] = {"target": conflict.target, "files": list(conflict.files)}
            raise CallRefused(Code.E_MERGE_CONFLICT, str(conflict), **details) from conflict

    async def _make(self, worktree: Any) -> Any:
        return await self._worktrees.make(self._read(worktree))

    async def _look(self, worktree: Any) -> Any:
        return await self._worktrees.look(self._read(worktree))

    async def _merge(self, worktree: Any) -> Any:
        return await self._worktrees.merge(self._read(worktree))

    async def _discard(self, worktree: Any) -> Any:
        return await self._worktrees.discard(self._read(worktree))

    def _read(self, raw: Any) -> Worktree:
        """The daemon names a worktree's directory relative to this machine's own; nothing else is let through."""
        worktree = msgspec.convert(raw, Worktree)
        path = PurePosixPath(worktree.path)
        if path.is_absolute() or ".." in path.parts:
            raise error(Code.E_INVALID_PATH, f"{worktree.path[:200]} is no place for a worktree.")
        return msgspec.structs.replace(worktree, path=str(self._directory / path))
