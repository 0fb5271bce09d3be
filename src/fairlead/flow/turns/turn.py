"""One job's turn: from its start to the facts that end it. The agent speaks; what lasts goes to the ledger.

However the agent behaves, a turn ends in exactly one outcome, and nothing of it is left running.
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from typing import Final, TypeAlias, cast

import msgspec

from fairlead.core import engine
from fairlead.core.commands import COMMANDS
from fairlead.core.decide.job_ends import Cancelled, Completed, EndJob, Failure, Outcome, TryAgain, Unknown
from fairlead.core.decide.scheduling import ForgetResumeKey, HandOver, LearnResumeKey, ReportProgress
from fairlead.core.engine import EngineEvent, Invocation
from fairlead.core.ids import JobId, ResumeKey
from fairlead.core.state import Job, resume_slot
from fairlead.errors import Code, FairleadError
from fairlead.flow.ledger import ACTIONS_FIRST_SEC, STEPS_TO_A_PROCESS, Ledger
from fairlead.flow.queries.live_events import LiveEvents
from fairlead.flow.turns.approvals import Approvals, NoTiers, Tiers
from fairlead.flow.turns.invocation import InvocationMaker
from fairlead.flow.turns.limit_windows import LimitWindows, window_words
from fairlead.flow.turns.steering import Steering
from fairlead.flow.turns.turn_results import TurnResults
from fairlead.flow.work_trees.turn_snapshots import TurnSnapshots
from fairlead.kit.tasks import PausableTimeout, TaskOwner, TaskScope
from fairlead.observe import log, log_failure
from fairlead.ports import NO_WORKTREES, AttachmentFetcher, Blobs, Directories, Runtime, SessionInboxes, Worktrees

PROGRESS_SECONDS: Final = 30.0

OpenStream: TypeAlias = Callable[[Invocation], AsyncIterator[EngineEvent]]
"""Where a turn's events come from: `Runtime.invoke`, or the stream of a turn that the agent began by itself."""

_HANDED_OVER_HERE: Final = engine.HandingOver()


class TurnSettings(msgspec.Struct, frozen=True, kw_only=True):
    time_limit_sec: float = 900.0
    interrupt_grace_sec: float = 1.0  # agents that heed an interruption do so in a tenth of it
    workspaces: str = ""
    tiers: Tiers = NoTiers()


