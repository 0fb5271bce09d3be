"""The flow put together: the same parts in the same order, whether they run on a real machine or in the simulator."""

from collections.abc import Callable, Coroutine, Mapping
from random import Random
from typing import Any

import msgspec

from fairlead.core.limits import Limits
from fairlead.core.state import Job, State
from fairlead.core.worktrees import Worktree
from fairlead.flow.agent_calls import AgentCalls, AgentToolSettings
from fairlead.flow.agent_runtimes import FIXED, AgentRuntimes, RuntimeCatalogue
from fairlead.flow.bindings import Bindings
from fairlead.flow.budgets.keeper import BudgetKeeper
from fairlead.flow.commands.handlers import BUILT_IN, CommandHandlers, Commands
from fairlead.flow.commands.parts import NO_DEFAULT, CommandParts, DefaultAgent
from fairlead.flow.gate import FlowGate
from fairlead.flow.hooks.deliveries import HookDeliveries
from fairlead.flow.intake.messages import MessageIntake
from fairlead.flow.ledger import Ledger
from fairlead.flow.machine_records import MachineRecordKeeper
from fairlead.flow.outbox.channel_reconnects import ChannelReconnects
from fairlead.flow.outbox.composer import Composer
from fairlead.flow.outbox.outbox import Outbox
from fairlead.flow.queries.agent_checks import AgentChecks
from fairlead.flow.queries.job_history import JobHistory
from fairlead.flow.queries.latencies import Latencies
from fairlead.flow.queries.live_events import LiveEvents
from fairlead.flow.queries.stored_sessions import StoredSessions
from fairlead.flow.queries.text_search import TextSearch
from fairlead.flow.queries.view import FlowView
from fairlead.flow.schedules.checks import CheckRunner, NoChecks
from fairlead.flow.schedules.schedules import ScheduleDefaults, Schedules
from fairlead.flow.schedules.ticking import Ticking
from fairlead.flow.spawns.child_returns import ChildReturns
from fairlead.flow.spawns.spawning import Spawning
from fairlead.flow.turns.agent_turns import AgentTurns
from fairlead.flow.turns.approvals import Approvals
from fairlead.flow.turns.limit_windows import LimitWindows
from fairlead.flow.turns.queued_recheck import QueuedRecheck
from fairlead.flow.turns.scheduler import Scheduler
from fairlead.flow.turns.turn import OpenStream, Turn, TurnSettings
from fairlead.flow.work_trees.turn_snapshots import TreeSettings, TurnSnapshots
from fairlead.flow.work_trees.undoing import Undoing
from fairlead.flow.worktrees.keeper import WorktreeKeeper
from fairlead.kit.tasks import TaskOwner
from fairlead.machine_ports import NO_MACHINES, OtherMachines
from fairlead.ports import (
    NO_FILES,
    NO_WORKTREES,
    AttachmentFetcher,
    Blobs,
    Channel,
    Clock,
    Directories,
    HookSecrets,
    Journal,
    MessageRechecker,
    ProjectFiles,
    Runtime,
    SessionInboxes,
    Worktrees,
)
from fairlead.tree_ports import NO_TREES, WorkTrees


class Adapters(msgspec.Struct, frozen=True, kw_only=True):
    """Everything the flow meets at its ports. A start fills `channels`, `fetchers` and `recheckers` before anything
    runs. `catalogue` changes `runtimes` in place when agents are configured or removed."""

    state: State
    journal: Journal
    blobs: Blobs
    inboxes: SessionInboxes
    hook_secrets: HookSecrets
    directories: Directories
    clock: Clock
    limits: Limits
    runtimes: Mapping[str, Runtime]
    catalogue: RuntimeCatalogue = FIXED
    channels: dict[str, Channel]
    fetchers: dict[str, AttachmentFetcher]
    recheckers: dict[str, MessageRechecker] = {}
    random: Random
    turn_settings: TurnSettings
    language: str = "en"
    redact: Callable[[str], str] = str
    commands: Commands = BUILT_IN
    default_agent: DefaultAgent = NO_DEFAULT
    checks: CheckRunner = NoChecks()
    schedule_defaults: ScheduleDefaults = ScheduleDefaults()
    project_files: ProjectFiles = NO_FILES
    agent_tools: AgentToolSettings = AgentToolSettings()
    trees: WorkTrees = NO_TREES
    tree_settings: TreeSettings = TreeSettings()
    worktrees: Worktrees = NO_WORKTREES
    machines: OtherMachines = NO_MACHINES


