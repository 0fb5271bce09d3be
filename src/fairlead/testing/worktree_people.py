"""People of the simulator whose sessions work in worktrees, and who merge and discard them, across crashes."""

import asyncio
from collections.abc import Container
from random import Random
from typing import Final

from fairlead.core.engine import Invocation
from fairlead.core.requests import Discard, Merge, Request, Reset, WorktreeList, WorktreeMake, WorktreeShow
from fairlead.core.worktrees import KeptWork, MadeWorktree, MergeResult, Worktree, WorktreeWork
from fairlead.errors import Code, error
from fairlead.ports import MergeConflict
from fairlead.testing.mishaps import Mishaps
from fairlead.testing.people import Clicker, Fetcher
from fairlead.testing.steer_people import Steerer
from fairlead.testing.world import JOURNAL, Actor, Life, World

ROOT: Final = "/work/worktrees"
_SLOWNESS: Final = 12
_CRASHES: Final = 0.2
_CONFLICTS: Final = 0.1
_FAULTS: Final = 0.05
_TEXTS: Final = ("work", "work\n/slow 4", "work\n/tool Edit x", "work\n/slow 8")
_REQUESTS: Final[tuple[Request, ...]] = (
    *(Merge(), Merge(), Merge(uncommitted="leave"), Discard(), Discard(confirm=True), Reset()),
    *(WorktreeMake(), WorktreeMake(), WorktreeShow(), WorktreeList()),
)


