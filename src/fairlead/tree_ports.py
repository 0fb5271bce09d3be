"""The part of the ports about the files of projects: snapshots of a work tree, and what changed between two."""

from collections.abc import Mapping, Sequence
from typing import Final, Protocol

import msgspec

from fairlead.core.trees import FileChange, TreeChanges, TreeSnapshot, UndoPlan
from fairlead.errors import Code, error


class TreeCost(msgspec.Struct, frozen=True, kw_only=True):
    """What the snapshots of one project take: `own_bytes` in the state directory, `project_bytes` in the project's own
    repository, for them alone. `counted_for` is another project with the same repository, at which that is counted."""

    project_path: str
    refs: int
    own_bytes: int = 0
    project_bytes: int = 0
    counted_for: str = ""


class WorkTrees(Protocol):
    """A project is named by its directory. Everything about one project happens in the order of the calls. Raises
    FairleadError: E_SNAPSHOT for what has no reason of its own, E_DISK_FULL, E_SNAPSHOT_GONE."""

    def takes_snapshots(self, project_path: str) -> bool:
        """False where there is never one."""
        ...

    async def snapshot(
        self, project_path: str, label: str, *, limit_sec: float | None = None, begins: str = ""
    ) -> TreeSnapshot | None:
        """The files as they are now; None where no snapshots are taken. Nothing of the person's repository changes but
        its objects. Nobody has promised to keep it before `keep`. `label` is for people who look at it with git. With
        `begins`, it is that of the start of this job's turn: where the turn runs on another machine, that machine takes
        it with the turn, and this returns when it has told so."""
        ...

    def find_unchanged(self, project_path: str) -> TreeSnapshot | None:
        """At once: the last snapshot, if it is certain that the files are still so; None also if to tell would take
        longer than a moment."""
        ...

    async def keep(self, project_path: str, commits: Mapping[str, str]) -> None:
        """Keep these snapshots, each under a name of its own, until it is forgotten."""
        ...

    async def keep_only(self, family: str, commits: Mapping[str, Mapping[str, str]]) -> None:
        """By project, the snapshots that are still needed, with their names: those that are not kept yet are kept now.
        All others that begin with `family` are given up, also those of projects not named."""
        ...

    async def list_changes(self, project_path: str, before: str, after: str) -> tuple[FileChange, ...]:
        """From one commit to another: the files alone."""
        ...

    async def show_changes(self, project_path: str, before: str, after: str) -> TreeChanges: ...

    async def plan_undo(self, project_path: str, steps: Sequence[tuple[str, str]], label: str) -> UndoPlan:
        """What the files become if each step is taken back, from its first commit to its second, in this order."""
        ...

    async def restore(self, project_path: str, before: str, after: str) -> tuple[str, ...]:
        """Bring the paths that differ between two commits from the first to the second. Returns those that were left
        because they are as in neither. It may be repeated; what is done stays."""
        ...

    async def costs(self) -> list[TreeCost]: ...


class _NoTrees:  # where there is no git: every method of the port, and no snapshot
    def takes_snapshots(self, *_: object, **__: object) -> bool:
        return False

    async def snapshot(self, *_: object, **__: object) -> TreeSnapshot | None:
        return None

    async def keep(self, *_: object, **__: object) -> None:
        pass

    async def keep_only(self, *_: object, **__: object) -> None:
        pass

    def find_unchanged(self, *_: object, **__: object) -> TreeSnapshot | None:
        return None

    async def list_changes(self, *_: object, **__: object) -> tuple[FileChange, ...]:
        return ()

    async def show_changes(self, *_: object, **__: object) -> TreeChanges:
        return TreeChanges()

    async def plan_undo(self, *_: object, **__: object) -> UndoPlan:
        raise error(Code.E_SNAPSHOT_GONE)

    async def restore(self, *_: object, **__: object) -> tuple[str, ...]:
        raise error(Code.E_SNAPSHOT_GONE)

    async def costs(self) -> list[TreeCost]:
        return []


NO_TREES: Final = _NoTrees()
"""Where no snapshots are taken."""
