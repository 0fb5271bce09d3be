"""Worktrees of sessions, here and on other machines: git works where the project is."""

from collections.abc import Container
from typing import Any

import msgspec

from fairlead.core.machines.places import machine_of, path_there, place
from fairlead.core.worktrees import KeptWork, MadeWorktree, MergeResult, Worktree, WorktreeWork
from fairlead.errors import Code, error
from fairlead.machines.hub import Machines
from fairlead.machines.machine_calls import RefusedCall
from fairlead.ports import MergeConflict, TakenBranch, Worktrees


class WorktreesAcross:
    """ports.Worktrees. The directory of a worktree on another machine is there too, below its runner's own."""

    def __init__(self, local: Worktrees, machines: Machines) -> None:
        self._local = local
        self._machines = machines

    async def taken_branches(self, project_path: str) -> frozenset[str]:
        machine = machine_of(project_path)
        if not machine:
            return await self._local.taken_branches(project_path)
        return await self._call(machine, "taken_branches", frozenset[str], project_path=path_there(project_path))

    async def make(self, worktree: Worktree) -> MadeWorktree:
        machine = machine_of(worktree.repository)
        if not machine:
            return await self._local.make(worktree)
        made: MadeWorktree = await self._call(machine, "make", MadeWorktree, worktree=_there(worktree))
        return msgspec.structs.replace(made, directory=place(machine, made.directory))

    async def look(self, worktree: Worktree) -> WorktreeWork:
        machine = machine_of(worktree.repository)
        if not machine:
            return await self._local.look(worktree)
        return await self._call(machine, "look", WorktreeWork, worktree=_there(worktree))

    async def merge(self, worktree: Worktree) -> MergeResult:
        machine = machine_of(worktree.repository)
        if not machine:
            return await self._local.merge(worktree)
        return await self._call(machine, "merge", MergeResult, worktree=_there(worktree))

    async def discard(self, worktree: Worktree) -> KeptWork | None:
        machine = machine_of(worktree.repository)
        if not machine:
            return await self._local.discard(worktree)
        return await self._call(machine, "discard", KeptWork | None, worktree=_there(worktree))

    async def forget_kept(self, project_path: str, needed: Container[str]) -> None:
        """On another machine a later round does it: the refs are asked for there, and here is what is needed."""
        if not machine_of(project_path):
            await self._local.forget_kept(project_path, needed)

    def problem_at(self, worktree: Worktree) -> str:
        return "" if machine_of(worktree.repository) else self._local.problem_at(worktree)

    async def _call(self, machine: str, name: str, result: Any, **args: Any) -> Any:
        try:
            return await self._machines.find(machine).call(f"worktrees.{name}", result, **args)
        except RefusedCall as refused:
            raise _as_before(refused) from None


def _there(worktree: Worktree) -> Worktree:
    """As the other machine knows it."""
    return msgspec.structs.replace(
        worktree,
        repository=path_there(worktree.repository),
        path=path_there(worktree.path),
        directory=path_there(worktree.directory),
    )


def _as_before(refused: RefusedCall) -> Exception:
    """The two refusals that are no FairleadError: they carry what the caller needs."""
    details = refused.details
    if "branches" in details:
        return TakenBranch(frozenset(details["branches"]))
    if "files" in details:
        return MergeConflict(details["target"], tuple(details["files"]))
    return error(Code(refused.code), refused.message)
