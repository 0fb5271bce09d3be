"""From one seed: people, agents, weather, a disk and a daemon that crashes, until all is quiet. Then it is judged.

The start, the flow and the store are the real ones. `simulate(seed)` does the same steps every time; a test
may pass further actors.
"""

import asyncio
import errno
import math
from collections.abc import Callable
from contextlib import AsyncExitStack
from random import Random

import msgspec

from fairlead.core.worktrees import UNSETTLED
from fairlead.errors import FairleadError
from fairlead.kit.tasks import TaskOwner
from fairlead.observe import capture_log
from fairlead.testing.clock import PowerLost, VirtualLoop
from fairlead.testing.damage import probe_lost_lines, probe_rot
from fairlead.testing.disk import SimulatedDisk
from fairlead.testing.invariants import judge, judge_index, judge_snapshot
from fairlead.testing.people import everybody
from fairlead.testing.simulated_daemon import SimulatedDaemon
from fairlead.testing.world import ActorMaker, World

STORY_LENGTH = 80


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What a simulation came to. No violations is the only good outcome."""

    seed: int
    lives: int
    steps: int
    accepted: int
    invoked: int
    posts: int
    happened: dict[str, int]
    violations: tuple[str, ...]
    story: tuple[str, ...]

    def __str__(self) -> str:
        head = f"seed {self.seed}: {self.lives} lives, {self.steps} steps, {self.accepted} messages accepted"
        wrong = "\n".join(f"  WRONG: {v}" for v in self.violations)
        tail = "\n".join(f"  {line}" for line in self.story[-STORY_LENGTH:])
        return f"{head}\n{wrong}\nThe end of the story (repeat it with simulate({self.seed})):\n{tail}"


class _Broken(Exception):  # noqa: N818 - the daemon says that it must end
    pass


def simulate(seed: int, *, actors: ActorMaker = everybody, crashes: int | None = None) -> Report:
    """Everything that happens follows from `seed`. `crashes` says how many at most; without it the seed does."""
    world = World(seed)
    world.actors = actors(world)
    left = world.random.choice((0, 1, 1, 2, 4)) if crashes is None else crashes
    with capture_log():
        while True:
            world.begin_life()
            is_last = left <= 0
            world.tell("a life begins" + (", the last" if is_last else ""))
            ended_well = _Life(world, crash=not is_last).live()
            if ended_well or world.violations:
                break
            left -= 1
        judge(world)
        if not world.violations:
            probe_rot(world, Random(f"{seed}/rot"))
    return Report(
        seed=seed,
        lives=world.lives,
        steps=world.steps + world.loop.steps,
        accepted=sum(1 for p in world.promises if p.job_id),
        invoked=len(world.agents.invoked),
        posts=len(world.history.posts),
        happened=dict(world.happened),
        violations=tuple(world.violations),
        story=tuple(world.story),
    )


class _Life:
    """From a start to the next crash, or, in the last one, to quiet."""

    def __init__(self, world: World, *, crash: bool) -> None:
        self._world = world
        self._random = Random(f"{world.seed}/life/{world.lives}")
        self._daemon: SimulatedDaemon | None = None
        self._found: SimulatedDisk | None = None
        self._power_lost = self._random.random() < 0.7
        if crash:
            self._plan_crash()

    def _plan_crash(self) -> None:
        """At a step of the loop, at an operation of the disk in the middle of one, or by a sync that fails."""
        when = int(math.exp(self._random.uniform(math.log(3), math.log(4000))))
        how = self._random.random()
        disk = self._world.disk
        if how < 0.5:
            self._world.loop.crash_at = when
        elif how < 0.9:
            disk.before_operation = self._crash_at_operation(disk.operations + when // 8)
        else:
            disk.fail_sync(after=when // 16)

    def _crash_at_operation(self, chosen: int) -> Callable[[int], None]:
        """The disk is seen as the crash left it, in the middle of a step; the step itself ends, and nobody notices."""

        def look(number: int) -> None:
            if number == chosen:
                self._found = self._world.disk.crash(self._random, power_lost=self._power_lost)
                self._world.loop.crash_at = 0

        return look

    def live(self) -> bool:
        """True if it went on until all was quiet."""
        world = self._world
        try:
            world.loop.run(self._until_quiet())
        except PowerLost as lost:
            world.tell(f"the {'power' if self._power_lost else 'process'} is gone, {lost}")
        except _Broken as broken:
            self._power_lost = True  # bytes that could not be synced are gone, as after a power cut
            world.tell(f"the daemon ends itself: {broken}")
        except OSError as fault:
            if fault.errno not in {errno.ENOSPC, errno.EIO}:
                world.accuse(f"the daemon fell: {fault}")
            self._power_lost = fault.errno == errno.EIO
            world.tell(f"it could not start: {fault.strerror}")
            world.disk.capacity = None
        except Exception as fault:  # whatever it is, it was not meant to happen
            world.accuse(f"the daemon fell: {type(fault).__name__}: {fault}")
        else:
            self._complain()
            world.loop.close_abruptly()
            return True
        self._complain()
        self._bury()
        return False

    def _complain(self) -> None:
        for complaint in self._world.loop.complaints:
            fault = complaint.get("exception")
            self._world.accuse(f"nobody owned this: {complaint.get('message')} {fault!r}")

    def _bury(self) -> None:
        world = self._world
        world.lock_holder = 0
        # A start that swept too little was accused when it began its first turn; a power cut ends the processes anyway.
        world.processes.left.clear()
        if not self._power_lost:
            world.leave_agents_over(self._random)
        if self._daemon is not None:
            self._daemon.unplug()
        found = self._found or world.disk.crash(self._random, power_lost=self._power_lost)
        world.keep_recorded_times(found)
        judge_snapshot(world, found)
        judge_index(world, found)
        probe_lost_lines(world, found, Random(f"{world.seed}/damage/{world.lives}"))
        if self._random.random() < 0.3:
            world.edit_config(found)
        pause = self._random.choice(world.pauses)
        for happens in world.while_nobody_runs:
            happens(world)
        old = world.loop
        world.steps += old.steps
        world.loop = VirtualLoop(start=old.time() + pause)
        world.disk.before_operation = None
        old.close_abruptly()
        world.disk = found

    async def _until_quiet(self) -> None:
        broken: asyncio.Future[FairleadError] = asyncio.get_running_loop().create_future()
        daemon = self._daemon = SimulatedDaemon(
            self._world, on_broken=lambda e: None if broken.done() else broken.set_result(e)
        )
        ends = asyncio.ensure_future(self._begin_and_wait(daemon))
        await asyncio.wait({ends, broken}, return_when=asyncio.FIRST_COMPLETED)
        if broken.done():
            raise _Broken(broken.result().message)
        ends.result()

    async def _begin_and_wait(self, daemon: SimulatedDaemon) -> None:
        # A mishap whose end the last crash swallowed ends now.
        asyncio.get_running_loop().call_later(self._random.uniform(0, 90), self._world.clear_up)
        async with AsyncExitStack() as stack:
            await daemon.start(stack)
            owner = await stack.enter_async_context(TaskOwner("life"))
            acting = [
                owner.start(actor.act(self._world, daemon), name=type(actor).__name__) for actor in self._world.actors
            ]
            await self._quiet(daemon, acting)
            await daemon.flow.ledger.until_all_durable()
            owner.cancel()

    async def _quiet(self, daemon: SimulatedDaemon, acting: list[asyncio.Task[None]]) -> None:
        """Those with plans end by themselves; what they caused may take a while longer."""
        deadline = asyncio.get_running_loop().time() + self._world.longest_life
        planning = [task for actor, task in zip(self._world.actors, acting, strict=True) if actor.has_plans]
        if planning:
            await asyncio.wait(planning, timeout=self._world.longest_life)
        times_quiet = 0
        while times_quiet < 2:  # the channel hears of the last facts a moment after they were made
            await asyncio.sleep(7)
            times_quiet = times_quiet + 1 if self._is_quiet(daemon, acting) else 0
            if asyncio.get_running_loop().time() > deadline:
                self._world.accuse(f"still not quiet after days: {_what_is_left(daemon)}")
                return

    def _is_quiet(self, daemon: SimulatedDaemon, acting: list[asyncio.Task[None]]) -> bool:
        """Actors that only react never end; those with plans have carried them out."""
        busy = [a for a, task in zip(self._world.actors, acting, strict=True) if a.has_plans and not task.done()]
        return not busy and not daemon.is_chat_busy and not _what_is_left(daemon)


def _what_is_left(daemon: SimulatedDaemon) -> list[str]:
    """Jobs, undos and work on worktrees that have not ended, and what is owed; a question that a client could fetch and
    did not is nobody's loss."""
    state = daemon.flow.ledger.state
    owed = (d.entry_id for d in state.outbox.values() if d.kind == "answer" or not d.awaits_fetching)
    undos = (undo.undo_id for undo in state.undos.values() if not undo.is_over)
    worktrees = (f"worktree {w.number}" for w in state.worktrees.values() if w.status in UNSETTLED)
    return [*(j.job_id for j in state.jobs.values() if j.is_live), *undos, *worktrees, *owed]
