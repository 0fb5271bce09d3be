"""One job's turn: from its start to the facts that end it. The agent speaks; what lasts goes to the ledger.

Whatever happens, a turn ends in exactly one outcome, and nothing of it is left running.
"""

import asyncio
import contextlib
import math
from collections.abc import AsyncGenerator
from typing import Final, cast

import msgspec

from fairlead.core import engine
from fairlead.core.decide.job_ends import Cancelled, Completed, EndJob, Failed, Outcome, TryAgain
from fairlead.core.decide.messages import StoreAttachments
from fairlead.core.decide.scheduling import ForgetResumeKey, LearnResumeKey, ReportProgress
from fairlead.core.engine import EngineEvent, InputFile, Invocation
from fairlead.core.events import FileRef, Spent
from fairlead.core.ids import BlobName, ResumeKey
from fairlead.core.inbound import clean_text
from fairlead.core.state import Job, resume_slot
from fairlead.errors import Code, FairleadError, error
from fairlead.flow.intake.messages import INLINE_TEXT_BYTES
from fairlead.flow.ledger import Ledger
from fairlead.flow.queries.live_events import LiveEvents
from fairlead.flow.turns.approvals import Approvals
from fairlead.kit.tasks import PausableTimeout, TaskOwner
from fairlead.observe import log, log_failure
from fairlead.ports import AttachmentFetcher, Blobs, Directories, Runtime

PROGRESS_SECONDS: Final = 30.0
MAX_IMAGES: Final = 10
_EXTENSIONS: Final = {"image/png": "png", "image/jpeg": "jpg", "image/webp": "webp", "image/gif": "gif"}


class TurnSettings(msgspec.Struct, frozen=True, kw_only=True):
    time_limit_sec: float = 900.0
    interrupt_grace_sec: float = 1.0  # agents that heed an interruption do so in a tenth of it
    workspaces: str = ""


class _Gathered(msgspec.Struct):
    """What a turn has brought so far."""

    ended: engine.TurnEnded | engine.TurnFailed | None = None
    spent: Spent = Spent()
    files: list[FileRef] = []
    notices: list[str] = []
    tools_started: int = 0
    permission_granted: bool = False
    progress_at: float = 0.0