class Turn:
    def __init__(
        self,
        job: Job,
        runtime: Runtime,
        open_stream: OpenStream | None = None,
        *,
        ledger: Ledger,
        live_events: LiveEvents,
        approvals: Approvals,
        blobs: Blobs,
        inboxes: SessionInboxes,
        directories: Directories,
        worktrees: Worktrees = NO_WORKTREES,
        settings: TurnSettings,
        limit_windows: LimitWindows,
        snapshots: TurnSnapshots,
        fetcher: AttachmentFetcher | None = None,
        is_held: Callable[[JobId], bool],
    ) -> None:
        """`is_held` says whether a job that waits may not be touched yet."""
        self.job = job
        self._runtime = runtime
        self._open_stream = open_stream or runtime.invoke
        self._can_be_repeated = open_stream is None  # nobody can ask an agent to begin its own turn once more
        self._ledger = ledger
        self._live_events = live_events
        self._approvals = approvals
        self._limit_windows = limit_windows
        self._snapshots = snapshots
        self._has_looked_at_files = False
        self._has_first_snapshot = False
        self._first_snapshot: asyncio.Task[None] | None = None
        self._snapshot_asked = asyncio.Event()
        self._invocations = InvocationMaker(
            ledger,
            blobs=blobs,
            inboxes=inboxes,
            directories=directories,
            worktrees=worktrees,
            fetcher=fetcher,
            workspaces=settings.workspaces,
        )
        self._settings = settings
        self._stopped: Outcome | None = None
        self._owner: TaskOwner | None = None
        has_limit = runtime.capabilities.bounded_turns and not runtime.capabilities.is_remote
        self._timer = PausableTimeout(settings.time_limit_sec if has_limit else None)
        self._is_attached = False
        self._second_attempt_begun = False
        self._results = TurnResults(blobs)
        self._steering = Steering(
            job,
            runtime,
            ledger=ledger,
            texts=self._invocations,
            find_stop=lambda: self._stopped,
            is_held=is_held,
        )
        self._progress_at = 0.0
        self._started_seq = ledger.state.seq

    def note_unchanged_files(self) -> None:
        """Called in the step of the start, whose sync the fact then shares; not called where the agent's process is to
        start first: there the fact shares the sync of the hand-over."""
        self._has_looked_at_files = True
        self._has_first_snapshot = self._snapshots.note_unchanged(self.job)

    @property
    def has_all_for_its_prompt(self) -> bool:
        """The snapshot of its start is there, and nothing has to be fetched or read from the disk."""
        return self._has_first_snapshot and not self.job.attachments and not self.job.prompt_blob

    @property
    def outlives_daemon(self) -> bool:
        """It runs on another machine, and goes on there while no daemon listens."""
        return self._runtime.capabilities.is_remote

    def attach(self) -> None:
        """An earlier process began this turn, on another machine: this one listens to it from its beginning. What the
        files were like then, nobody can find out any more, if that process did not."""
        self._is_attached = self._has_first_snapshot = True
        self._snapshots.note_attached(self.job)

    async def run(self) -> None:
        """The whole turn: ask the agent, at most twice, within the time limit; then record how it ended."""
        began = asyncio.get_running_loop().time()
        async with self._steering:
            # A turn that was stopped before its first step asks no agent.
            outcome = self._stopped or await self._ask_agent()
            # A stop that a person asked for counts, however the agent came to its end.
            outcome = msgspec.structs.replace(
                self._stopped or outcome,
                spent=self._results.spent,
                point=self._results.point,
                report=self._results.report,
            )
            await self._steering.close()
        ended_seq = await self._apply_end(outcome)
        took = asyncio.get_running_loop().time() - began
        # The answer goes first: the sync that it waits for wakes nothing here.
        await asyncio.sleep(ACTIONS_FIRST_SEC)
        await self._ledger.until_durable(ended_seq)
        self._log_end(outcome, took)

    async def _ask_agent(self) -> Outcome:
        try:
            # The owner holds what runs beside the stream (open questions, a stop), and ends it with the turn.
            async with self._timer, TaskScope(f"turn {self.job.job_id}") as owner:
                self._owner = owner
                if not self._has_first_snapshot:
                    self._first_snapshot = owner.start(self._take_first_snapshot(), name="snapshot")
                invocation = await self._invocations.make(self.job, self._started_seq)
                if self._is_attached:
                    invocation = msgspec.structs.replace(invocation, is_asked_again=True)
                await self._listen(invocation, owner)
                if await self._may_try_again():
                    await self._listen(await self._begin_second_attempt(invocation), owner)
                self._note_refused_requests()
                self._note_late_copy()
                self._note_spent_window()
                self._note_missing_snapshot()
                return await self._results.decide_outcome()
        except Exception as fault:  # a runtime that breaks, in whatever way, ends no more than its own job
            return self._failure_of(fault)

    def stop(self, outcome: Outcome) -> None:
        """Ask the turn to end like this, as soon as the agent lets go."""
        if self._stopped is None:
            self._stopped = outcome
            if self._owner is not None and not self._owner.is_closed:
                self._owner.start(self._stop_agent(), name="stop agent")

    async def _apply_end(self, outcome: Outcome) -> int:
        """The number of the line that ends the job. The answer waits for the snapshot a moment, and only if the agent
        may have changed something."""
        last_snapshot = self._snapshots.reserve_end(self.job)
        try:
            if self._results.agent_may_have_acted:
                await last_snapshot.wait_a_moment()
            self._ledger.apply_now(EndJob(self.job.job_id, outcome))
            return self._ledger.state.seq
        finally:
            last_snapshot.begin_soon()

    def look_for_texts(self) -> None:
        """People may want the agent to have what waits in the queue: called in the step of any change."""
        if self._stopped is None and self._results.ended is None:
            self._steering.look()

    # --- the steps of `run` ----------------------------------------------------------------------------------------

    async def _listen(self, invocation: Invocation, owner: TaskOwner) -> None:
        if self._runtime.capabilities.is_remote and self._first_snapshot is not None:
            await self._snapshot_asked.wait()  # its machine takes it before the agent has the prompt
        if not self._runtime.capabilities.gets_ready:
            await self._until_agent_may_start()
        stream = cast("AsyncGenerator[EngineEvent]", self._open_stream(invocation))
        async with contextlib.aclosing(stream):
            async for event in stream:
                await self._handle(event, owner)
                if self._results.ended is not None:
                    return

    async def _may_try_again(self) -> bool:
        """At most once, and only if the agent cannot have done anything yet and nobody has stopped the turn."""
        failed = self._results.ended
        if not isinstance(failed, engine.TurnFailed) or self._results.agent_may_have_acted or not self._can_be_repeated:
            return False
        if self._stopped is not None or self.job.state != "running":
            return False
        if self.job.tried_again:
            return self._is_attached and not self._second_attempt_begun
        if self._steering.has_begun:
            return False
        if failed.code is Code.E_RESUME_GONE:
            forgotten = await self._ledger.record_durably(ForgetResumeKey(self.job.job_id))
            return bool(forgotten.events)
        return failed.transient and self._runtime.capabilities.second_attempt

    async def _begin_second_attempt(self, first: Invocation) -> Invocation:
        failed = cast("engine.TurnFailed", self._results.ended)
        self._second_attempt_begun = True
        if not self.job.tried_again:  # an earlier process may have begun it
            await self._ledger.record_durably(TryAgain(self.job.job_id, failed.code, failed.message))
        self._results.ended = None
        # The key of a talk in which the agent has answered: a first attempt that failed may have left none.
        session = self._ledger.state.sessions[self.job.session_key]
        slot = resume_slot(self.job.runtime or "", self.job.project_path)
        return msgspec.structs.replace(
            first, is_second_attempt=True, resume_key=session.proven_key(slot), fork=session.forks.get(slot)
        )

    def _failure_of(self, fault: Exception) -> Failure | Unknown:
        match fault:
            case FairleadError(code=Code.E_UNKNOWN_AFTER_CRASH):
                return Unknown()
            case TimeoutError():
                limit = self._settings.time_limit_sec
                return self._results.fail(Code.E_CLI_TIMEOUT, f"The agent timed out after {limit:.0f} s and was ended.")
            case FairleadError():
                return self._results.fail(fault.code, fault.message)
            case _:
                log_failure("turn crashed", fault, job_id=self.job.job_id)
                return self._results.fail(Code.E_INTERNAL, f"{type(fault).__name__}: {fault}")

    async def _stop_agent(self) -> None:
        """First an interruption, so that the agent leaves its session in order; then the stream is closed."""
        if self._runtime.capabilities.interrupt:
            with contextlib.suppress(TimeoutError):  # a stuck agent may not even take the interruption
                async with asyncio.timeout(self._settings.interrupt_grace_sec):
                    await self._runtime.instruct(self.job.session_key, engine.Interrupt())
                    await asyncio.get_running_loop().create_future()  # the turn cancels this when the agent has ended
        self._timer.expire()

    # --- what the agent says ---------------------------------------------------------------------------------------

    async def _until_agent_may_start(self) -> None:
        """Of a runtime that does not say when it begins: a crash would leave work that no fact tells of."""
        if self._runtime.capabilities.hand_over == "start":
            await self._hand_over()
        else:
            await self._ledger.until_durable(self._started_seq)

    async def _hand_over(self, told: engine.HandingOver = _HANDED_OVER_HERE) -> None:
        """The agent has no prompt before that is on disk: after a crash the job would run twice. An agent on another
        machine has its prompt already, and the journal there says so."""
        await self._until_first_snapshot()
        handed_over = self._ledger.apply_now(HandOver(self.job.job_id, told.machine_time, told.taken_at))
        if self._runtime.capabilities.is_remote:
            return
        if handed_over.events:
            self._ledger.let_sync_begin()
        await self._ledger.until_all_durable()

    async def _take_first_snapshot(self) -> None:
        if not self._has_looked_at_files:
            for _ in range(STEPS_TO_A_PROCESS):
                await asyncio.sleep(0)
            if self._snapshots.note_unchanged(self.job):
                self._snapshot_asked.set()
                return
        await self._snapshots.take_start(self.job, self._snapshot_asked)

    async def _until_first_snapshot(self) -> None:
        """What the agent changes must not be in the snapshot of its turn's start."""
        if self._first_snapshot is not None:
            await asyncio.wait({self._first_snapshot})
            self._first_snapshot = None

    async def _handle(self, event: EngineEvent, owner: TaskOwner) -> None:
        results = self._results
        if self._runtime.capabilities.hand_over == "start" and not isinstance(
            event, engine.TurnEnded | engine.TurnFailed
        ):
            self._steering.begin()
        match event:
            case engine.Ready():
                if self._runtime.capabilities.hand_over == "start":
                    await self._hand_over()
                return  # an agent whose hand-over is told of may start: it has no prompt yet
            case engine.HandingOver():
                await self._hand_over(event)
                self._steering.begin()
                return
            case engine.TurnEnded() | engine.TurnFailed():
                results.ended = event
                return  # channels show the end when it is durable, not before
            case engine.ResumeKeyFound() if self._runtime.capabilities.is_remote:
                # Told again to the next daemon, until the end of the job is durable, which is written behind this.
                self._ledger.apply_now(LearnResumeKey(self.job.job_id, ResumeKey(event.key)))
            case engine.ResumeKeyFound():
                await self._ledger.record_durably(LearnResumeKey(self.job.job_id, ResumeKey(event.key)))
            case engine.PermissionRequested() | engine.QuestionRequested() | engine.PlanProposed():
                owner.start(self._ask(event), name=f"ask {event.request_id}")
                await asyncio.sleep(0)  # the question is applied, so that the agent's next words are shown behind it
                return  # channels show the question when it is durable
            case engine.RequestWithdrawn() if self._stopped is not None:
                pass  # the end of the turn says what becomes of its questions
            case engine.RequestWithdrawn():
                await self._approvals.withdraw(self.job.job_id, event.request_id)
            case engine.ToolStarted():
                results.tools_started += 1
                results.checks.note(event)
                self._report_progress()
            case engine.ToolProgressed() | engine.ToolEnded():
                results.checks.note(event)
            case engine.ImageProduced():
                await results.add_image(event)
            case engine.Noticed():
                self._note(event.text)
            case engine.UsageReported():
                results.add_usage(event)
            case engine.PointReached():
                results.point = event.point
                return  # nobody reads it: it is for a later fork
            case engine.LimitsReported():
                self._limit_windows.note(self.job.runtime or "", event.windows)
            case _:
                pass
        self._live_events.agent_acted(self.job.job_id, self.job.session_key, event)

    async def _ask(self, ask: engine.Ask) -> None:
        with self._timer.pause():
            takes_words = self._runtime.capabilities.refusal_words
            response = await self._approvals.ask(self.job.job_id, ask, takes_words=takes_words)
        if response.verdict == "allow" and isinstance(ask, engine.PermissionRequested):
            self._results.permission_granted = True
        await self._runtime.instruct(self.job.session_key, response)

    def _report_progress(self) -> None:
        now = asyncio.get_running_loop().time()
        if now - self._progress_at >= PROGRESS_SECONDS:
            self._progress_at = now
            self._ledger.apply_now(ReportProgress(self.job.job_id, self._results.tools_started))

    def _note(self, text: str) -> None:
        if self._results.add_notice(text):
            log.warning("notice", job_id=self.job.job_id, session_key=self.job.session_key, message=text)

    def _note_refused_requests(self) -> None:
        if self.job.refused_requests:
            self._note(
                f"A process of this agent sent a request to Fairlead in your name "
                f"({self.job.refused_requests} time(s)), and was refused. /why {self.job.job_id} shows the request."
            )

    def _note_missing_snapshot(self) -> None:
        tree = self.job.tree
        if tree is not None and tree.missed and self._results.agent_may_have_acted:
            self._note(f"This turn cannot be undone: there is no snapshot of the files before it ({tree.missed}).")

    def _note_late_copy(self) -> None:
        """A fork that copied what was said after it was asked for: its agent cannot keep less than the whole."""
        fork = self.job.fork
        if fork is None or fork.point or self.job.resume_key:
            return
        session = self._ledger.state.sessions[self.job.session_key]
        other = self._ledger.state.sessions.get(session.forked_from)
        if other is not None and (other.running_job_id or other.last_job_id != session.forked_after):
            self._note(
                f"{self.job.runtime} copies what was said when the first turn begins: it also knows what was said in"
                " the other session after /fork."
            )

    def _note_spent_window(self) -> None:
        window = self._limit_windows.find_spent(self.job.runtime or "")
        if window is not None and isinstance(self._results.ended, engine.TurnFailed):
            self._note(window_words(window, can_schedule=COMMANDS.find("schedule add") is not None))

    def _log_end(self, outcome: Outcome, seconds: float) -> None:
        """The one line per turn."""
        fields = {
            "job_id": self.job.job_id,
            "session_key": self.job.session_key,
            "tool": self.job.runtime,
            "seconds": round(seconds, 3),
            "tools_started": self._results.tools_started,
            "cost_usd": self._results.spent.cost_usd,
        }
        match outcome:
            case Completed():
                log.info("turn ended", outcome="success", **fields)
            case Failure():
                log.error("turn ended", outcome="failed", error_code=outcome.code, message=outcome.message, **fields)
            case Cancelled():
                log.info("turn ended", outcome="cancelled", person=outcome.person, **fields)
            case Unknown():
                log.warning("turn ended", outcome="unknown", error_code="E_UNKNOWN_AFTER_CRASH", **fields)
