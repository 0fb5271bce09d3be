"""One turn as one process: spawn, stream, exit. Knows processes and translators, no agent by name."""

import asyncio
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import AbstractAsyncContextManager, contextmanager, suppress
from pathlib import Path
from typing import Final, TypeAlias

import msgspec

from fairlead.core.engine import EngineEvent, HandingOver, Ready, ToolEnded, ToolStarted, TurnFailed
from fairlead.errors import Code
from fairlead.kit.framing import LineTooLong
from fairlead.kit.processes import (
    AT_ONCE,
    DirectoryGone,
    Grace,
    OwnedProcess,
    ProgramNotExecutable,
    ProgramNotFound,
    StdinClosed,
    StdinStuck,
)
from fairlead.kit.tasks import OwnedTasks
from fairlead.ports import JobLog
from fairlead.runtimes.translator import Exit, Translator, is_end

CANCEL_GRACE = Grace(interrupt=0.6, terminate=0.6)
# Nobody waits for a turn that is done: its process may leave by itself, and finish its own files.
DONE_GRACE = Grace(end_of_input=1.0, terminate=2.0)
HURRIED_LEAVE_SEC: Final = 2.0
"""So long it may take where somebody does wait: who stops the session, or Fairlead itself."""
EXIT_PATIENCE = 10.0
STDERR_SHOWN = 16 * 1024


class CliCommand(msgspec.Struct, frozen=True, kw_only=True):
    """How a child is started. `stdin` is its prompt. Without one the prompt is an argument, and the child reads an
    empty standard input, because an open pipe may block it."""

    argv: tuple[str, ...]
    cwd: str
    env: Mapping[str, str]
    mark: str
    stdin: bytes | None = None


StartFault: TypeAlias = ProgramNotFound | ProgramNotExecutable | DirectoryGone | OSError
START_FAULTS: Final = (ProgramNotFound, ProgramNotExecutable, DirectoryGone, OSError)
"""All that starting a child raises when the child could not be started."""


def start_failure(fault: StartFault) -> TurnFailed:
    match fault:
        case ProgramNotFound() | ProgramNotExecutable():
            return TurnFailed(Code.E_CLI_NOT_FOUND, f"{fault}.")
        case DirectoryGone():
            return TurnFailed(Code.E_INVALID_PATH, f"{fault}. Is the project's directory still there?")
        case OSError():
            # For example: the argument list is too long, or there are too many processes.
            return TurnFailed(Code.E_CLI_NOT_FOUND, f"The agent could not be started: {fault.strerror or fault}.")


async def exit_of(process: OwnedProcess, *, is_interrupted: bool = False) -> Exit:
    """How a process ended. Its output has ended before."""
    try:
        async with asyncio.timeout(EXIT_PATIENCE):
            returncode: int | None = await process.wait()
    except TimeoutError:
        # The child has closed its output and does not exit: there is nothing more to wait for.
        returncode = (await process.end(CANCEL_GRACE)).returncode
    stderr = process.stderr_tail[-STDERR_SHOWN:].decode(errors="replace")
    return Exit(returncode, stderr, interrupted=is_interrupted)


def hang_failure(seconds: float) -> TurnFailed:
    return TurnFailed(Code.E_RUNTIME_HUNG, f"The agent printed no output for {seconds:g} s, so it was ended.")


