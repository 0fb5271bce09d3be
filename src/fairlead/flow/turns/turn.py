"""One job's turn: from its start to the facts that end it. The agent speaks; what lasts goes to the ledger.

However the agent behaves, a turn ends in exactly one outcome, and nothing of it is left running.
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from typing import Final, Literal, TypeAlias, cast

import msgspec

from fairlead.core import engine
from fairlead.core.commands import COMMANDS
from fairlead.core.decide.job_ends import Cancelled, Completed, EndJob, Failure, Outcome, TryAgain
from fairlead.core.decide.scheduling import ForgetResumeKey, HandOver, LearnResumeKey, ReportProgress
from fairlead.core.engine import EngineEvent, Invocation
from fairlead.core.ids import ResumeKey
from fairlead.core.state import Job, resume_slot
from fairlead.errors import Code, FairleadError
from fairlead.flow.ledger import Ledger
from fairlead.flow.queries.live_events import LiveEvents
from fairlead.flow.turns.approvals import Approvals, NoTiers, Tiers
from fairlead.flow.turns.invocation import InvocationMaker
from fairlead.flow.turns.limit_windows import LimitWindows, window_words
from fairlead.flow.turns.turn_results import TurnResults
from fairlead.kit.tasks import PausableTimeout, TaskOwner
from fairlead.observe import log, log_failure
from fairlead.ports import AttachmentFetcher, Blobs, Directories, Runtime, SessionInboxes

PROGRESS_SECONDS: Final = 30.0

OpenStream: TypeAlias = Callable[[Invocation], AsyncIterator[EngineEvent]]
"""Where a turn's events come from: `Runtime.invoke`, or the stream of a turn that the agent began by itself."""


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
        settings: TurnSettings,
        limit_windows: LimitWindows,
        fetcher: AttachmentFetcher | None = None,
    ) -> None:
        self.job = job
        self._runtime = runtime
        self._open_stream = open_stream or runtime.invoke
        self._can_be_repeated = open_stream is None  # nobody can ask an agent to begin its own turn once more
        self._ledger = ledger
        self._live_events = live_events
        self._approvals = approvals
        self._limit_windows = limit_windows
        self._invocations = InvocationMaker(
            ledger,
            blobs=blobs,
            inboxes=inboxes,
            directories=directories,
            fetcher=fetcher,
            workspaces=settings.workspaces,
        )
        self._settings = settings
        self._stopped: Outcome | None = None
        self._owner: TaskOwner | None = None
        self._timer = PausableTimeout(settings.time_limit_sec if runtime.capabilities.bounded_turns else None)
        self._results = TurnResults(blobs)
        self._progress_at = 0.0
        self._started_seq = ledger.state.seq

    async def run(self) -> None:
        """The whole turn: ask the agent, at most twice, within the time limit; then record how it ended."""
        began = asyncio.get_running_loop().time()
        outcome = self._stopped  # a turn that was stopped before its first step asks no agent
        if outcome is None:
            try:
                async with self._limit_time() as owner:
                    invocation = await self._invocations.make(self.job, self._started_seq)
                    await self._listen(invocation, owner)
                    if await self._may_try_again():
                        await self._listen(await self._begin_second_attempt(invocation), owner)
                    self._note_refused_requests()
                    self._note_spent_window()
                    outcome = await self._results.decide_outcome()
            except Exception as fault:  # a runtime that breaks, in whatever way, ends no more than its own job
                outcome = self._failure_of(fault)
        # A stop that a person asked for counts, however the agent came to its end.
        outcome = msgspec.structs.replace(self._stopped or outcome, spent=self._results.spent)
        await self._ledger.record_durably(EndJob(self.job.job_id, outcome))
        self._log_end(outcome, asyncio.get_running_loop().time() - began)

    def stop(self, outcome: Outcome) -> None:
        """Ask the turn to end like this, as soon as the agent lets go."""
        if self._stopped is None:
            self._stopped = outcome
            if self._owner is not None and not self._owner.is_failing:
                self._owner.start(self._stop_agent(), name="stop agent")

    # --- the steps of `run` ----------------------------------------------------------------------------------------

    @contextlib.asynccontextmanager
    async def _limit_time(self) -> AsyncGenerator[TaskOwner]:
        """Owns what runs beside the stream (open questions, a stop), and ends it with the turn."""
        async with self._timer, TaskOwner(f"turn {self.job.job_id}") as owner:
            self._owner = owner
            try:
                yield owner
            finally:
                self._owner = None
                owner.cancel()

    async def _listen(self, invocation: Invocation, owner: TaskOwner) -> None:
        if not self._runtime.capabilities.gets_ready:
            await self._hand_over_if("start")
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
        if self._stopped is not None or self.job.tried_again or self.job.state != "running":
            return False
        if failed.code is Code.E_RESUME_GONE:
            forgotten = await self._ledger.record_durably(ForgetResumeKey(self.job.job_id))
            return bool(forgotten.events)
        return failed.transient and self._runtime.capabilities.second_attempt

    async def _begin_second_attempt(self, first: Invocation) -> Invocation:
        failed = cast("engine.TurnFailed", self._results.ended)
        await self._ledger.record_durably(TryAgain(self.job.job_id, failed.code, failed.message))
        self._results.ended = None
        return msgspec.structs.replace(first, is_second_attempt=True, resume_key=self._proven_resume_key())

    def _proven_resume_key(self) -> str | None:
        """The key of an agent's session that has given an answer: a first attempt that failed may have left none."""
        session = self._ledger.state.sessions[self.job.session_key]
        slot = resume_slot(self.job.runtime or "", self.job.project_path)
        return session.proven_key(slot)

    def _failure_of(self, fault: Exception) -> Failure:
        match fault:
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
            with contextlib.suppress(TimeoutError):  # the grace bounds the telling too: a stuck agent takes no word
                async with asyncio.timeout(self._settings.interrupt_grace_sec):
                    await self._runtime.instruct(self.job.session_key, engine.Interrupt())
                    await asyncio.get_running_loop().create_future()  # the turn cancels this when the agent has ended
        self._timer.expire()

    # --- what the agent says ---------------------------------------------------------------------------------------

    async def _hand_over_if(self, moment: Literal["start", "ready", "told"]) -> None:
        """The agent does nothing before its start is on disk: a crash would leave work that no fact tells of. And it
        has no prompt before that is on disk: after a crash the job would run twice."""
        is_now = self._runtime.capabilities.hand_over == moment
        if is_now and self._ledger.apply_now(HandOver(self.job.job_id)).events:
            await self._ledger.until_all_durable()
        else:
            await self._ledger.until_durable(self._started_seq)

    async def _handle(self, event: EngineEvent, owner: TaskOwner) -> None:
        results = self._results
        match event:
            case engine.Ready():
                await self._hand_over_if("ready")
                return
            case engine.HandingOver():
                await self._hand_over_if("told")
                return
            case engine.TurnEnded() | engine.TurnFailed():
                results.ended = event
                return  # channels show the end when it is durable, not before
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
                self._report_progress()
            case engine.ImageProduced():
                await results.add_image(event)
            case engine.Noticed():
                self._note(event.text)
            case engine.UsageReported():
                results.add_usage(event)
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