class WatchedWorktrees:
    """Worktrees that outlive the daemon: in each, the jobs whose agents worked there. Each step of git's can be the
    last one before a crash, and doing it at the wrong moment is accused."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._random = Random(f"{world.seed}/worktrees")
        self.there: dict[int, set[str]] = {}
        self.target: set[str] = set()
        self.kept: dict[int, set[str]] = {}
        self.worked: dict[str, int] = {}
        """By job, the worktree in which its agent worked."""
        self.asked: set[tuple[str, int]] = set()
        """The sessions for which somebody asked for a worktree, and in which life: those have a reply."""
        self._busy: dict[int, int] = {}
        """The worktrees with which git is busy, and in which life."""

    def work(self, invocation: Invocation) -> None:
        number = _number_at(invocation.project_path)
        if number is None:
            return
        if self._busy.get(number) == self._world.lives:
            self._world.accuse(f"{invocation.job_id} began in worktree {number} while git was busy with it")
        if number not in self.there:
            self._world.accuse(f"{invocation.job_id} began in worktree {number}, which is not there")
            return
        self.there[number].add(invocation.job_id)
        self.worked[invocation.job_id] = number

    async def taken_branches(self, project_path: str) -> frozenset[str]:
        del project_path
        await self._pause()
        return frozenset()

    async def make(self, worktree: Worktree) -> MadeWorktree:
        self._begin(worktree, "WorktreePlanned")
        await self._pause()
        self.there.setdefault(worktree.number, set(self.kept.get(_kept_number(worktree.source), ())))
        await self._pause()
        self._end(worktree)
        return MadeWorktree(directory=worktree.path, common_dir="/srv/api/.git", base="base", target="main")

    async def look(self, worktree: Worktree) -> WorktreeWork:
        await self._pause()
        jobs = sorted(self.there.get(worktree.number, set()) - self.target)
        return WorktreeWork(commits=tuple(jobs), commits_total=len(jobs), missing=worktree.number not in self.there)

    async def merge(self, worktree: Worktree) -> MergeResult:
        self._begin(worktree, "WorktreeMergeBegun")
        try:
            await self._pause()
            if self._random.random() < _CONFLICTS:
                raise MergeConflict("main", ("a.py",))
            if self._random.random() < _FAULTS:
                raise error(Code.E_MERGE_BLOCKED, "Files in the way: a.py")
            new = self.there[worktree.number] - self.target
            for job_id in sorted(new):
                self.target.add(job_id)
                await self._pause()
        finally:
            self._end(worktree)
        return MergeResult(target="main", before="b", after="a", commits_total=len(new))

    async def discard(self, worktree: Worktree) -> KeptWork | None:
        """Kept first, then gone in one step."""
        self._begin(worktree, "WorktreeDiscardBegun")
        await self._pause()
        if self._random.random() < _FAULTS:
            self._end(worktree)
            raise error(Code.E_WORKTREE_UNAVAILABLE, "Its directory cannot be removed.")
        jobs = self.there.get(worktree.number)
        if jobs is not None:
            self.kept[worktree.number] = set(jobs)
            await self._pause()
            self.there.pop(worktree.number, None)
            await self._pause()
        self._end(worktree)
        kept = worktree.number in self.kept
        return KeptWork(ref=f"refs/kept/{worktree.number}", commit=f"kept-{worktree.number}") if kept else None

    async def forget_kept(self, project_path: str, needed: Container[str]) -> None:
        del project_path, needed  # what was kept stays here, so that the judge can look at it

    def problem_at(self, worktree: Worktree) -> str:
        return "" if worktree.number in self.there else "Somebody has removed it."

    def _begin(self, worktree: Worktree, fact: str) -> None:
        world, number = self._world, worktree.number
        if not _is_durable(world, fact, number):
            world.accuse(f"git began with worktree {number} before {fact} was written down")
        if self._busy.get(number) == world.lives:
            world.accuse(f"git does two things with worktree {number} at once")
        for running in world.agents.under_way():
            if self.worked.get(running.job_id) == number and fact != "WorktreePlanned":
                world.accuse(f"git began with worktree {number} while {running.job_id} ran in it ({fact})")
        self._busy[number] = world.lives
        if self._random.random() < _CRASHES and world.loop.crash_at is None:
            world.loop.crash_at = world.loop.steps + self._random.randint(0, 40)

    def _end(self, worktree: Worktree) -> None:
        self._busy.pop(worktree.number, None)

    async def _pause(self) -> None:
        await asyncio.sleep(_SLOWNESS * self._world.latency())


def _is_durable(world: World, fact: str, number: int) -> bool:
    lines = world.disk.durable_bytes(JOURNAL).splitlines()
    return any(f'"{fact}"'.encode() in line and f'"number":{number}'.encode() in line for line in lines)


def _number_at(path: str) -> int | None:
    """Of the worktree in this directory: its name begins with its number."""
    name = path.removeprefix(f"{ROOT}/").rpartition("/")[2]
    return int(name.partition("-")[0]) if path.startswith(ROOT) else None


def _kept_number(source: str) -> int:
    return int(source.removeprefix("kept-") or 0)


class WorktreeUser(Steerer):
    """Begins with a worktree, has work done in it, merges, discards and resets, also while a turn runs."""

    asks = 0.6

    def _round(self) -> list[tuple[float, str]]:
        times = self._random.choice((1, 2, 3))
        return [(self._random.expovariate(1 / 15), self._random.choice(_TEXTS)) for _ in range(times)]

    async def act(self, world: World, life: Life) -> None:
        if self._left and self._random.random() < 0.8:
            await self._command(world, life, WorktreeMake())
        await super().act(world, life)

    async def _command(self, world: World, life: Life, request: Request) -> None:
        if isinstance(request, WorktreeMake) and isinstance(world.worktrees, WatchedWorktrees):
            world.worktrees.asked.add((self._participant.session_key.text, world.lives))
        await super()._command(world, life, request)

    async def _ask(self, world: World, life: Life) -> None:
        for _ in range(self._random.choice((1, 1, 2, 3))):
            await asyncio.sleep(self._random.choice((0, self._random.expovariate(1 / 60))))
            await self._command(world, life, self._random.choice(_REQUESTS))


def worktree_users_and_mishaps(world: World) -> list[Actor]:
    worktrees = WatchedWorktrees(world)
    world.worktrees = worktrees
    world.agents.on_work = worktrees.work
    world.give_worktrees(ROOT)
    chosen = world.random.sample(world.participants, k=world.random.choice((1, 2, 2, 3)))
    users = [WorktreeUser(world, participant, rounds=world.random.randint(2, 5)) for participant in chosen]
    return [*users, Clicker(world), Fetcher(world), Mishaps(world)]
