"""Worlds with several machines, from one seed: a daemon, runners, and a wire that loses, doubles, delays, reorders and
is cut. Every process is killed now and then, alone; the others go on.

The flow, the runners, both journals and the link are the real ones. `simulate_machines(seed)` does the same steps every
time.
"""

import asyncio
import math
from collections.abc import Callable
from contextlib import AsyncExitStack
from random import Random
from typing import Any, Final

import msgspec

from fairlead.core.decide.machines import AddMachine
from fairlead.core.decide.projects import AddProject, DirectoryFacts, SwitchProject
from fairlead.core.machines.machine import Machine
from fairlead.errors import FairleadError
from fairlead.flow.assembly import Adapters
from fairlead.kit.tasks import TaskOwner
from fairlead.machines.catalogue import CatalogueWithMachines
from fairlead.machines.directories import DirectoriesAcross
from fairlead.machines.hub import Machines
from fairlead.observe import capture_log
from fairlead.testing.clock import LoopProcess, VirtualClock
from fairlead.testing.disk import SimulatedDisk
from fairlead.testing.invariants import judge, judge_index, judge_snapshot
from fairlead.testing.machine_invariants import judge_machines
from fairlead.testing.memory_wire import MemoryServer, MemoryWire
from fairlead.testing.people import Clicker, Fetcher, Meddler, Talker
from fairlead.testing.runtime import RUNNER_LIVES
from fairlead.testing.simulated_daemon import SimulatedDaemon
from fairlead.testing.simulated_machine import SimulatedMachine
from fairlead.testing.simulated_runner import SimulatedRunner
from fairlead.testing.simulator import Report
from fairlead.testing.world import OWNER, Actor, World

MACHINES: Final = ("gpu", "laptop")


class MachineWorld(World):
    """Everything around the processes: the wire's server, the runners' disks."""

    longest_life = 2 * 86400.0

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.server = MemoryServer(seed)
        self.runner_disks = {name: SimulatedDisk() for name in MACHINES}
        self.runners: dict[str, SimulatedRunner] = {}
        self.runner_lives = RUNNER_LIVES
        self.agents.slots = None  # each machine has slots of its own
        chance = Random(f"{seed}/delays")
        self.server.weather.delay = lambda: math.exp(chance.uniform(math.log(0.0005), math.log(self.slowness)))
        self.slowness = 0.05
        self.old_runners: list[SimulatedRunner] = []
        self.ended_lives: set[int] = set()
        self.handed_over: set[str] = set()
        self.copies: dict[str, tuple[SimulatedDisk, list[str]]] = {}
        """Of a runner's files, with the tokens that its journal had."""
        self.started_copies: list[tuple[SimulatedRunner, str]] = []
        """With the id of the runner whose journal it was."""

    def latency(self) -> float:
        process = LoopProcess.current()
        rng = self.random if process is None else process.random
        return math.exp(rng.uniform(math.log(0.0005), math.log(0.5)))

    def start_runner(self, name: str) -> SimulatedRunner:
        self.runner_lives += 1
        offset = Random(f"{self.seed}/clock of {name}").uniform(-86400, 86400)
        clock = VirtualClock(asyncio.get_running_loop())
        clock.offset += offset
        runner = SimulatedRunner(
            name,
            self.server,
            self.runner_disks[name],
            agents=self.agents,
            life=self.runner_lives,
            clock=clock,
            latency=self.latency,
            seed=self.seed,
            handed_over=self.handed_over,
        )
        self.runners[name] = runner
        self.tell(f"a runner of {name} starts, life {self.runner_lives}")
        runner.start()
        return runner

    def kill_runner(self, name: str, rng: Random, *, power_lost: bool) -> None:
        self.runner_disks[name] = self.runners[name].kill(rng, power_lost=power_lost)
        self.happened["runners killed"] += 1
        self.ended_lives.add(self.runners[name].life)
        self.tell(f"the runner of {name} is killed" + (", the power with it" if power_lost else ""))

    def copy_runner(self, name: str, rng: Random) -> None:
        """While it runs, as a backup or a careless person would."""
        runner = self.runners[name]
        self.copies[name] = (runner.disk.crash(rng, power_lost=False), runner.known_tokens)

    def take_old_copy(self, name: str) -> SimulatedDisk | None:
        """One from before the last claim: a copy that is as far as its original cannot be told from it."""
        claim = self.server.read_claim(name)
        if name not in self.copies or claim is None or claim.token in self.copies[name][1]:
            return None
        return self.copies.pop(name)[0]

    def mend(self) -> None:
        self.clear_up()
        self.server.mend_all()
        self.slowness = 0.05


