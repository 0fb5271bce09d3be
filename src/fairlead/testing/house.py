"""One life of the house on the fakes: the real store and the real flow, from a start to a crash.

Put together as the application does it, with the writer's thread, the disk, the clock, the agent and the channels
exchanged.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from random import Random
from typing import Any, Final

from fairlead.core.decide.projects import DirectoryFacts
from fairlead.core.state import Job
from fairlead.errors import FairleadError
from fairlead.flow.agent_commands import AgentCommands
from fairlead.flow.approvals import Approvals
from fairlead.flow.commands import Commands
from fairlead.flow.composing import Composer
from fairlead.flow.delivery import Delivery
from fairlead.flow.gate import FlowGate
from fairlead.flow.hub import Hub
from fairlead.flow.intake import Intake
from fairlead.flow.ledger import Ledger
from fairlead.flow.looking_back import LookingBack
from fairlead.flow.scheduler import Scheduler
from fairlead.flow.starting import ProjectSources, found_and_begin, mark_interrupted, register_projects
from fairlead.flow.turn import Turn, TurnSettings
from fairlead.flow.unasked import UnaskedTurns
from fairlead.flow.view import FlowView
from fairlead.kit.files import make_private_directory
from fairlead.kit.tasks import TaskOwner
from fairlead.ports import Channel, ChannelCapabilities, Parcel, Runtime
from fairlead.store.blobs import FileBlobs, named_blobs
from fairlead.store.journal import FileJournal, Opened, open_state
from fairlead.testing.channel import RecordingChannel
from fairlead.testing.clock import VirtualClock
from fairlead.testing.runtime import ScriptedRuntime
from fairlead.testing.stepped_writer import SteppedWriter
from fairlead.testing.world import OWNER, STATE, World

SNAPSHOT_EVERY_SEC: Final = 25.0


class OneDirectory:
    """ports.Directories of a machine with a single project."""

    def inspect(self, path: str) -> DirectoryFacts:
        return DirectoryFacts(path, path)

    def subdirectories(self, path: str) -> list[str]:
        return [f"{path}/api"]


class PullChannel:
    """A channel whose clients fetch for themselves."""

    name = "pull"
    capabilities = ChannelCapabilities()

    async def send(self, parcel: Parcel) -> str:
        raise AssertionError(f"{parcel.debt_id} was pushed into a pull channel")

    async def find(self, parcel: Parcel) -> str | None:
        raise AssertionError(f"{parcel.debt_id} was looked for in a pull channel")


class House:
    """`start`, then `run` for ever. What is outside and must not outlive a crash is cut off by `unplug`."""

    def __init__(self, world: World, *, on_broken: Callable[[FairleadError], None]) -> None:
        self.number = world.lives
        self._world = world
        self._random = Random(f"{world.seed}/house/{world.lives}")
        self._disk = world.disk
        self._chat = RecordingChannel(world.history, weather=world.weather, latency=world.latency)
        self._agent = ScriptedRuntime(world.agents, life=world.lives)
        make_private_directory(STATE, disk=self._disk)
        self.opened: Opened = open_state(STATE, self._disk)
        self._journal = FileJournal(
            STATE,
            self.opened,
            disk=self._disk,
            writer=SteppedWriter(world.latency),
            offload=self._offload,
            on_broken=on_broken,
        )
        self._blobs = FileBlobs(STATE, disk=self._disk, offload=self._offload)
        clock = VirtualClock(asyncio.get_running_loop())
        self.ledger = Ledger(self.opened.state, self._journal, clock, world.limits)
        self._hub = Hub(self.ledger.state)
        self._approvals = Approvals(self.ledger)
        self._runtimes: dict[str, Runtime] = {"echo": self._agent}
        self._scheduler = Scheduler(self.ledger, self._runtimes, self._turn)
        looking_back = LookingBack(self.ledger, self._journal, self._blobs)
        commands = Commands(
            self.ledger,
            self._scheduler,
            directories=OneDirectory(),
            looking_back=looking_back,
            agents=AgentCommands(self.ledger, self._scheduler, self._runtimes),
            runtimes=self._runtimes,
        )
        self.gate = FlowGate(self.ledger, Intake(self.ledger, self._blobs), commands)
        self.view = FlowView(self.ledger, self._hub, looking_back, self._runtimes, default_language="en")
        channels: dict[str, Channel] = {"chat": self._chat, "pull": PullChannel()}
        self._delivery = Delivery(
            self.ledger,
            channels,
            Composer(self.ledger.state, self._blobs, self.view.language_of),
            random=self._random,
            language_of=self.view.language_of,
        )

    async def _offload(self, work: Callable[[], Any]) -> Any:
        await asyncio.sleep(self._world.latency())
        return work()

    def _turn(self, job: Job, runtime: Runtime) -> Turn:
        return Turn(
            job,
            runtime,
            ledger=self.ledger,
            hub=self._hub,
            approvals=self._approvals,
            blobs=self._blobs,
            directories=OneDirectory(),
            settings=TurnSettings(workspaces="/work"),
        )

    async def start(self) -> None:
        """In the order of the application: nothing may run before it is known what was running."""
        self._blobs.forget_unnamed(named_blobs(self.ledger.state))
        self.ledger.announce_to(self._hub.announce)
        await found_and_begin(self.ledger, state_id="simu", version="0", pid=self.number, owner_id=OWNER)
        await mark_interrupted(self.ledger)
        await register_projects(self.ledger, ProjectSources(root="/srv"), OneDirectory())

    async def run(self) -> None:
        unasked = UnaskedTurns(self.ledger, self._agent, self._turn)
        async with TaskOwner(f"house {self.number}") as owner:
            owner.start(self.ledger.run_announcements(), name="announcements")
            owner.start(self._scheduler.run(), name="scheduler")
            owner.start(self._delivery.run(), name="delivery")
            owner.start(unasked.run(self._scheduler.watch_over), name="unasked")
            owner.start(self._snapshots(), name="snapshots")

    async def _snapshots(self) -> None:
        while True:
            await asyncio.sleep(self._random.expovariate(1 / SNAPSHOT_EVERY_SEC))
            with suppress(OSError):  # a full disk has no room for it: the journal is the truth
                await self._journal.snapshot(self.ledger.state)

    async def settled(self) -> None:
        await self.ledger.settled()

    def unplug(self) -> None:
        self._chat.unplug()
        self._agent.unplug()
