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


class Adapters(msgspec.Struct, frozen=True, kw_only=True):
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
    def __init__(self, adapters: Adapters) -> None:
        self._adapters = adapters
        self.ledger = Ledger(adapters.state, adapters.journal, adapters.clock, adapters.limits)
        self.hub = Hub(adapters.state)
        self.ledger.announce_to(self.hub.announce)
        self.bindings = Bindings(self.ledger)
        self.scheduler = Scheduler(
            self.ledger, adapters.runtimes, self._make_turn, Rereading(self.ledger, adapters.rereaders)
        )
        self._approvals = Approvals(self.ledger)
        looking_back = LookingBack(self.ledger, adapters.journal, adapters.blobs)
        self.view = FlowView(self.ledger, self.hub, looking_back, adapters.runtimes, default_language=adapters.language)
        composer = Composer(adapters.state, adapters.blobs, self.view.language_of)
        returns = Returns()
        self.delivery = Delivery(
            self.ledger, adapters.channels, composer, returns, random=adapters.random, language_of=self.view.language_of
        )
        commands = Commands(
            self.ledger,
            self.scheduler,
            directories=adapters.directories,
            looking_back=looking_back,
            agents=AgentCommands(self.ledger, self.scheduler, adapters.runtimes, adapters.turn_settings.workspaces),
            openings=Openings(self.ledger, adapters.journal),
            runtimes=adapters.runtimes,
        )
        self.gate = FlowGate(self.ledger, Intake(self.ledger, adapters.blobs), commands, returns)

    async def run(self) -> None:
        """All workers, for ever. Cancelling it ends every turn and every delivery."""
        async with TaskOwner("flow") as owner:
            owner.start(self.ledger.run_announcements(), name="announcements")
            owner.start(self.scheduler.run(), name="scheduler")
            owner.start(self.delivery.run(), name="delivery")
            for runtime in self._adapters.runtimes.values():
                if runtime.capabilities.unasked:
                    turns = UnaskedTurns(self.ledger, runtime, self._make_turn)
                    owner.start(turns.run(self.scheduler.watch_over), name=f"unasked {runtime.name}")

    def _make_turn(self, job: Job, runtime: Runtime) -> Turn:
        adapters = self._adapters
        return Turn(
            job,
            runtime,
            ledger=self.ledger,
            hub=self.hub,
            approvals=self._approvals,
            blobs=adapters.blobs,
            directories=adapters.directories,
            settings=adapters.turn_settings,
            fetcher=adapters.fetchers.get(job.conversation.channel),
        )