class MachineOfTheDaemon(SimulatedMachine):
    """The simulated machine, with a wire to others."""

    def __init__(self, world: MachineWorld, *, on_broken: Callable[[FairleadError], None]) -> None:
        super().__init__(world, on_broken=on_broken)
        self._machine_world = world
        self._tokens = Random(f"{world.seed}/tokens/{world.lives}")
        self.wire: MemoryWire | None = None

    async def open(self, stack: AsyncExitStack) -> Adapters:
        adapters = await super().open(stack)
        self.wire = self._machine_world.server.connect("daemon")
        hub = Machines(self.wire, version="0", make_token=lambda: f"{self._tokens.getrandbits(64):016x}")
        runtimes = dict(adapters.runtimes)

        def find_known() -> dict[str, Machine]:
            return adapters.state.machines

        catalogue = CatalogueWithMachines(adapters.catalogue, runtimes, hub, find_known, limit_sec=900.0)
        catalogue.follow(adapters.state.agents)
        return msgspec.structs.replace(
            adapters,
            machines=hub,
            runtimes=runtimes,
            catalogue=_Shared(catalogue, adapters, runtimes),
            directories=DirectoriesAcross(adapters.directories),
            limits=msgspec.structs.replace(adapters.limits, runtimes=tuple(runtimes)),
        )

    def unplug(self) -> None:
        super().unplug()
        if self.wire is not None:
            self._machine_world.server.unplug(self.wire)


class _Shared:
    """The local catalogue changes a mapping of its own: what it has is copied into the shared one."""

    def __init__(self, catalogue: CatalogueWithMachines, adapters: Adapters, runtimes: dict[str, Any]) -> None:
        self._catalogue = catalogue
        self._local = adapters.runtimes
        self._runtimes = runtimes

    def follow(self, configured: Any) -> Any:
        gone = self._catalogue.follow(configured)
        self._runtimes.update(self._local)
        return gone


class DaemonOfAWorld(SimulatedDaemon):
    def __init__(self, world: MachineWorld, *, on_broken: Callable[[FairleadError], None]) -> None:
        super().__init__(world, on_broken=on_broken)
        self._machine = MachineOfTheDaemon(world, on_broken=on_broken)


class _DaemonLife:
    """The daemon's process, from a start to its kill."""

    def __init__(self, world: MachineWorld) -> None:
        self._world = world
        world.begin_life()
        self.daemon = DaemonOfAWorld(world, on_broken=lambda fault: world.accuse(f"the daemon broke: {fault}"))
        self._process = LoopProcess(f"{world.seed}/daemon {world.lives}")
        self.acting: list[asyncio.Task[None]] = []
        self.has_started = asyncio.Event()

    def start(self) -> None:
        self._world.tell("a daemon starts")
        self.task = self._process.start(self._run())

    async def _run(self) -> None:
        world = self._world
        async with AsyncExitStack() as stack:
            await self.daemon.start(stack)
            owner = await stack.enter_async_context(TaskOwner("life"))
            await _settle_in(world, self.daemon)
            self.acting = [
                owner.start(actor.act(world, self.daemon), name=type(actor).__name__) for actor in world.actors
            ]
            self.has_started.set()
            await asyncio.get_running_loop().create_future()

    def kill(self, rng: Random) -> None:
        world = self._world
        power_lost = rng.random() < 0.7
        world.lock_holder = 0
        world.processes.left.clear()
        self.daemon.unplug()
        found = world.disk.crash(rng, power_lost=power_lost)
        world.happened["daemons killed"] += 1
        world.tell("the daemon is killed" + (", the power with it" if power_lost else ""))
        self._process.kill()
        world.keep_recorded_times(found)
        judge_snapshot(world, found)
        judge_index(world, found)
        world.disk = found


