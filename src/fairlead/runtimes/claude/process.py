"""One long-lived Claude: a process that is idle, busy or dead. Knows pipes and clocks, not what is said."""

import asyncio
import uuid
from collections.abc import AsyncGenerator, Callable, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from fairlead.core.engine import (
    AgentInstruction,
    EngineEvent,
    Interrupt,
    Response,
    SetMode,
    SetModel,
    TurnEnded,
    TurnFailed,
)
from fairlead.errors import Code
from fairlead.kit.framing import LineTooLong
from fairlead.kit.processes import Grace, OwnedProcess, StdinClosed, StdinStuck
from fairlead.ports import JobLog
from fairlead.runtimes.claude import wire
from fairlead.runtimes.claude.command_line import AgentSession
from fairlead.runtimes.claude.dialogue import CONTEXT_USAGE, INITIALIZE, Dialogue, ends_the_process
from fairlead.runtimes.cli_turn import CANCEL_GRACE, exit_of, hung, start_failure
from fairlead.runtimes.translator import INTERRUPTED, exit_failure, is_end

CONTEXT_DELAY: Final = 1.0
# SIGINT would only say again what it was told over the pipe and did not heed.
AFTER_INTERRUPT: Final = Grace(terminate=0.6)


class ProcessLost(Exception):  # noqa: N818 - says what happened
    """The process is gone, or as good as gone, in the middle of a turn. `is_wanted`: because somebody ended it."""

    def __init__(self, failure: TurnFailed, *, is_wanted: bool = False) -> None:
        super().__init__(failure.message)
        self.failure = failure
        self.is_wanted = is_wanted


class Launch(msgspec.Struct, frozen=True):
    """What a process is started with, but for talk and model. Two that are equal can serve the same turns."""

    argv: tuple[str, ...]
    cwd: str
    env: Mapping[str, str]


class Prompt(msgspec.Struct, frozen=True):
    """`uuid` comes back in the result that answers it; the same one twice would be taken for a repetition."""

    uuid: str
    content: str | list[dict[str, Any]]
    allowed: tuple[str, ...] = ()


UnaskedHeard = Callable[[str, EngineEvent], None]