class Flow:
    def __init__(self, adapters: Adapters) -> None:
        self._adapters = adapters
        self._limit_windows = LimitWindows()
        self.ledger = Ledger(adapters.state, adapters.journal, adapters.clock, adapters.limits)
        self.agent_runtimes = AgentRuntimes(self.ledger, adapters.runtimes, adapters.catalogue)
        self.snapshots = TurnSnapshots(self.ledger, adapters.trees, adapters.tree_settings)
        self.undoing = Undoing(self.ledger, adapters.trees, self.snapshots)
        self.live_events = LiveEvents(adapters.state, adapters.machines)
        self.ledger.announce_to(self.live_events)
        self.bindings = Bindings(self.ledger)
        self.queued_recheck = QueuedRecheck(self.ledger, adapters.recheckers)
        self.scheduler = Scheduler(
            self.ledger, adapters.runtimes, self._make_turn, self.queued_recheck, machines=adapters.machines
        )
        self.machine_records = MachineRecordKeeper(
            self.ledger, self.agent_runtimes, adapters.machines, self.live_events.tell_presence
        )
        self.ledger.announce_to(self.machine_records)
        self._approvals = Approvals(self.ledger, adapters.directories.real_path, adapters.turn_settings.tiers)
        self._job_history = JobHistory(self.ledger, adapters.journal, adapters.blobs)
        self.ledger.announce_to(self._job_history)
        self._stored_sessions = StoredSessions(self.ledger, adapters.runtimes)
        self._agent_checks = AgentChecks(adapters.runtimes, self.ledger.now)
        self.view = self._make_view()
        self._reconnects = ChannelReconnects()
        self.outbox = self._make_outbox()
        self._ticking = Ticking(
            self.ledger,
            adapters.checks,
            adapters.runtimes,
            self.scheduler,
            mark_of=lambda number: f"{adapters.state.state_id}:schedule-{number}",
        )
        self.schedules = Schedules(self.ledger, self._ticking, adapters.schedule_defaults)
        self._intake = MessageIntake(self.ledger, adapters.blobs, adapters.machines)
        self.spawning = Spawning(self.ledger, adapters.journal, adapters.channels)
        self._child_returns = ChildReturns(self.ledger, self._intake, adapters.blobs, adapters.redact)
        self.worktrees = WorktreeKeeper(self.ledger, adapters.worktrees, self._end_agents_in)
        self.gate = self._make_gate()
        self._budgets = BudgetKeeper(self.ledger, self.view.language_of)
        self.agent_calls = self._make_agent_calls()

    def _make_view(self) -> FlowView:
        adapters = self._adapters
        latencies = Latencies(adapters.state, self.ledger.now)
        self.ledger.announce_to(latencies)
        return FlowView(
            ledger=self.ledger,
            live_events=self.live_events,
            latencies=latencies,
            job_history=self._job_history,
            runtimes=adapters.runtimes,
            stored_sessions=self._stored_sessions,
            text_search=TextSearch(self.ledger, adapters.journal, adapters.blobs),
            limit_windows=self._limit_windows.all,
            agent_checks=self._agent_checks,
            default_language=adapters.language,
            directories=adapters.directories,
            machines=adapters.machines,
        )

    def _make_outbox(self) -> Outbox:
        adapters = self._adapters
        composer = Composer(adapters.state, adapters.blobs, self.view.language_of, adapters.redact)
        return Outbox(
            self.ledger,
            adapters.channels,
            composer,
            self._reconnects,
            random=adapters.random,
            language_of=self.view.language_of,
        )

    def _make_gate(self) -> FlowGate:
        adapters = self._adapters
        hooks = HookDeliveries(self.ledger, self._intake, adapters.hook_secrets)
        parts = CommandParts(
            ledger=self.ledger,
            intake=self._intake,
            scheduler=self.scheduler,
            history=adapters.journal,
            job_history=self._job_history,
            channels=adapters.channels,
            directories=adapters.directories,
            runtimes=adapters.runtimes,
            agent_runtimes=self.agent_runtimes,
            agent_checks=self._agent_checks,
            spawning=self.spawning,
            workspaces=adapters.turn_settings.workspaces,
            hook_secrets=adapters.hook_secrets,
            hook_deliveries=hooks,
            limit_windows=self._limit_windows,
            stored_sessions=self._stored_sessions,
            default_agent=adapters.default_agent,
            schedules=self.schedules,
            trees=adapters.trees,
            worktrees=self.worktrees,
            undoing=self.undoing,
            machines=adapters.machines,
        )
        commands = CommandHandlers(parts, adapters.commands)
        return FlowGate(self.ledger, self._intake, commands, self._reconnects, hooks=hooks)

    def _make_agent_calls(self) -> AgentCalls:
        adapters = self._adapters
        return AgentCalls(
            self.ledger,
            blobs=adapters.blobs,
            files=adapters.project_files,
            tiers=adapters.turn_settings.tiers,
            settings=adapters.agent_tools,
            spawning=self.spawning,
            schedules=self.schedules,
        )

    async def run(self) -> None:
        """All workers, for ever. Cancelling it ends every turn and every delivery."""
        async with TaskOwner("flow") as owner:
            owner.start(self.ledger.run_announcements(), name="announcements")
            # First, since they end what a crash left open, before a turn works on the same files.
            owner.start(self.undoing.finish_begun(), name="undo")
            owner.start(self.snapshots.run(), name="tree snapshots")
            owner.start(self.scheduler.run(), name="scheduler")
            owner.start(self.outbox.run(), name="outbox")
            owner.start(self._child_returns.run(), name="child returns")
            owner.start(self._budgets.run(), name="budgets")
            owner.start(self.agent_runtimes.run(self._listen), name="agents")
            owner.start(self._ticking.run(), name="schedules")
            owner.start(self._stored_sessions.keep_choices(), name="stored sessions")
            owner.start(self.worktrees.run(), name="worktrees")
            if self._adapters.machines is not NO_MACHINES:
                owner.start(self._adapters.machines.run(self.machine_records, self.agent_calls), name="machines")

    async def _end_agents_in(self, worktree: Worktree) -> None:
        """Agents that sit idle in a worktree that goes, of its session and of those below it."""
        state = self._adapters.state
        for session in list(state.sessions.values()):
            runtime = self._adapters.runtimes.get(session.runtime)
            if runtime is not None and state.worktree_of(session.session_key, worktree.project) is worktree:
                await runtime.end_session(session.session_key, "stop")

    def _listen(self, runtime: Runtime) -> Coroutine[Any, Any, None]:
        """The turns that this runtime's agents begin by themselves, for ever."""
        return AgentTurns(self.ledger, runtime, self._make_turn).run(self.scheduler.watch_over)

    def _make_turn(self, job: Job, runtime: Runtime, open_stream: OpenStream | None = None) -> Turn:
        adapters = self._adapters
        return Turn(
            job,
            runtime,
            open_stream,
            ledger=self.ledger,
            live_events=self.live_events,
            approvals=self._approvals,
            blobs=adapters.blobs,
            inboxes=adapters.inboxes,
            directories=adapters.directories,
            worktrees=adapters.worktrees,
            settings=adapters.turn_settings,
            limit_windows=self._limit_windows,
            snapshots=self.snapshots,
            fetcher=adapters.fetchers.get(job.conversation.channel),
            is_held=self.queued_recheck.held.__contains__,
        )
