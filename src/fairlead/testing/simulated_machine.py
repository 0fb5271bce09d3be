"""`Machine` of flow.startup on the fakes: the real store on a simulated disk, and everything around it pretended.

It accuses a start that does things in the wrong order; it does not keep it from doing them.
"""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack
from random import Random
from types import TracebackType
from typing import Any

from fairlead.core.decide.projects import DirectoryFacts
from fairlead.core.state import State
from fairlead.core.views import JobView
from fairlead.errors import FairleadError
from fairlead.flow.assembly import Adapters, Flow
from fairlead.flow.startup.config_copy import keep_config
from fairlead.flow.startup.machine import ChannelStart, StartFacts
from fairlead.flow.startup.recovery import ProjectSources
from fairlead.flow.turns.turn import TurnSettings
from fairlead.kit.files import make_private_directory
from fairlead.kit.tasks import TaskOwner
from fairlead.ports import ChannelCapabilities, OutgoingMessage
from fairlead.store.blobs import FileBlobs, named_blobs
from fairlead.store.config_copy import ConfigFile
from fairlead.store.journal import FileJournal, open_state
from fairlead.store.name_index import IndexSizes
from fairlead.store.snapshot_schedule import SnapshotPace, keep_snapshots
from fairlead.testing.channel import RecordingChannel
from fairlead.testing.clock import VirtualClock
from fairlead.testing.processes import SimulatedProcess
from fairlead.testing.runtime import ScriptedRuntime
from fairlead.testing.stepped_writer import SteppedWriter
from fairlead.testing.world import OWNER, STATE, STATE_ID, World


class OneDirectory:
    """ports.Directories of a machine with a single project."""

    def inspect(self, path: str) -> DirectoryFacts:
        return DirectoryFacts(path, path)

    def problem_at(self, real_path: str) -> str:
        return self.inspect(real_path).problem

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


class SimulatedChat(RecordingChannel):
    """The push channel of one life, with its part in a start. What people said meanwhile they say again themselves."""

    def __init__(self, world: World) -> None:
        super().__init__(world.history, weather=world.weather, latency=world.latency)
        self._world = world
        self._state: State | None = None

    def show(self, state: State) -> None:
        self._state = state

    def prepare(self) -> None:
        world, state = self._world, self._state
        assert state is not None
        if state.running or state.waiting:
            world.accuse(f"{[*state.running, *state.waiting]} were still called running when the channel was prepared")
        if any(invoked.life == world.lives for invoked in world.agents.invoked):
            world.accuse("the channel was prepared when jobs of its own life had begun")

    async def run(self) -> None:
        await asyncio.get_running_loop().create_future()

    async def recheck(self, job: JobView) -> None:
        try:
            while self._world.is_away:  # noqa: ASYNC110 - a world that a test may change at any time has no event for it
                await asyncio.sleep(1.0)
            await asyncio.sleep(self._latency())
        finally:
            self._world.unchecked.discard(job.job_id)


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
        self._chat = SimulatedChat(world)
        self._agent = ScriptedRuntime(world.agents, life=world.lives)
        self.config = ConfigFile(STATE, disk=world.disk, offload=self._offload)

    def unplug(self) -> None:
        self._chat.unplug()
        self._agent.unplug()

    async def _offload(self, work: Callable[[], Any]) -> Any:
        await asyncio.sleep(self._world.latency())
        return work()

    # --- Machine, in the order of a start ----------------------------------------------------------------------------

    def lock(self) -> SimulatedLock:
        return SimulatedLock(self._world)

    def open(self, stack: AsyncExitStack) -> Adapters:  # noqa: ARG002 - a crash closes nothing
        world = self._world
        if world.lock_holder != world.lives:
            world.accuse("the state was opened without the lock")
        make_private_directory(STATE, disk=self._disk)
        opened = open_state(STATE, self._disk)
        self._reports = opened.reports
        world.expect_recheck(opened.state)
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
        return Adapters(
            state=opened.state,
            journal=journal,
            blobs=self._blobs,
            directories=OneDirectory(),
            clock=VirtualClock(asyncio.get_running_loop()),
            limits=world.limits,
            runtimes={"echo": self._agent},
            channels={},
            fetchers={},
            recheckers={},
            random=self._random,
            turn_settings=TurnSettings(workspaces="/work"),
        )

    def reports(self) -> tuple[str, ...]:
        return self._reports

    def start_facts(self) -> StartFacts:
        projects = ProjectSources(root="/srv")
        pid = self._world.lives
        return StartFacts(new_state_id=STATE_ID, version="0", pid=pid, owner_id=OWNER, projects=projects)

    def end_left_over_agents(self, state_id: str) -> list[SimulatedProcess]:
        return self._world.processes.end(f"{state_id}:")

    def forget_unnamed_blobs(self, state: State) -> None:
        self._blobs.forget_unnamed(named_blobs(state))

    def make_channels(self, flow: Flow, adapters: Adapters) -> list[ChannelStart]:
        self._chat.show(flow.ledger.state)
        adapters.channels.update({self._chat.name: self._chat, SimulatedPullChannel.name: SimulatedPullChannel()})
        adapters.recheckers[self._chat.name] = self._chat
        return [self._chat]

    def background_work(self, flow: Flow, adapters: Adapters) -> dict[str, Coroutine[Any, Any, None]]:
        pace = SnapshotPace(self._random.choice((5, 50)), self._random.choice((1.0, 5.0)))
        return {
            "snapshots": keep_snapshots(adapters.journal, adapters.state, pace),
            "index": adapters.journal.keep_index(),
            "config": keep_config(flow.ledger, self.config),
        }

    async def serve(self, stack: AsyncExitStack) -> None:
        """People come as soon as the start is over."""

    async def stop(self, flow: Flow, owner: TaskOwner) -> None:  # noqa: ARG002 - a life ends without a farewell
        owner.cancel()
