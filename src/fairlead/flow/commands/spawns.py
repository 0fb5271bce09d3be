"""The command `spawn`: a session of its own for a task."""

from fairlead.core import requests as ask
from fairlead.core.replies import Spawned
from fairlead.core.requests import Caller
from fairlead.errors import FairleadError
from fairlead.flow.commands.parts import CommandParts, HandlerTable
from fairlead.flow.spawns.spawning import PersonAsks


def spawn_handlers(parts: CommandParts) -> HandlerTable:
    return {ask.Spawn: SpawnCommands(parts).spawn}


class SpawnCommands:
    def __init__(self, parts: CommandParts) -> None:
        self._parts = parts

    async def spawn(self, request: ask.Spawn, caller: Caller) -> Spawned:
        """Returns when the task waits for its turn."""
        await self._parts.agent_runtimes.look_again()
        if request.worktree:
            project = self._parts.project_to_work_in(caller, request.project or None)
            if not isinstance(project, FairleadError):
                await self._parts.worktrees.git.taken_branches(
                    project.path
                )  # raises if the project can have no worktrees
        return await self._parts.spawning.spawn_session(
            PersonAsks(caller),
            task=request.task,
            asked_by=request.asked_by,
            project=request.project,
            agent=request.agent,
            worktree=request.worktree,
        )