class Turn:
    def __init__(
        self,
        job: Job,
        runtime: Runtime,
        *,
        ledger: Ledger,
        live_events: LiveEvents,
        approvals: Approvals,
        blobs: Blobs,
        directories: Directories,
        settings: TurnSettings,
        fetcher: AttachmentFetcher | None = None,
    ) -> None:
        self.job = job
        self._runtime = runtime
        self._ledger = ledger
        self._live_events = live_events
        self._approvals = approvals
        self._blobs = blobs
        self._directories = directories
        self._settings = settings
        self._fetcher = fetcher
        self._stopped: Outcome | None = None
        self._owner: TaskOwner | None = None
        self._timer = PausableTimeout(settings.time_limit_sec if runtime.capabilities.bounded_turns else None)
        self._gathered = _Gathered()
        self._started_seq = ledger.state.seq

    def stop(self, outcome: Outcome) -> None:
        """Ask the turn to end like this, as soon as the agent lets go."""
        if self._stopped is None:
            self._stopped = outcome
            if self._owner is not None and not self._owner.is_failing:
                self._owner.start(self._let_go(), name="let go")

    async def run(self) -> None:
        began = asyncio.get_running_loop().time()
        outcome = await self._outcome()
        await self._ledger.record_durably(EndJob(self.job.job_id, outcome))
        self._log_end(outcome, asyncio.get_running_loop().time() - began)

    async def _outcome(self) -> Outcome:
        """What somebody asked for counts, however the agent came to its end."""
        if self._stopped is not None:
            return self._stopped
        outcome = await self._own_outcome()
        return outcome if self._stopped is None else self._stopped

    async def _own_outcome(self) -> Outcome:
        try:
            return await self._within_time()
        except TimeoutError:
            limit = self._settings.time_limit_sec
            return self._failed(Code.E_CLI_TIMEOUT, f"The agent was ended after {limit:.0f} s.")
        except FairleadError as fault:
            return self._failed(fault.code, fault.message)
        except Exception as fault:  # whatever a runtime does, it must not end more than its own job
            log_failure("turn crashed", fault, job_id=self.job.job_id)
            return self._failed(Code.E_INTERNAL, f"{type(fault).__name__}: {fault}")

    async def _within_time(self) -> Outcome:
        async with self._timer, TaskOwner(f"turn {self.job.job_id}") as owner:
            self._owner = owner
            try:
                return await self._attempts(owner)
            finally:
                self._owner = None
                owner.cancel()

    async def _let_go(self) -> None:
        """First ask politely, so that the agent keeps its talk in order; then close the stream. Ends with the agent."""
        if self._runtime.capabilities.interrupt:
            with contextlib.suppress(TimeoutError):  # also of the telling: a stuck agent takes no word
                async with asyncio.timeout(self._settings.interrupt_grace_sec):
                    await self._runtime.instruct(self.job.session_key, engine.Interrupt())
                    await asyncio.get_running_loop().create_future()
        self._timer.expire()

    async def _attempts(self, owner: TaskOwner) -> Outcome:
        invocation = await self._invocation()
        await self._listen(invocation, owner)
        failed = self._gathered.ended
        if isinstance(failed, engine.TurnFailed) and await self._may_try_again(failed):
            await self._ledger.record_durably(TryAgain(self.job.job_id, failed.code, failed.message))
            self._gathered.ended = None
            again = msgspec.structs.replace(invocation, is_second_attempt=True, resume_key=self._trusted_key())
            await self._listen(again, owner)
        return await self._result()

    async def _may_try_again(self, failed: engine.TurnFailed) -> bool:
        """At most once, and only if the agent cannot have done anything yet and nobody has had enough."""
        gathered = self._gathered
        may_have_acted = gathered.tools_started or gathered.permission_granted
        if self._stopped is not None or may_have_acted or self.job.tried_again or self.job.state != "running":
            return False
        if failed.code is Code.E_RESUME_GONE:
            forgotten = await self._ledger.record_durably(ForgetResumeKey(self.job.job_id))
            return bool(forgotten.events)
        return failed.transient and self._runtime.capabilities.second_attempt

    def _trusted_key(self) -> str | None:
        """The talk to go on with: one that an answer has come with. A failed beginning may have left nothing behind."""
        session = self._ledger.state.sessions[self.job.session_key]
        slot = resume_slot(self.job.tool or "", self.job.project_path)
        return session.proven_key(slot)

    async def _invocation(self) -> Invocation:
        job, state = self.job, self._ledger.state
        session = state.sessions[job.session_key]
        problem = self._directories.problem_at(job.project_path)
        if problem:
            raise error(Code.E_INVALID_PATH, f"Project {job.project}: {problem}")
        prompt = job.prompt
        if job.prompt_blob:
            prompt = (await self._blobs.get(job.prompt_blob)).decode()
        if self._fetcher is not None and any(not (a.blob or a.path) for a in job.attachments):
            await self._start_is_a_fact()
            await self._ledger.record_durably(StoreAttachments(job.job_id, await self._fetcher.fetch(job)))
        prompt += _not_fetched(job)
        project = state.projects.get(job.project)
        if project is not None and job.tool not in project.enabled_tools:
            raise error(Code.E_TOOL_NOT_ENABLED, f"{job.tool} is no longer enabled in project {job.project}.")
        return Invocation(
            job_id=job.job_id,
            session_key=job.session_key,
            generation=job.generation,
            project_name=job.project,
            project_path=job.project_path,
            workspace_path=f"{self._settings.workspaces}/{job.project}",
            prompt=prompt,
            mark=f"{state.state_id}:{job.job_id}",
            attempt=job.attempt,
            resume_key=job.resume_key or None,
            model=session.models.get(job.tool or ""),
            args=project.default_args.get(job.tool or "", ()) if project is not None else (),
            files=tuple(
                InputFile(a.path or self._blobs.path_of(a.blob), a.name, a.media_type)
                for a in job.attachments
                if a.blob or a.path
            ),
            allowed=tuple(session.rules),
        )

    async def _listen(self, invocation: Invocation, owner: TaskOwner) -> None:
        if not self._runtime.capabilities.gets_ready:
            await self._start_is_a_fact()
        stream = cast("AsyncGenerator[EngineEvent]", self._runtime.invoke(invocation))
        async with contextlib.aclosing(stream):
            async for event in stream:
                await self._take(event, owner)
                if self._gathered.ended is not None:
                    return

    async def _start_is_a_fact(self) -> None:
        """Nothing happens before it."""
        await self._ledger.until_durable(self._started_seq)

    async def _take(self, event: EngineEvent, owner: TaskOwner) -> None:
        gathered = self._gathered
        match event:
            case engine.Ready():
                await self._start_is_a_fact()
                return
            case engine.TurnEnded() | engine.TurnFailed():
                gathered.ended = event
                return  # the end is shown when it is durable, not before
            case engine.ResumeKeyFound():
                await self._ledger.record_durably(LearnResumeKey(self.job.job_id, ResumeKey(event.key)))
            case engine.PermissionRequested() | engine.QuestionRequested() | engine.PlanProposed():
                owner.start(self._ask(event), name=f"ask {event.request_id}")
                return  # shown as a question, once it is durable
            case engine.RequestWithdrawn() if self._stopped is not None:
                pass  # it falls with the turn, whose end says what becomes of its questions
            case engine.RequestWithdrawn():
                await self._approvals.withdraw(self.job.job_id, event.request_id)
            case engine.ToolStarted():
                gathered.tools_started += 1
                self._report_progress()
            case engine.ImageProduced():
                await self._keep_image(event)
            case engine.Noticed():
                self._notice(event.text)
            case engine.UsageReported():
                gathered.spent = _added(gathered.spent, event)
            case _:
                pass
        self._live_events.agent_acted(self.job.job_id, self.job.session_key, event)

    async def _ask(self, ask: engine.Ask) -> None:
        with self._timer.paused():
            response = await self._approvals.ask(self.job.job_id, ask)
        if response.verdict == "allow" and isinstance(ask, engine.PermissionRequested):
            self._gathered.permission_granted = True
        await self._runtime.instruct(self.job.session_key, response)

    def _report_progress(self) -> None:
        now = asyncio.get_running_loop().time()
        if now - self._gathered.progress_at >= PROGRESS_SECONDS:
            self._gathered.progress_at = now
            self._ledger.apply_now(ReportProgress(self.job.job_id, self._gathered.tools_started))

    def _notice(self, text: str) -> None:
        """Once, also where a second attempt says it again."""
        if text not in self._gathered.notices:
            self._gathered.notices.append(text)
            log.warning("notice", job_id=self.job.job_id, session_key=self.job.session_key, message=text)

    async def _keep_image(self, image: engine.ImageProduced) -> None:
        """The same picture comes by several ways (stream, mirror, result): its content tells."""
        files = self._gathered.files
        blob = await self._blobs.put(image.data)
        if len(files) < MAX_IMAGES and all(f.blob != blob for f in files):
            extension = _EXTENSIONS.get(image.media_type, "bin")
            files.append(FileRef(f"image-{len(files) + 1}.{extension}", blob, image.media_type))

    async def _result(self) -> Outcome:
        gathered = self._gathered
        match gathered.ended:
            case engine.TurnEnded(text=text):
                text = clean_text(self._with_notices(text))
                return Completed(text, await self._blob_for(text), tuple(gathered.files), gathered.spent)
            case engine.TurnFailed(code=code, message=message, text=text):
                return self._failed(code, message, text)
            case None:
                return self._failed(Code.E_ADAPTER_MISSING_RESULT, "The agent's stream ended without a result.")

    async def _blob_for(self, text: str) -> BlobName:
        data = text.encode()
        if len(data) <= INLINE_TEXT_BYTES:
            return BlobName("")
        try:
            return await self._blobs.put(data)
        except FairleadError as full:
            if full.code is not Code.E_DISK_FULL:
                raise
            return BlobName("")  # a long line of the journal, which waits for room: better than losing the answer

    def _failed(self, code: Code, message: str, text: str = "") -> Failed:
        told = self._with_notices(text[:INLINE_TEXT_BYTES])
        return Failed(code, clean_text(message[:4000]), clean_text(told), self._gathered.spent)

    def _with_notices(self, text: str) -> str:
        """At the foot of the answer: the one place that every channel shows, whenever it is fetched."""
        return "\n\n".join(part for part in (text, *(f"⚠ {notice}" for notice in self._gathered.notices)) if part)

    def _log_end(self, outcome: Outcome, seconds: float) -> None:
        """The one line per turn."""
        fields = {
            "job_id": self.job.job_id,
            "session_key": self.job.session_key,
            "tool": self.job.tool,
            "seconds": round(seconds, 3),
            "tools_started": self._gathered.tools_started,
            "cost_usd": self._gathered.spent.cost_usd,
        }
        match outcome:
            case Completed():
                log.info("turn ended", outcome="success", **fields)
            case Failed():
                log.error("turn ended", outcome="failed", error_code=outcome.code, message=outcome.message, **fields)
            case Cancelled():
                log.info("turn ended", outcome="cancelled", person=outcome.person, **fields)


def _not_fetched(job: Job) -> str:
    """Files that were refused: the agent is given their addresses instead."""
    left = [f"- {a.name}: {a.url}" for a in job.attachments if a.url and not (a.blob or a.path)]
    return "\n".join(["\n\nAttached, but not fetched:", *left]) if left else ""


def _added(spent: Spent, usage: engine.UsageReported) -> Spent:
    return Spent(
        spent.input_tokens + usage.input_tokens,
        spent.output_tokens + usage.output_tokens,
        spent.cached_tokens + usage.cached_tokens,
        # JSON has no word for infinity or for what is no number: the journal could not be read back.
        spent.cost_usd + (usage.cost_usd if math.isfinite(usage.cost_usd) else 0.0),
    )