class CliTurn:
    """`async for event in turn.events()`; `interrupt()` asks it to stop early and keeps the stream open. With
    `hang_sec`, silence of that length ends it, unless a tool runs. `leave` is the time that its process has when the
    turn has ended."""

    def __init__(
        self,
        command: CliCommand,
        translator: Translator,
        log: JobLog,
        *,
        hang_sec: float | None = None,
        leave: Grace = DONE_GRACE,
    ) -> None:
        self._leave = leave
        self._command = command
        self._translator = translator
        self._log = log
        self._hang_sec = hang_sec
        self._is_hung = False
        self._tools: set[str] = set()
        self._last_line_at = 0.0
        self._silence: asyncio.TimerHandle | None = None
        self._process: OwnedProcess | None = None
        self._feeding: asyncio.Task[None] | None = None
        self._is_interrupted = False
        self.has_ended = False
        """The end of the turn was given; its process may still be leaving."""
        self._tasks = OwnedTasks("turn of a CLI")
        self._is_ending = False

    def interrupt(self) -> None:
        """Also ends a process that is only just being started, and one that has answered and does not leave."""
        self._is_interrupted = True
        if self._process is not None and not self._is_ending:
            self._is_ending = True
            end = self._hurry_away(self._process) if self.has_ended else self._process.end(CANCEL_GRACE)
            self._tasks.start(end, name="end")

    @staticmethod
    async def _hurry_away(process: OwnedProcess) -> None:
        """It may still write down what was said, but nobody who stops it waits for hooks of the person's own."""
        with suppress(TimeoutError):
            async with asyncio.timeout(HURRIED_LEAVE_SEC):
                await process.wait()
        await process.end(AT_ONCE)

    async def events(self) -> AsyncGenerator[EngineEvent]:
        """Ready comes first, before a process is there, and HandingOver before the process has its prompt: one that
        reads its prompt boots meanwhile. The end of the turn comes as soon as it is known, and the stream ends when
        none of the processes is left; of a turn that was interrupted none is left before its end comes. Closing early
        ends the processes first."""
        try:
            child = self._prepare_child()
            yield Ready()
            if self._command.stdin is None and not self._is_interrupted:
                yield HandingOver()
            if self._is_interrupted:  # while the start of the turn was on its way to the disk: no process is started
                for event in self._translator.finish(Exit(None, interrupted=True)):
                    yield event
            else:
                async with child as process:
                    with self._attend(process):
                        if self._command.stdin is not None:
                            yield HandingOver()
                            self._feeding = self._tasks.start(self._feed_stdin(process), name="feed stdin")
                        async for event in self._read(process):
                            self.has_ended = is_end(event)
                            if self.has_ended and self._is_interrupted:
                                await process.end(CANCEL_GRACE)
                            yield event
                        await process.end(self._leave)
        except LineTooLong as fault:
            yield TurnFailed(Code.E_OUTPUT_TOO_LONG, f"The agent printed too long a line: {fault}.")
        except START_FAULTS as fault:
            if self.has_ended:
                raise
            yield start_failure(fault)
        finally:
            await self._tasks.join()
            self._log.close()

    async def _read(self, process: OwnedProcess) -> AsyncGenerator[EngineEvent]:
        """What the process prints, as events, to the end of the turn; what it prints after that is not read."""
        async for line in process.lines():
            for event in self._translate(line):
                yield self._name_hang(event)
                if is_end(event):
                    return
        for event in self._translator.finish(await exit_of(process, is_interrupted=self._is_interrupted)):
            yield self._name_hang(event)

    def _name_hang(self, event: EngineEvent) -> EngineEvent:
        return hang_failure(self._hang_sec or 0.0) if self._is_hung and is_end(event) else event

    @contextmanager
    def _attend(self, process: OwnedProcess) -> Generator[None]:
        """Meanwhile the process can be interrupted, and is ended when it is silent for too long."""
        self._process = process
        if self._is_interrupted:
            self.interrupt()
        self._last_line_at = asyncio.get_running_loop().time()
        self._watch_for_silence()
        try:
            yield
        finally:
            if self._silence is not None:
                self._silence.cancel()
            if self._feeding is not None:
                self._feeding.cancel()

    def _translate(self, line: bytes) -> list[EngineEvent]:
        self._last_line_at = asyncio.get_running_loop().time()
        events = self._translator.feed(line)
        for event in events:
            if isinstance(event, ToolStarted):
                self._tools.add(event.tool_id)
            elif isinstance(event, ToolEnded):
                self._tools.discard(event.tool_id)
        return events

    def _watch_for_silence(self) -> None:
        """Looks again whenever the silence could have lasted too long. While a tool runs, silence is no hang."""
        if self._hang_sec is None:
            return
        loop = asyncio.get_running_loop()
        left = self._last_line_at + self._hang_sec - loop.time()
        if left > 0 or self._tools:
            self._silence = loop.call_later(left if left > 0 else self._hang_sec, self._watch_for_silence)
        elif not self._is_interrupted:
            self._is_hung = True
            self.interrupt()

    def _prepare_child(self) -> AbstractAsyncContextManager[OwnedProcess]:
        command = self._command
        return OwnedProcess.spawn(
            command.argv,
            cwd=Path(command.cwd),
            env=command.env,
            mark=command.mark,
            stdin="empty" if command.stdin is None else "pipe",
            tee=self._log.write,
            grace=CANCEL_GRACE,
        )

    async def _feed_stdin(self, process: OwnedProcess) -> None:
        if self._is_interrupted:
            return  # the process is being ended, and must not begin with it
        try:
            await process.write(self._command.stdin or b"")
        except (StdinClosed, StdinStuck):
            return  # what the child prints shows whether it had read what it needed
        process.close_stdin()