async def _settle_in(world: MachineWorld, daemon: SimulatedDaemon) -> None:
    """Once: the machines, a project on each, and who works where."""
    ledger = daemon.flow.ledger
    state = ledger.state
    for name in MACHINES:
        await ledger.record_durably(AddMachine(name, OWNER))
    for name in MACHINES:
        while f"{name}/echo" not in ledger.limits.runtimes:  # noqa: ASYNC110 - a mapping has no event for it
            await asyncio.sleep(1)
        path = f"{name}:/srv/trainer"
        await ledger.record_durably(AddProject(DirectoryFacts(path, path)))
    places = ("gpu/trainer", "laptop/trainer", "api")
    for number, participant in enumerate(world.participants):
        if participant.session_key.text not in state.sessions:
            project = places[(number + world.seed) % len(places)]
            await ledger.record_durably(
                SwitchProject(project, participant.session_key, participant.conversation, participant.person)
            )


_DEEDS: Final = (
    *("daemon", "daemon", "runner", "writing runner", "writing runner"),
    *("cut", "cut", "weather", "wipe", "mend", "second runner"),
)


class Misfortunes:
    """What goes wrong between the machines, and which process dies when."""

    def __init__(self, world: MachineWorld) -> None:
        self._world = world
        self._random = Random(f"{world.seed}/fate")
        self.deeds = self._random.choice((0, 2, 4, 8))

    async def rule(self, lives: "list[_DaemonLife]") -> None:
        world, rng = self._world, self._random
        for _ in range(self.deeds):
            await asyncio.sleep(rng.expovariate(1 / 25))
            await self._strike(lives)
        await asyncio.sleep(rng.uniform(0, 60))
        world.mend()
        for name in MACHINES:
            if world.runners[name].task.done():
                world.start_runner(name)

    async def _strike(self, lives: "list[_DaemonLife]") -> None:
        world, rng = self._world, self._random
        deed = rng.choice(_DEEDS)
        name = rng.choice(MACHINES)
        if name not in world.copies and not world.runners[name].task.done():
            world.copy_runner(name, rng)
        match deed:
            case "daemon":
                lives[-1].kill(rng)
                await asyncio.sleep(rng.choice((0.5, 30.0, 900.0)))
                lives.append(_DaemonLife(world))
                lives[-1].start()
            case "runner":
                world.kill_runner(name, rng, power_lost=rng.random() < 0.7)
                await asyncio.sleep(rng.choice((0.5, 30.0, 900.0)))
                world.start_runner(name)
            case "cut":
                cut = rng.choice((name, "daemon"))
                world.server.cut(cut)
                world.happened["cuts"] += 1
                world.tell(f"{cut} is cut off")
                await asyncio.sleep(rng.choice((1.0, 40.0, 3600.0)))
                world.server.mend(cut)
                world.tell(f"{cut} is reached again")
            case "weather":
                world.server.weather.loss = rng.choice((0.0, 0.1, 0.4))
                world.server.weather.doubling = rng.choice((0.0, 0.3))
                world.slowness = rng.choice((0.05, 2.0, 40.0))
            case "wipe":
                world.server.wipe()
                world.happened["wiped servers"] += 1
                world.tell("the server comes back with an empty disk")
            case "writing runner":
                await self._kill_while_it_writes(name)
            case "second runner":
                self._start_second_runner(name)
            case _:
                world.mend()

    async def _kill_while_it_writes(self, name: str) -> None:
        """The power goes when an order or a hand-over is on its way to the disk."""
        world, rng = self._world, self._random
        try:
            async with asyncio.timeout(120):
                await world.runners[name].until_it_writes()
        except TimeoutError:
            return
        await asyncio.sleep(rng.uniform(0, 0.2))
        world.happened["runners killed while they wrote"] += 1
        world.kill_runner(name, rng, power_lost=True)
        await asyncio.sleep(rng.choice((0.5, 30.0)))
        world.start_runner(name)

    def _start_second_runner(self, name: str) -> None:
        """Somebody joins another machine under the same name, or starts an old copy of the runner's files: the first
        runner goes on until it hears that it is superseded. Nobody knows any more what became of the turns that it
        had."""
        world = self._world
        if not world.server.is_cut(name):
            copy = world.take_old_copy(name)
            world.happened["superseded runners"] += 1
            world.happened["old copies of runners"] += copy is not None
            world.tell(f"a second runner of {name} is started elsewhere" + ("" if copy is None else ", an old copy"))
            world.old_runners.append(world.runners[name])
            world.ended_lives.add(world.runners[name].life)
            world.lost_journals.add(name)
            world.runner_disks[name] = copy or SimulatedDisk()
            second = world.start_runner(name)
            if copy is not None:
                world.started_copies.append((second, world.old_runners[-1].runner_id))


