"""The flow put together: the same parts in the same order, whether they run on a real machine or in the simulator."""

from collections.abc import Mapping
from random import Random

import msgspec

from fairlead.core.limits import Limits
from fairlead.core.state import Job, State
from fairlead.flow.bindings import Bindings
from fairlead.flow.commands.agents import AgentCommands
from fairlead.flow.commands.handlers import Commands
from fairlead.flow.commands.thread_start import Openings
from fairlead.flow.gate import FlowGate
from fairlead.flow.intake.messages import Intake
from fairlead.flow.ledger import Ledger
from fairlead.flow.outbox.channel_reconnects import Returns
from fairlead.flow.outbox.composer import Composer
from fairlead.flow.outbox.outbox import Delivery
from fairlead.flow.queries.job_history import LookingBack
from fairlead.flow.queries.live_events import Hub
from fairlead.flow.queries.view import FlowView
from fairlead.flow.turns.agent_turns import UnaskedTurns
from fairlead.flow.turns.approvals import Approvals
from fairlead.flow.turns.queued_recheck import Rereading
from fairlead.flow.turns.scheduler import Scheduler
from fairlead.flow.turns.turn import Turn, TurnSettings
from fairlead.kit.tasks import TaskOwner
from fairlead.ports import Blobs, Channel, Clock, Directories, Fetcher, Journal, Rereader, Runtime


class World(msgspec.Struct, frozen=True, kw_only=True):
    """Everything the flow meets at its ports. `channels` and `fetchers` may still grow while it runs,
    `rereaders` until then."""

    state: State
    journal: Journal
    blobs: Blobs
    directories: Directories
    clock: Clock
    limits: Limits
    runtimes: Mapping[str, Runtime]
    channels: dict[str, Channel]
    fetchers: dict[str, Fetcher]
    rereaders: dict[str, Rereader] = {}
    random: Random
    turn_settings: TurnSettings
    language: str = "en"


class Flow:
    def __init__(self, world: World) -> None:
        self._world = world
        self.ledger = Ledger(world.state, world.journal, world.clock, world.limits)
        self.hub = Hub(world.state)
        self.ledger.announce_to(self.hub.announce)
        self.bindings = Bindings(self.ledger)
        self.scheduler = Scheduler(
            self.ledger, world.runtimes, self._make_turn, Rereading(self.ledger, world.rereaders)
        )
        self._approvals = Approvals(self.ledger)
        looking_back = LookingBack(self.ledger, world.journal, world.blobs)
        self.view = FlowView(self.ledger, self.hub, looking_back, world.runtimes, default_language=world.language)
        composer = Composer(world.state, world.blobs, self.view.language_of)
        returns = Returns()
        self.delivery = Delivery(
            self.ledger, world.channels, composer, returns, random=world.random, language_of=self.view.language_of
        )
        commands = Commands(
            self.ledger,
            self.scheduler,
            directories=world.directories,
            looking_back=looking_back,
            agents=AgentCommands(self.ledger, self.scheduler, world.runtimes, world.turn_settings.workspaces),
            openings=Openings(self.ledger, world.journal),
            runtimes=world.runtimes,
        )
        self.gate = FlowGate(self.ledger, Intake(self.ledger, world.blobs), commands, returns)

    async def run(self) -> None:
        """All workers, for ever. Cancelling it ends every turn and every delivery."""
        async with TaskOwner("flow") as owner:
            owner.start(self.ledger.run_announcements(), name="announcements")
            owner.start(self.scheduler.run(), name="scheduler")
            owner.start(self.delivery.run(), name="delivery")
            for runtime in self._world.runtimes.values():
                if runtime.capabilities.unasked:
                    turns = UnaskedTurns(self.ledger, runtime, self._make_turn)
                    owner.start(turns.run(self.scheduler.watch_over), name=f"unasked {runtime.name}")

    def _make_turn(self, job: Job, runtime: Runtime) -> Turn:
        world = self._world
        return Turn(
            job,
            runtime,
            ledger=self.ledger,
            hub=self.hub,
            approvals=self._approvals,
            blobs=world.blobs,
            directories=world.directories,
            settings=world.turn_settings,
            fetcher=world.fetchers.get(job.conversation.channel),
        )
