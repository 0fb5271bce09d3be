"""The files of projects, here and on other machines: snapshots, changes, undo; and files that agents send. Git runs
where the files are; only what people see travels."""

from collections.abc import Mapping, Sequence

from fairlead.core.machines.places import machine_of, path_there, place
from fairlead.core.trees import FileChange, TreeChanges, TreeSnapshot, UndoPlan
from fairlead.errors import Code, FairleadError, error
from fairlead.machines.hub import Machines
from fairlead.observe import log
from fairlead.ports import ProjectFile, ProjectFiles
from fairlead.tree_ports import TreeCost, WorkTrees


class TreesAcross:
    """tree_ports.WorkTrees. A machine that is away has no snapshots now: its turns go on without."""

    def __init__(self, local: WorkTrees, machines: Machines) -> None:
        self._local = local
        self._machines = machines

    def takes_snapshots(self, project_path: str) -> bool:
        return bool(machine_of(project_path)) or self._local.takes_snapshots(project_path)

    async def snapshot(
        self, project_path: str, label: str, *, limit_sec: float | None = None, begins: str = ""
    ) -> TreeSnapshot | None:
        machine = machine_of(project_path)
        if not machine:
            return await self._local.snapshot(project_path, label, limit_sec=limit_sec)
        if begins:
            return await self._machines.find(machine).expect_snapshot(begins, label, limit_sec or 0.0)
        return await self._machines.find(machine).call(
            "trees.snapshot",
            TreeSnapshot | None,
            project_path=path_there(project_path),
            label=label,
            limit_sec=limit_sec,
        )

    def find_unchanged(self, project_path: str) -> TreeSnapshot | None:
        return None if machine_of(project_path) else self._local.find_unchanged(project_path)

    async def keep(self, project_path: str, commits: Mapping[str, str]) -> None:
        machine = machine_of(project_path)
        if not machine:
            await self._local.keep(project_path, commits)
            return
        try:
            await self._machines.find(machine).call(
                "trees.keep", type(None), project_path=path_there(project_path), commits=dict(commits)
            )
        except FairleadError as away:  # the next round of `keep_only` does it
            log.warning("snapshots are not kept yet", machine=machine, message=away.message)

    async def keep_only(self, family: str, commits: Mapping[str, Mapping[str, str]]) -> None:
        """Each machine is told of its own. One that is away is told by a later round: until then it keeps too much, and
        nothing too little."""
        here = {path: kept for path, kept in commits.items() if not machine_of(path)}
        await self._local.keep_only(family, here)
        for machine in self._machines.names:
            there = {path_there(path): dict(kept) for path, kept in commits.items() if machine_of(path) == machine}
            if self._machines.is_usable(machine):
                await self._machines.find(machine).call("trees.keep_only", type(None), family=family, commits=there)

    async def list_changes(self, project_path: str, before: str, after: str) -> tuple[FileChange, ...]:
        machine = machine_of(project_path)
        if not machine:
            return await self._local.list_changes(project_path, before, after)
        return await self._machines.find(machine).call(
            "trees.list_changes",
            tuple[FileChange, ...],
            project_path=path_there(project_path),
            before=before,
            after=after,
        )

    async def show_changes(self, project_path: str, before: str, after: str) -> TreeChanges:
        machine = machine_of(project_path)
        if not machine:
            return await self._local.show_changes(project_path, before, after)
        return await self._machines.find(machine).call(
            "trees.show_changes", TreeChanges, project_path=path_there(project_path), before=before, after=after
        )

    async def plan_undo(self, project_path: str, steps: Sequence[tuple[str, str]], label: str) -> UndoPlan:
        machine = machine_of(project_path)
        if not machine:
            return await self._local.plan_undo(project_path, steps, label)
        return await self._machines.find(machine).call(
            "trees.plan_undo", UndoPlan, project_path=path_there(project_path), steps=tuple(steps), label=label
        )

    async def restore(self, project_path: str, before: str, after: str) -> tuple[str, ...]:
        machine = machine_of(project_path)
        if not machine:
            return await self._local.restore(project_path, before, after)
        return await self._machines.find(machine).call(
            "trees.restore", tuple[str, ...], project_path=path_there(project_path), before=before, after=after
        )

    async def costs(self) -> list[TreeCost]:
        """Of the machines that are there."""
        found = await self._local.costs()
        for machine in self._machines.names:
            if self._machines.is_usable(machine):
                there = await self._machines.find(machine).call("trees.costs", list[TreeCost])
                found += [
                    TreeCost(
                        project_path=place(machine, cost.project_path),
                        refs=cost.refs,
                        own_bytes=cost.own_bytes,
                        project_bytes=cost.project_bytes,
                    )
                    for cost in there
                ]
        return found


class FilesAcross:
    """ports.ProjectFiles."""

    def __init__(self, local: ProjectFiles, machines: Machines) -> None:
        self._local = local
        self._machines = machines

    async def read(self, project_path: str, path: str, largest: int) -> ProjectFile:
        machine = machine_of(project_path)
        if not machine:
            return await self._local.read(project_path, path, largest)
        found: ProjectFile = await self._machines.find(machine).call(
            "files.read", ProjectFile, project_path=path_there(project_path), path=path, largest=largest
        )
        if len(found.data) > largest:  # the other machine may be anybody's
            raise error(Code.E_MESSAGE_TOO_LARGE, f"{path[:100]} has {len(found.data)} bytes; the limit is {largest}.")
        return found
