"""Directories here and on other machines. What must be told at once is told of this machine alone: a runner looks for
itself before it runs a turn."""

from fairlead.core.decide.projects import DirectoryFacts
from fairlead.core.machines.places import machine_of, path_there, place
from fairlead.machines.hub import Machines
from fairlead.ports import Directories


class DirectoriesAcross:
    """ports.Directories. A path on another machine was resolved there when its project was added."""

    def __init__(self, local: Directories, machines: Machines | None = None) -> None:
        self._local = local
        self._machines = machines

    async def look(self, path: str) -> DirectoryFacts:
        machine = machine_of(path)
        if not machine or self._machines is None:
            return await self._local.look(path)
        facts: DirectoryFacts = await self._machines.find(machine).call(
            "directories.inspect", DirectoryFacts, path=path_there(path)
        )
        return DirectoryFacts(place(machine, facts.given), place(machine, facts.real_path), facts.problem)

    def inspect(self, path: str) -> DirectoryFacts:
        return DirectoryFacts(path, path) if machine_of(path) else self._local.inspect(path)

    def problem_at(self, real_path: str) -> str:
        return "" if machine_of(real_path) else self._local.problem_at(real_path)

    def subdirectories(self, path: str) -> list[str]:
        return [] if machine_of(path) else self._local.subdirectories(path)

    async def files_below(self, path: str, typed: str) -> list[str]:
        machine = machine_of(path)
        if not machine or self._machines is None:
            return await self._local.files_below(path, typed)
        return await self._machines.find(machine).call(
            "directories.files_below", list[str], path=path_there(path), typed=typed
        )

    def real_path(self, path: str) -> str:
        return path if machine_of(path) else self._local.real_path(path)
