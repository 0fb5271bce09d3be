"""People of the simulator whose agents change files, and who take that back and bring it back, across crashes."""

import asyncio
from random import Random
from typing import Final

from fairlead.core.engine import Invocation
from fairlead.core.requests import Changes, Redo, Request, Undo
from fairlead.testing.mishaps import Mishaps
from fairlead.testing.people import Clicker, Fetcher
from fairlead.testing.steer_people import Steerer
from fairlead.testing.trees import FakeTrees
from fairlead.testing.world import JOURNAL, Actor, Life, World

_WORK: Final = "work on "
_FILES: Final = ("a.py", "b.py", "c.py")
_ENDS: Final = ("", "\n/slow 4", "\n/tool Edit x", "\n/tool Edit x\n/slow 4")
_REQUESTS: Final[tuple[Request, ...]] = (
    *(Undo(), Undo(), Undo(), Redo(), Redo()),
    *(Undo(what="files"), Undo(what="talk"), Undo("1", turns="since"), Changes(), Changes("session")),
)


_SLOWNESS: Final = 12
"""A look at many files takes longer than a write to the journal, and to write them even longer."""
_CRASHES: Final = 0.2
"""Of so many undos, the daemon ends while they write files or soon after."""


class WatchedTrees(FakeTrees):
    """Files that outlive the daemon. Writing them at the wrong moment is accused."""

    def __init__(self, world: World) -> None:
        super().__init__()
        self._world = world
        self.latency = lambda: (_SLOWNESS if self._undoing_in != world.lives else 8 * _SLOWNESS) * world.latency()
        self.worked: dict[str, tuple[str, int]] = {}
        """By job, the file that its agent wrote last, and in which life."""
        self._undoing_in = 0
        self._random = Random(f"{world.seed}/undos")

    def work(self, invocation: Invocation) -> None:
        """What the agent of this turn does to the files: the name of the job stands in the one that it changed."""
        if self._undoing_in == self._world.lives:
            self._world.accuse(f"{invocation.job_id} changed files while an undo wrote them")
        _, said, rest = invocation.prompt.partition(_WORK)
        if said:
            path = rest.split()[0]
            self.files.setdefault(invocation.project_path, {})[path] = f"{invocation.job_id}\n"
            self.worked[invocation.job_id] = (path, self._world.lives)

    def files_in(self, commit: str) -> dict[str, str]:
        return self._files_of(commit)

    async def restore(self, project_path: str, before: str, after: str) -> tuple[str, ...]:
        world, life = self._world, self._world.lives
        if f'"after":"{after}"'.encode() not in world.disk.durable_bytes(JOURNAL):
            world.accuse(f"an undo began to write {after} before that was written down")
        if self._undoing_in == life:
            world.accuse("two undos write files at the same time")
        self._undoing_in = life
        if self._random.random() < _CRASHES and world.loop.crash_at is None:
            world.loop.crash_at = world.loop.steps + self._random.randint(0, 20)
        try:
            return await super().restore(project_path, before, after)
        finally:
            self._undoing_in = 0 if self._undoing_in == life else self._undoing_in


class Undoer(Steerer):
    """Has files changed, and asks for an undo, a redo or the changes at any moment, also while a turn runs."""

    asks = 0.7

    def _round(self) -> list[tuple[float, str]]:
        times = self._random.choice((1, 2, 3))
        return [(self._random.expovariate(1 / 12), self._say_work()) for _ in range(times)]

    def _say_work(self) -> str:
        return f"{_WORK}{self._random.choice(_FILES)}{self._random.choice(_ENDS)}"

    async def _ask(self, world: World, life: Life) -> None:
        for _ in range(self._random.choice((1, 1, 2, 3))):
            await asyncio.sleep(self._random.choice((0, self._random.expovariate(1 / 60))))
            await self._command(world, life, self._random.choice(_REQUESTS))


def undoers_and_mishaps(world: World) -> list[Actor]:
    trees = WatchedTrees(world)
    world.trees = trees
    world.agents.on_work = trees.work
    chosen = world.random.sample(world.participants, k=world.random.choice((1, 2, 2, 3)))
    undoers = [Undoer(world, participant, rounds=world.random.randint(2, 5)) for participant in chosen]
    return [*undoers, Clicker(world), Fetcher(world), Mishaps(world)]
