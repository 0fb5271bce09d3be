"""`Boot` and `Machine` of flow.startup on the fakes: the real store on a simulated disk, the rest pretended.

It accuses a start that does things in the wrong order; it does not keep it from doing them.
"""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack
from posixpath import normpath
from random import Random
from types import TracebackType
from typing import Any, Final, Self

import msgspec

from fairlead.core.agents import ConfiguredAgent
from fairlead.core.decide.projects import DirectoryFacts
from fairlead.core.state import State
from fairlead.errors import FairleadError
from fairlead.flow.assembly import Adapters, Flow
from fairlead.flow.startup.config_copy import keep_config
from fairlead.flow.startup.machine import ChannelStart, StartFacts
from fairlead.flow.startup.recovery import ProjectSources
from fairlead.flow.turns.turn import TurnSettings
from fairlead.kit.files import make_private_directory
from fairlead.kit.tasks import TaskOwner
from fairlead.ports import ChannelCapabilities, OutgoingMessage
from fairlead.store.blobs import BLOBS_NAME, FileBlobs, named_blobs
from fairlead.store.config_copy import ConfigFile
from fairlead.store.hook_secrets import FileHookSecrets
from fairlead.store.inboxes import FileInboxes
from fairlead.store.journal import FileJournal, open_state
from fairlead.store.name_index import INDEX_NAME, IndexSizes
from fairlead.store.snapshot_schedule import SnapshotPace, keep_snapshots
from fairlead.store.tidying import Tidying
from fairlead.testing.chat import SimulatedChat
from fairlead.testing.long_lived_runtime import LongLivedRuntime, SimulatedCatalogue
from fairlead.testing.processes import SimulatedProcess
from fairlead.testing.runtime import ScriptedRuntime
from fairlead.testing.schedule_people import SimulatedChecks
from fairlead.testing.stepped_writer import SteppedWriter
from fairlead.testing.wall_clock import ClockOfALife
from fairlead.testing.world import OWNER, STATE, STATE_ID, World

TORN: Final = ".torn-at-"


class OneDirectory:
    """ports.Directories of a machine with a single project."""

    def inspect(self, path: str) -> DirectoryFacts:
        return DirectoryFacts(path, path)

    async def look(self, path: str) -> DirectoryFacts:
        return self.inspect(path)

    def problem_at(self, real_path: str) -> str:
        return self.inspect(real_path).problem

    def real_path(self, path: str) -> str:
        return normpath(path)

    async def files_below(self, path: str, typed: str) -> list[str]:
        del path, typed
        return []

    def subdirectories(self, path: str) -> list[str]:
        return [f"{path}/api"]


class SimulatedPullChannel:
    """A channel whose clients fetch for themselves."""

    name = "pull"
    capabilities = ChannelCapabilities()

    async def send(self, outgoing: OutgoingMessage) -> str:
        raise AssertionError(f"{outgoing.entry_id} was pushed into a pull channel")

    async def find(self, outgoing: OutgoingMessage) -> str | None:
        raise AssertionError(f"{outgoing.entry_id} was looked for in a pull channel")