def people(world: World) -> list[Actor]:
    talkers = [Talker(world, participant, messages=world.random.randint(0, 6)) for participant in world.participants]
    return [*talkers, Clicker(world), Meddler(world, deeds=world.random.randint(0, 4)), Fetcher(world)]


def simulate_machines(seed: int) -> Report:
    world = MachineWorld(seed)
    world.actors = people(world)
    with capture_log():
        try:
            world.loop.run(_live(world))
        except Exception as fault:  # whatever it is, it was not meant to happen
            world.accuse(f"the world fell: {type(fault).__name__}: {fault}")
        world.loop.close_abruptly()
        judge(world)
        judge_machines(world, world.ended_lives, world.handed_over)
    return Report(
        seed=seed,
        lives=world.lives + world.runner_lives - RUNNER_LIVES,
        steps=world.loop.steps,
        accepted=sum(1 for p in world.promises if p.job_id),
        invoked=len(world.agents.invoked),
        posts=len(world.history.posts),
        happened=dict(world.happened),
        violations=tuple(world.violations),
        story=tuple(world.story),
    )


async def _live(world: MachineWorld) -> None:
    for name in MACHINES:
        world.start_runner(name)
    lives = [_DaemonLife(world)]
    lives[-1].start()
    await Misfortunes(world).rule(lives)
    await _until_quiet(world, lives)
    ledger = lives[-1].daemon.flow.ledger
    await ledger.until_all_durable()
    _check_runners_are_quiet(world)


async def _until_quiet(world: MachineWorld, lives: "list[_DaemonLife]") -> None:
    loop = asyncio.get_running_loop()
    deadline = loop.time() + world.longest_life
    times_quiet = 0
    while times_quiet < 3:
        await asyncio.sleep(20)
        life = lives[-1]
        if life.task.done():
            life.task.result()
        left = _what_is_left(world, life)
        times_quiet = 0 if left else times_quiet + 1
        if loop.time() > deadline:
            world.accuse(f"still not quiet after days: {left}")
            return


def _what_is_left(world: MachineWorld, life: _DaemonLife) -> list[str]:
    if not life.has_started.is_set():
        return ["the start"]
    state = life.daemon.flow.ledger.state
    busy = [
        type(actor).__name__
        for actor, task in zip(world.actors, life.acting, strict=True)
        if actor.has_plans and not task.done()
    ]
    owed = [d.entry_id for d in state.outbox.values() if d.kind == "answer" or not d.awaits_fetching]
    kept = [turn_id for runner in world.runners.values() if runner.runner for turn_id in runner.kept_turns]
    chat = ["chat"] if life.daemon.is_chat_busy else []
    return [*busy, *(j.job_id for j in state.jobs.values() if j.is_live), *owed, *kept, *chat]


def _check_runners_are_quiet(world: MachineWorld) -> None:
    for name, runner in world.runners.items():
        if runner.ended is not None:
            world.accuse(f"the runner of {name} ended: {runner.ended}")
    for copy, original in world.started_copies:
        if copy.runner_id == original:
            world.accuse(f"an old copy of the runner of {copy.name} went on with its journal")
    for old in world.old_runners:
        if old.ended is None and not old.task.done():
            world.accuse(f"an old runner of {old.name} was not told that it is superseded")
