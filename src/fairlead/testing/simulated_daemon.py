"""One life of the daemon on the fakes: the real store and the real flow, from a start to a crash.

Put together as the application does it, with the writer's thread, the disk, the clock, the agent and the channels
exchanged.
"""

import asyncio
from collections.abc import Callable
from random import Random
from typing import Any

from fairlead.core.decide.projects import DirectoryFacts
from fairlead.core.state import State
from fairlead.errors import FairleadError
from fairlead.flow.assembly import Adapters, Flow
from fairlead.flow.startup import recovery
from fairlead.flow.turns.turn import TurnSettings
from fairlead.kit.files import make_private_directory
from fairlead.kit.tasks import TaskOwner
from fairlead.ports import ChannelCapabilities, Gate, OutgoingMessage, View
from fairlead.store.blobs import FileBlobs, named_blobs
from fairlead.store.journal import FileJournal, Opened, open_state
from fairlead.store.snapshot_schedule import SnapshotPace, keep_snapshots
from fairlead.testing.channel import RecordingChannel
from fairlead.testing.clock import VirtualClock
from fairlead.testing.runtime import ScriptedRuntime
from fairlead.testing.stepped_writer import SteppedWriter
from fairlead.testing.world import OWNER, STATE, World


class OneDirectory:
    """ports.Directories of a machine with a single project."""

    def inspect(self, path: str) -> DirectoryFacts:
        return DirectoryFacts(path, path)

    def problem_at(self, real_path: str) -> str:
        return self.inspect(real_path).problem

    def subdirectories(self, path: str) -> list[str]:
        return [f"{path}/api"]


class PullChannel:
    """A channel whose clients fetch for themselves."""

    name = "pull"
    capabilities = ChannelCapabilities()

    async def send(self, outgoing: OutgoingMessage) -> str:
        raise AssertionError(f"{outgoing.entry_id} was pushed into a pull channel")

    async def find(self, outgoing: OutgoingMessage) -> str | None:
        raise AssertionError(f"{outgoing.entry_id} was looked for in a pull channel")


class SimulatedDaemon:
    """`start`, then `run` for ever. What is outside and must not outlive a crash is cut off by `unplug`."""

    def __init__(self, world: World, *, on_broken: Callable[[FairleadError], None]) -> None:
        self.number = world.lives
        self._world = world
        self._random = Random(f"{world.seed}/house/{world.lives}")
        self._chat = RecordingChannel(world.history, weather=world.weather, latency=world.latency)
        self._agent = ScriptedRuntime(world.agents, life=world.lives)
        make_private_directory(STATE, disk=world.disk)
        self.opened: Opened = open_state(STATE, world.disk)
        self.journal = FileJournal(
            STATE,
            self.opened,
            disk=world.disk,
            writer=SteppedWriter(world.latency),
            offload=self._offload,
            on_broken=on_broken,
        )
        self._blobs = FileBlobs(STATE, disk=world.disk, offload=self._offload)
        self.flow = Flow(self._ports())

    def _ports(self) -> Adapters:
        return Adapters(
            state=self.opened.state,
            journal=self.journal,
            blobs=self._blobs,
            directories=OneDirectory(),
            clock=VirtualClock(asyncio.get_running_loop()),
            limits=self._world.limits,
            runtimes={"echo": self._agent},
            channels={"chat": self._chat, "pull": PullChannel()},
            fetchers={},
            random=self._random,
            turn_settings=TurnSettings(workspaces="/work"),
        )

    @property
    def gate(self) -> Gate:
        return self.flow.gate

    @property
    def view(self) -> View:
        return self.flow.view

    @property
    def state(self) -> State:
        return self.flow.ledger.state

    async def _offload(self, work: Callable[[], Any]) -> Any:
        await asyncio.sleep(self._world.latency())
        return work()

    async def start(self) -> None:
        """In the order of the application: nothing may run before it is known what was running."""
        ledger = self.flow.ledger
        await recovery.found_and_begin(ledger, state_id="simu", version="0", pid=self.number, owner_id=OWNER)
        sources = recovery.ProjectSources(root="/srv")
        await recovery.register_projects(ledger, sources, OneDirectory())
        await recovery.mark_interrupted(ledger)
        self._blobs.forget_unnamed(named_blobs(ledger.state))

    async def run(self) -> None:
        pace = SnapshotPace(self._random.choice((5, 50)), self._random.choice((1.0, 5.0)))
        async with TaskOwner(f"daemon {self.number}") as owner:
            owner.start(self.flow.run(), name="flow")
            owner.start(keep_snapshots(self.journal, self.flow.ledger.state, pace), name="snapshots")

    def unplug(self) -> None:
        self._chat.unplug()
        self._agent.unplug()