class ClaudeProcess:
    """`start()`, then turns one after another, then `end()`, which anybody may call at any time."""

    def __init__(
        self,
        launch: Launch,
        agent_session: AgentSession,
        *,
        mark: str,
        model: str,
        mode: str = "",
        on_unasked: UnaskedHeard,
        on_idle: Callable[[], None],
    ) -> None:
        self.launch = launch
        self.mark = mark
        self.dialogue = Dialogue(agent_session.key, f"{uuid.uuid4().hex}-", spent=0.0 if agent_session.is_new else None)
        self.is_dead = False
        self.is_in_turn = False
        self._is_interrupted = False
        self.model = model
        self.mode = mode
        self._talk = agent_session
        self._on_unasked = on_unasked
        self._on_idle = on_idle
        self._log: JobLog | None = None
        self._process: OwnedProcess | None = None
        self._started = asyncio.Event()
        self._queue: asyncio.Queue[EngineEvent | ProcessLost | None] = asyncio.Queue()
        self._heard_at = 0.0
        self._lost: ProcessLost | None = None
        self._life: asyncio.Task[None] | None = None
        self._context_timer: asyncio.TimerHandle | None = None
        self._writes: set[asyncio.Task[None]] = set()
        self._asked = 0

    @property
    def is_idle(self) -> bool:
        """Nothing is lost if it ends now."""
        return not (self.is_dead or self.is_in_turn or self.dialogue.has_work_of_its_own)

    def start(self) -> None:
        self._life = asyncio.create_task(self._live(), name=f"claude {self.mark}")

    async def end(self, grace: Grace = CANCEL_GRACE) -> None:
        """Returns when nothing of it runs any more."""
        self.is_dead = True
        await self._started.wait()
        if self._process is not None:
            await self._process.end(grace)
        if self._life is not None and self._life is not asyncio.current_task():
            await asyncio.wait({self._life})

    # --- a turn ----------------------------------------------------------------------------------------------------

    async def turn(self, prompt: Prompt, log: JobLog, *, hang_sec: float | None) -> AsyncGenerator[EngineEvent]:
        """Ends with the end of the turn, or raises TalkLost when there is no process left to end it."""
        self.is_in_turn = True
        self._is_interrupted = False
        self._queue = asyncio.Queue()
        self._take_log(log)
        self._cancel_context_timer()
        is_whole = False
        try:
            self.dialogue.begin(prompt.uuid, prompt.allowed)
            await self._write_or_lose(wire.user_line(prompt.content, prompt.uuid))
            self._heard_at = asyncio.get_running_loop().time()
            while True:
                event = await self._next(hang_sec)
                if event is None:
                    continue
                is_whole = is_end(event)
                if is_whole and ends_the_process([event]):
                    await self.end()
                if is_whole:
                    self._rest()
                yield event
                if is_whole:
                    return
        finally:
            if not is_whole:
                await self.end(AFTER_INTERRUPT if self._is_interrupted else CANCEL_GRACE)

    def _rest(self) -> None:
        self.is_in_turn = False
        if not self.is_dead:
            loop = asyncio.get_running_loop()
            self._context_timer = loop.call_later(CONTEXT_DELAY, self._ask_for_context)
        self._on_idle()

    async def _next(self, hang_sec: float | None) -> EngineEvent | None:
        loop = asyncio.get_running_loop()
        is_clocked = hang_sec is not None and not self.dialogue.is_waiting
        due = self._heard_at + hang_sec if is_clocked and hang_sec is not None else None
        try:
            async with asyncio.timeout_at(due):
                event = await self._queue.get()
        except TimeoutError:
            if due is not None and loop.time() >= due >= self._heard_at + (hang_sec or 0.0):
                raise ProcessLost(hung(hang_sec or 0.0)) from None
            return None
        if isinstance(event, ProcessLost):
            raise event
        return event

    async def instruct(self, instruction: AgentInstruction) -> None:
        match instruction:
            case Response():
                line = self.dialogue.answer(instruction)
                if line is not None:
                    await self._write(line)
                    # The clock that stood still while a person thought begins anew.
                    self._heard_at = asyncio.get_running_loop().time()
                    self._queue.put_nowait(None)
            case Interrupt():
                self._is_interrupted = True
                await self._request({"subtype": "interrupt"})
            case SetModel():
                self.model = instruction.model
                await self._request({"subtype": "set_model", "model": instruction.model})
            case SetMode():
                await self.ask_mode(instruction.mode)

    async def ask_mode(self, mode: str) -> None:
        self.mode = mode
        await self._request({"subtype": "set_permission_mode", "mode": mode})

    # --- the life of the process -----------------------------------------------------------------------------------

    async def _live(self) -> None:
        try:
            async with OwnedProcess.spawn(
                (*self.launch.argv, *self._chosen_flags(), *self._talk.flags()),
                cwd=Path(self.launch.cwd),
                env=self.launch.env,
                mark=self.mark,
                tee=self._tee,
                grace=CANCEL_GRACE,
            ) as process:
                self._process = process
                self._started.set()
                async for line in process.lines():
                    await self._hear(line)
                lost = exit_failure(await exit_of(process))
        except LineTooLong as fault:
            lost = TurnFailed(Code.E_OUTPUT_TOO_LONG, f"The agent printed too long a line: {fault}.")
        except Exception as fault:
            lost = start_failure(fault) or TurnFailed(Code.E_INTERNAL, f"{type(fault).__name__}: {fault}")
        self._die(lost)

    def _chosen_flags(self) -> tuple[str, ...]:
        """They stand behind the project's own arguments: the later word counts."""
        return (
            *(("--model", self.model) if self.model else ()),
            *(("--permission-mode", self.mode) if self.mode else ()),
        )

    def _die(self, lost: TurnFailed) -> None:
        was_ended, self.is_dead = self.is_dead, True
        self._cancel_context_timer()
        self._lost = ProcessLost(lost, is_wanted=was_ended)
        self._started.set()
        self._queue.put_nowait(self._lost)
        if turn_id := self.dialogue.unasked_turn:
            self._on_unasked(turn_id, TurnEnded("", INTERRUPTED) if was_ended else lost)
            self.dialogue.end_own_turn()
        self._take_log(None)
        self._on_idle()

    async def _hear(self, line: bytes) -> None:
        self._heard_at = asyncio.get_running_loop().time()
        heard = self.dialogue.hear(line)
        for event in heard.job:
            self._queue.put_nowait(event)
        self._pass_on_unasked(heard.unasked)
        for reply in heard.reply:
            await self._write(reply)

    def _pass_on_unasked(self, events: list[EngineEvent]) -> None:
        turn_id = self.dialogue.unasked_turn
        for event in events:
            self._on_unasked(turn_id, event)
            if is_end(event):
                self.dialogue.end_own_turn()
                self._on_idle()

    # --- writing ---------------------------------------------------------------------------------------------------

    async def _write_or_lose(self, line: bytes) -> None:
        await self._started.wait()
        if self._lost is not None or self._process is None:
            raise self._lost or ProcessLost(TurnFailed(Code.E_INTERNAL, "The process never started."))
        try:
            if not self.dialogue.known.models:
                await self._process.write(wire.request_line(INITIALIZE, {"subtype": "initialize", "hooks": None}))
            await self._process.write(line)
        except StdinStuck as fault:
            raise ProcessLost(TurnFailed(Code.E_RUNTIME_HUNG, f"The agent does not read its input: {fault}")) from fault
        except StdinClosed:
            return  # it is ending; its last words tell why, and come through the queue

    async def _write(self, line: bytes) -> None:
        try:
            if self._process is not None and not self.is_dead:
                await self._process.write(line)
        except (StdinClosed, StdinStuck):
            return  # see above; and what does not read is found by the hang limit

    async def _request(self, request: dict[str, Any]) -> None:
        self._asked += 1
        await self._write(wire.request_line(f"fairlead-{self._asked}", request))

    def _ask_for_context(self) -> None:
        if not self.is_dead and not self.is_in_turn:
            line = wire.request_line(CONTEXT_USAGE, {"subtype": "get_context_usage"})
            task = asyncio.get_running_loop().create_task(self._write(line))
            self._writes.add(task)
            task.add_done_callback(self._writes.discard)

    def _cancel_context_timer(self) -> None:
        if self._context_timer is not None:
            self._context_timer.cancel()

    # --- the log ---------------------------------------------------------------------------------------------------

    def _tee(self, stream: Any, data: bytes) -> None:
        if self._log is not None:
            self._log.write(stream, data)

    def _take_log(self, log: JobLog | None) -> None:
        """What is printed between two jobs still belongs to the log of the first."""
        if self._log is not None:
            self._log.close()
        self._log = log
