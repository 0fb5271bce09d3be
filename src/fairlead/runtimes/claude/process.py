"""One long-lived Claude: a process that is idle, in a turn or dead. Knows pipes and clocks, no lines."""

import asyncio
import uuid
from collections.abc import AsyncGenerator, Callable, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from fairlead.core.engine import (
    INTERRUPTED,
    AgentInstruction,
    EngineEvent,
    HandingOver,
    Interrupt,
    Response,
    SetMode,
    SetModel,
    SteerResult,
    TurnEnded,
    TurnFailed,
)
from fairlead.errors import Code
from fairlead.kit.framing import LineTooLong
from fairlead.kit.processes import Grace, OwnedProcess, StdinClosed, StdinStuck
from fairlead.kit.tasks import OwnedTasks
from fairlead.ports import JobLog
from fairlead.runtimes.claude import wire
from fairlead.runtimes.claude.command_line import SessionChoice
from fairlead.runtimes.claude.protocol import CONTEXT_USAGE, INITIALIZE, ClaudeProtocol, ends_the_process
from fairlead.runtimes.cli_turn import CANCEL_GRACE, START_FAULTS, exit_of, hang_failure, start_failure
from fairlead.runtimes.tool_server import ToolGrant
from fairlead.runtimes.translator import exit_failure, is_end

CONTEXT_DELAY: Final = 1.0
DEFAULT_MODEL: Final = "default"  # claude's own word for the model it is started with
# No SIGINT: it would only repeat the interruption that claude got over the pipe and did not heed.
AFTER_INTERRUPT: Final = Grace(terminate=0.6)


_LOST: Final = SteerResult("unknown", "The agent ended before it said whether it took the text.")


class ProcessLost(Exception):  # noqa: N818 - says what happened
    """The process ended or hangs in the middle of a turn. `is_wanted`: because somebody ended it."""

    def __init__(self, failure: TurnFailed, *, is_wanted: bool = False) -> None:
        super().__init__(failure.message)
        self.failure = failure
        self.is_wanted = is_wanted


class Launch(msgspec.Struct, frozen=True):
    """What a process is started with, except session and model. Equal launches can serve the same turns."""

    argv: tuple[str, ...]
    cwd: str
    env: Mapping[str, str]


class Prompt(msgspec.Struct, frozen=True):
    """Claude names `uuid` in the result that answers the prompt, and ignores a prompt whose uuid it has seen before."""

    uuid: str
    content: str | list[dict[str, Any]]
    allowed: tuple[str, ...] = ()


OnAgentTurn = Callable[[str, EngineEvent], None]
"""Gets the id and the events of a turn that Claude began by itself."""