class SimulatedLock:
    """Held by one life at a time, and free when that life is over, however it ended."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._life = world.lives

    def __enter__(self) -> None:
        if self._world.lock_holder:
            self._world.accuse("two daemons hold the lock")
        self._world.lock_holder = self._life

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._world.lock_holder == self._life:
            self._world.lock_holder = 0


class SimulatedMachine:
    """One life long. `unplug` cuts off everything of it that must not outlive a crash."""

    def __init__(self, world: World, *, on_broken: Callable[[FairleadError], None]) -> None:
        self._world = world
        self._disk = world.disk
        self._on_broken = on_broken
        self._random = Random(f"{world.seed}/house/{world.lives}")
        self._reports: tuple[str, ...] = ()
        self.chat = SimulatedChat(world)
        starts = Random(f"{world.seed}/starts/{world.lives}")
        self._agent = ScriptedRuntime(
            world.agents,
            life=world.lives,
            starts_in=lambda: starts.expovariate(1 / 5),
            stays=Random(f"{world.seed}/stays/{world.lives}").random() < 0.5,
        )
        self._catalogue = SimulatedCatalogue({"echo": self._agent}, self._make_runtime)
        self.config = ConfigFile(STATE, disk=world.disk, offload=self._offload)
        self._tidying = Tidying((STATE, STATE / BLOBS_NAME, STATE / INDEX_NAME), disk=world.disk, offload=self._offload)

    def unplug(self) -> None:
        self.chat.unplug()
        self._agent.unplug()
        self._catalogue.unplug()

    def _make_runtime(self, agent: ConfiguredAgent) -> LongLivedRuntime:
        world = self._world
        return LongLivedRuntime(agent, world.agents, world.started_agents, life=world.lives)

    async def _offload(self, work: Callable[[], Any]) -> Any:
        await asyncio.sleep(self._world.latency())
        return work()

    # --- Boot and Machine, in the order of a start -------------------------------------------------------------------

    def lock(self) -> SimulatedLock:
        return SimulatedLock(self._world)

    def connect(self, stack: AsyncExitStack) -> None:  # noqa: ARG002 - a crash disconnects nothing by itself
        self._accuse_without_lock("a channel was connected")
        self.chat.connect()

    async def load(self) -> Self:
        """People go on talking meanwhile."""
        await asyncio.sleep(self._world.latency())
        for happens in self._world.while_it_starts:
            happens(self._world)
        return self

    def _accuse_without_lock(self, what: str) -> None:
        if self._world.lock_holder != self._world.lives:
            self._world.accuse(f"{what} without the lock")

    async def open(self, stack: AsyncExitStack) -> Adapters:  # noqa: ARG002 - a crash closes nothing
        world = self._world
        self._accuse_without_lock("the state was opened")
        make_private_directory(STATE, disk=self._disk)
        opened = await self._offload(lambda: open_state(STATE, self._disk))
        self._reports = opened.reports
        self._count_torn_tails()
        world.expect_recheck(opened.state)
        self._catalogue.follow(opened.state.agents)
        unit = self._random.choice((2_000, 8_000))
        journal = FileJournal(
            STATE,
            opened,
            disk=self._disk,
            writer=SteppedWriter(world.latency),
            offload=self._offload,
            on_broken=self._on_broken,
            index_sizes=IndexSizes(block=500, unit=unit, fan_out=2),
        )
        self._blobs = FileBlobs(STATE, disk=self._disk, offload=self._offload)
        self._inboxes = FileInboxes(STATE, self._blobs, disk=self._disk, offload=self._offload)
        self._hook_secrets = FileHookSecrets(
            STATE, disk=self._disk, offload=self._offload, make=lambda: f"{self._random.getrandbits(256):064x}"
        )
        return Adapters(
            state=opened.state,
            journal=journal,
            blobs=self._blobs,
            inboxes=self._inboxes,
            hook_secrets=self._hook_secrets,
            directories=OneDirectory(),
            clock=ClockOfALife(world.wall),
            limits=msgspec.structs.replace(world.limits, runtimes=tuple(self._catalogue.runtimes)),
            runtimes=self._catalogue.runtimes,
            catalogue=self._catalogue,
            channels={},
            fetchers={},
            recheckers={},
            random=self._random,
            turn_settings=TurnSettings(workspaces="/work"),
            checks=SimulatedChecks(world),
            trees=world.trees,
            worktrees=world.worktrees,
        )

    def _count_torn_tails(self) -> None:
        """What was cut off is kept: zeros with other bytes behind them are pages that came to disk out of order."""
        for name in self._disk.listdir(STATE):
            if TORN in name and any(name in report for report in self._reports):
                tail = self._disk.read(STATE / name).rstrip(b"\0")
                self._world.happened["torn tails"] += 1
                self._world.happened["torn tails out of order"] += b"\0" in tail

    def reports(self) -> tuple[str, ...]:
        return self._reports

    def start_facts(self) -> StartFacts:
        projects = ProjectSources(root="/srv")
        pid = self._world.lives
        return StartFacts(new_state_id=STATE_ID, version="0", pid=pid, owner_id=OWNER, projects=projects)

    def end_left_over_agents(self, state_id: str) -> list[SimulatedProcess]:
        return self._world.processes.end(f"{state_id}:")

    def forget_unnamed_files(self, state: State) -> None:
        self._tidying.remove_leftovers()
        self._blobs.forget_unnamed(named_blobs(state))
        self._inboxes.forget_unneeded(state)
        self._hook_secrets.forget_all_but(state.hooks)

    def make_channels(self, flow: Flow, adapters: Adapters) -> list[ChannelStart]:
        self.chat.join(flow)
        adapters.channels.update({self.chat.name: self.chat, SimulatedPullChannel.name: SimulatedPullChannel()})
        adapters.recheckers[self.chat.name] = self.chat
        return [self.chat]

    def background_work(self, flow: Flow, adapters: Adapters) -> dict[str, Coroutine[Any, Any, None]]:
        self.chat.may_read = True
        pace = SnapshotPace(self._random.choice((5, 50)), self._random.choice((1.0, 5.0)))
        return {
            "snapshots": keep_snapshots(adapters.journal, adapters.state, pace),
            "index": adapters.journal.keep_index(),
            "check": adapters.journal.keep_checking(),
            "tidying": self._tidying.keep_tidy(adapters.state, adapters.journal, self._blobs, self._inboxes),
            "config": keep_config(flow.ledger, self.config),
        }

    async def serve(self, stack: AsyncExitStack) -> None:
        """People come as soon as the start is over."""

    async def stop(self, flow: Flow, owner: TaskOwner) -> None:  # noqa: ARG002 - a life ends without a farewell
        owner.cancel()