class ClaudeProcess:
    """`start()`, then turns one after another, then `end()`, which anybody may call at any time. Without
    `on_agent_turn` it serves one turn: nobody would hear what Claude does after it."""

    def __init__(
        self,
        launch: Launch,
        session: SessionChoice,
        *,
        mark: str,
        model: str,
        mode: str = "",
        on_agent_turn: OnAgentTurn | None = None,
        on_rest: Callable[[], None] | None = None,
        grant: ToolGrant | None = None,
    ) -> None:
        self._grant = grant
        self.launch = launch
        self.mark = mark
        self.protocol = ClaudeProtocol(session.key, f"{uuid.uuid4().hex}-", spent=0.0 if session.begins_empty else None)
        self.is_dead = False
        self.is_in_turn = False
        self._is_interrupted = False
        self._has_answered = False
        self.model = model
        self.mode = mode
        self.session_log: Path | None = None
        """Where claude writes down what is said in this process's session, once that was found."""
        self._session = session
        self._is_for_one_turn = on_agent_turn is None
        self._on_agent_turn = on_agent_turn or _drop
        self._on_rest = on_rest or (lambda: None)
        self._log: JobLog | None = None
        self._process: OwnedProcess | None = None
        self._started = asyncio.Event()
        self._queue: asyncio.Queue[EngineEvent | ProcessLost | None] = asyncio.Queue()
        self._last_line_at = 0.0
        self._lost: ProcessLost | None = None
        self._has_prompt = asyncio.Event()
        self._texts: dict[str, asyncio.Future[SteerResult]] = {}
        self._tasks = OwnedTasks(f"claude {mark}")
        self._context_timer: asyncio.TimerHandle | None = None
        self._requests_sent = 0
        self._has_initialized = False

    @property
    def is_idle(self) -> bool:
        """Nothing is lost if the process ends now."""
        return not (self.is_dead or self.is_in_turn or self.protocol.has_work_of_its_own)

    def start(self) -> None:
        self._tasks.start(self._run_child(), name="life")

    async def end(self, grace: Grace = CANCEL_GRACE) -> None:
        """Returns when nothing of the process runs any more."""
        self.is_dead = True
        await self._started.wait()
        if self._process is not None:
            await self._process.end(grace)
        await self._tasks.join()

    # --- a turn ----------------------------------------------------------------------------------------------------

    async def turn(self, prompt: Prompt, log: JobLog, *, hang_sec: float | None) -> AsyncGenerator[EngineEvent]:
        """Ends with the end of the turn, or raises ProcessLost when there is no process left to end it."""
        self.is_in_turn = True
        self._is_interrupted = False
        self._has_prompt.clear()
        self._queue = asyncio.Queue()
        self._take_log(log)
        self._cancel_context_timer()
        has_ended = False
        try:
            self.protocol.begin(prompt.uuid, prompt.allowed)
            await self._until_started()
            yield HandingOver()
            if self._is_interrupted:  # before the agent had anything to do
                await self._leave_unasked()
                has_ended = True
                yield TurnEnded("", INTERRUPTED)
                return
            await self._write_or_lose(wire.user_line(prompt.content, prompt.uuid))
            self._has_prompt.set()
            self._last_line_at = asyncio.get_running_loop().time()
            while not has_ended:
                event = await self._next_event(hang_sec)
                if event is None:
                    continue
                has_ended = is_end(event)
                if has_ended:
                    await self._conclude(event)
                yield event
        finally:
            self._settle_texts(SteerResult("too_late") if has_ended else _LOST)
            if not has_ended:
                await self.end(AFTER_INTERRUPT if self._is_interrupted else CANCEL_GRACE)

    async def _leave_unasked(self) -> None:
        """A process that was started for this turn ends with it: nobody knows whether it would ever answer. One that
        has answered before stays for the session's next turn."""
        if not self._has_answered:
            await self.end(AFTER_INTERRUPT)
        self._rest()

    async def steer(self, text: Prompt, *, foreign: bool) -> SteerResult:
        """Another user message. Claude takes it up between two tools, or right after the answer that it gives now."""
        while self.is_in_turn and not self._has_prompt.is_set():
            await self._has_prompt.wait()
        if not self.is_in_turn or self._is_interrupted or not self.protocol.steer(text.uuid, foreign=foreign):
            return SteerResult("too_late")
        settled: asyncio.Future[SteerResult] = asyncio.get_running_loop().create_future()
        self._texts[text.uuid] = settled
        await self._write(wire.user_line(text.content, text.uuid))
        return await settled

    def _settle_texts(self, result: SteerResult, uuid: str = "") -> None:
        """Of this text, or of all that Claude has not spoken of."""
        for name in (uuid,) if uuid else tuple(self._texts):
            settled = self._texts.pop(name, None)
            if settled is not None and not settled.done():
                settled.set_result(result)

    async def _conclude(self, event: EngineEvent) -> None:
        """A process for one turn is ended by its owner after the turn, unless somebody wanted the turn to stop."""
        self._has_answered = True
        has_texts = self._is_interrupted and bool(self._texts)  # an older Claude would go on with them
        if has_texts or ends_the_process(event) or (self._is_for_one_turn and self._is_interrupted):
            await self.end()
        self._rest()

    def _rest(self) -> None:
        self.is_in_turn = False
        self._has_prompt.set()  # nobody waits any longer
        if not self.is_dead:
            loop = asyncio.get_running_loop()
            self._context_timer = loop.call_later(CONTEXT_DELAY, self._ask_for_context)
        self._on_rest()

    async def _next_event(self, hang_sec: float | None) -> EngineEvent | None:
        loop = asyncio.get_running_loop()
        is_clocked = hang_sec is not None and not self.protocol.is_waiting
        due = self._last_line_at + hang_sec if is_clocked and hang_sec is not None else None
        try:
            if self._queue.empty():
                async with asyncio.timeout_at(due):
                    event = await self._queue.get()
            else:
                event = self._queue.get_nowait()
        except TimeoutError:
            if due is not None and loop.time() >= due >= self._last_line_at + (hang_sec or 0.0):
                raise ProcessLost(hang_failure(hang_sec or 0.0)) from None
            return None
        if isinstance(event, ProcessLost):
            raise event
        return event

    async def instruct(self, instruction: AgentInstruction) -> None:
        match instruction:
            case Response():
                line = self.protocol.write_response(instruction)
                if line is not None:
                    await self._write(line)
                    # The hang limit, which did not count while the person thought, counts from now.
                    self._last_line_at = asyncio.get_running_loop().time()
                    self._queue.put_nowait(None)
            case Interrupt():
                self._is_interrupted = self.protocol.is_interrupted = True
                # Else claude would go on with the texts that wait in its own queue.
                await self._request({"subtype": "interrupt", "cancel_queued": True})
            case SetModel():
                self.model = instruction.model
                await self._request({"subtype": "set_model", "model": instruction.model})
            case SetMode():
                await self.ask_mode(instruction.mode)

    def can_serve(self, launch: Launch, session: SessionChoice) -> bool:
        """Another session, tier or directory needs another process; another model or mode does not."""
        return self.launch == launch and self.protocol.key == session.key and not session.is_new

    async def switch_to(self, model: str, mode: str) -> None:
        if self.model != model:
            await self.instruct(SetModel(model or DEFAULT_MODEL))
            self.model = model
        if mode and self.mode != mode:
            await self.ask_mode(mode)

    async def ask_mode(self, mode: str) -> None:
        self.mode = mode
        await self._request({"subtype": "set_permission_mode", "mode": mode})

    # --- the life of the process -----------------------------------------------------------------------------------

    async def _run_child(self) -> None:
        try:
            async with OwnedProcess.spawn(
                (*self.launch.argv, *self._model_and_mode_flags(), *self._session.flags()),
                cwd=Path(self.launch.cwd),
                env={**self.launch.env, **(self._grant.env if self._grant is not None else {})},
                mark=self.mark,
                tee=self._tee,
                grace=CANCEL_GRACE,
            ) as process:
                self._process = process
                self._started.set()
                async for line in process.lines():
                    await self._receive(line)
                lost = exit_failure(await exit_of(process))
        except LineTooLong as fault:
            lost = TurnFailed(Code.E_OUTPUT_TOO_LONG, f"The agent printed too long a line: {fault}.")
        except START_FAULTS as fault:
            lost = start_failure(fault)
        except Exception as fault:  # the turn waits for this process, so it must be told of any fault
            lost = TurnFailed(Code.E_INTERNAL, f"{type(fault).__name__}: {fault}")
        self._mark_dead(lost)

    def _model_and_mode_flags(self) -> tuple[str, ...]:
        """These flags stand behind the project's own arguments, because claude takes the last one of its kind."""
        return (
            *(("--model", self.model) if self.model else ()),
            *(("--permission-mode", self.mode) if self.mode else ()),
        )

    def _mark_dead(self, lost: TurnFailed) -> None:
        was_ended, self.is_dead = self.is_dead, True
        self._take_log(None)
        if self._grant is not None:  # behind the log, which is searched for the capability when it is written
            self._grant.revoke()
        self._cancel_context_timer()
        self._lost = ProcessLost(lost, is_wanted=was_ended)
        self._started.set()
        self._settle_texts(_LOST)
        self._has_prompt.set()
        self._queue.put_nowait(self._lost)
        if turn_id := self.protocol.agent_turn_id:
            self._on_agent_turn(turn_id, TurnEnded("", INTERRUPTED) if was_ended else lost)
            self.protocol.end_agent_turn()
        self._on_rest()

    async def _receive(self, line: bytes) -> None:
        self._last_line_at = asyncio.get_running_loop().time()
        result = self.protocol.receive(line)
        if result.taken:
            self._settle_texts(SteerResult("taken"), result.taken)
        if result.cancelled:
            self._settle_texts(SteerResult("too_late"), result.cancelled)
        for event in result.job:
            self._queue.put_nowait(event)
        self._pass_on_agent_turn(result.agent_turn)
        for reply in result.reply:
            await self._write(reply)

    def _pass_on_agent_turn(self, events: list[EngineEvent]) -> None:
        turn_id = self.protocol.agent_turn_id
        for event in events:
            self._on_agent_turn(turn_id, event)
            if is_end(event):
                self.protocol.end_agent_turn()
                self._on_rest()

    # --- writing ---------------------------------------------------------------------------------------------------

    async def _until_started(self) -> OwnedProcess:
        await self._started.wait()
        if self._lost is not None or self._process is None:
            raise self._lost or ProcessLost(TurnFailed(Code.E_INTERNAL, "The process never started."))
        return self._process

    async def _write_or_lose(self, line: bytes) -> None:
        process = await self._until_started()
        try:
            if not self._has_initialized:
                line = wire.request_line(INITIALIZE, {"subtype": "initialize", "hooks": None}) + line
                self._has_initialized = True
            await process.write(line)
        except StdinStuck as fault:
            raise ProcessLost(TurnFailed(Code.E_RUNTIME_HUNG, f"The agent does not read its input: {fault}")) from fault
        except StdinClosed:
            return  # the process is ending: its last lines and its exit, which come through the queue, tell why

    async def _write(self, line: bytes) -> None:
        try:
            if self._process is not None and not self.is_dead:
                await self._process.write(line)
        except (StdinClosed, StdinStuck):
            return  # an ending process is told through the queue, and one that does not read is ended by the hang limit

    async def _request(self, request: dict[str, Any]) -> None:
        self._requests_sent += 1
        await self._write(wire.request_line(f"fairlead-{self._requests_sent}", request))

    def _ask_for_context(self) -> None:
        if not self.is_dead and not self.is_in_turn:
            line = wire.request_line(CONTEXT_USAGE, {"subtype": "get_context_usage"})
            self._tasks.start(self._write(line), name="ask for context usage")

    def _cancel_context_timer(self) -> None:
        if self._context_timer is not None:
            self._context_timer.cancel()

    # --- the log ---------------------------------------------------------------------------------------------------

    def _tee(self, stream: Any, data: bytes) -> None:
        if self._log is not None:
            self._log.write(stream, data)

    def _take_log(self, log: JobLog | None) -> None:
        """What claude prints between two jobs goes to the log of the first."""
        if self._log is not None:
            self._log.close()
        self._log = log


def _drop(_turn_id: str, _event: EngineEvent) -> None:
    """For a process that serves one turn and ends with it."""
