"""Owned processes: a child and all that it starts end with their owner. Knows nothing of what a child prints."""

import asyncio
import errno
import os
import shutil
import signal
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Literal, Self

import msgspec

from fairlead.kit.confinement import ChildLaunch, confine
from fairlead.kit.framing import DEFAULT_LIMIT, LineFramer, LineTooLong, read_lines
from fairlead.kit.process_pipes import ChildPipes, OutputName, StdinClosed, StdinStuck, Tee
from fairlead.kit.process_sweep import Family, SweptProcess, kill_until_gone, sweep
from fairlead.kit.process_table import MARK_VARIABLE, system_table, validate_mark
from fairlead.kit.processor import yield_processor
from fairlead.kit.tasks import run_to_end

__all__ = [
    "AT_ONCE",
    "MARK_VARIABLE",
    "DirectoryGone",
    "Ending",
    "Grace",
    "OutputName",
    "OwnedProcess",
    "ProgramNotExecutable",
    "ProgramNotFound",
    "StdinClosed",
    "StdinStuck",
    "SweptProcess",
    "Tee",
    "count_living",
    "living_with",
    "sweep",
]

STDIN_PATIENCE = 30.0
PIPE_PATIENCE = 1.0


class ProgramNotFound(Exception):  # noqa: N818 - says what happened
    def __init__(self, program: str, searched: str) -> None:
        super().__init__(f"{program} was not found; searched: {searched or 'nothing, PATH is empty'}")
        self.program = program
        self.searched = searched


class ProgramNotExecutable(Exception):  # noqa: N818 - says what happened
    def __init__(self, program: str, reason: str) -> None:
        super().__init__(f"{program} cannot be executed: {reason}")
        self.program = program
        self.reason = reason


class DirectoryGone(Exception):  # noqa: N818 - says what happened
    def __init__(self, directory: Path) -> None:
        super().__init__(f"{directory} is not an accessible directory, so nothing was started")
        self.directory = directory


class Grace(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds to wait after each step; None leaves the step out. `end_of_input` closes the child's standard input: the
    end of it asks many a child to finish in order. `kill` bounds the last step, never left out."""

    end_of_input: float | None = None
    interrupt: float | None = None
    terminate: float | None = 5.0
    kill: float = 10.0


AT_ONCE = Grace(terminate=None)


class Ending(msgspec.Struct, frozen=True):
    """`returncode` is None only if the child survived the limit; `killed` names those that did not exit when asked."""

    returncode: int | None
    killed: tuple[SweptProcess, ...]


_living: dict[int, str] = {}
"""The marks of our children by their pids."""


def count_living() -> int:
    """How many children of this process have not been ended yet."""
    return len(_living)


def living_with(mark: str) -> frozenset[int]:
    """The children with this mark that have not been ended yet, without what they have started."""
    return frozenset(pid for pid, known in _living.items() if known == mark)


class OwnedProcess:
    """`async with OwnedProcess.spawn(...) as process:`; once the block is left, in whatever way, no process
    with its mark exists. Marks must differ between processes that live at the same time."""

    def __init__(self, pipes: ChildPipes, mark: str, line_limit: int) -> None:
        self.mark = mark
        self._pipes = pipes
        self._framer = LineFramer(line_limit)
        self._readers = 0
        self._hurry = asyncio.Event()
        self._ending: asyncio.Task[Ending] | None = None
        self._pid: int | None = None
        self._root: tuple[int, str] | None = None

    @classmethod
    def spawn(
        cls,
        argv: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str],
        mark: str,
        stdin: Literal["pipe", "empty"] = "pipe",
        tee: Tee | None = None,
        on_stderr_line: Callable[[bytes], None] | None = None,
        line_limit: int = DEFAULT_LIMIT,
        grace: Grace | None = None,
        is_confined: bool = True,
    ) -> AbstractAsyncContextManager["OwnedProcess"]:
        """The program is looked for now, and started when the block is entered. `env` is the child's whole
        environment, but for the mark; its PATH finds the program. `tee` gets the raw bytes as they come,
        `on_stderr_line` lines of up to 1 MiB; neither may block. A part of the owner itself is not confined."""
        marked = {**env, MARK_VARIABLE: validate_mark(mark)}
        program = find_program(argv[0], cwd=cwd, env=marked)
        argv = [program, *argv[1:]]
        launch = confine(argv, marked, cwd=cwd, mark=mark) if is_confined else ChildLaunch(argv=tuple(argv), env=marked)
        process = cls(ChildPipes(tee, on_stderr_line), mark, line_limit)
        return process._own_child(lambda: process._start(launch, cwd, stdin), grace or Grace())

    @asynccontextmanager
    async def _own_child(self, start: Callable[[], Coroutine[Any, Any, None]], grace: Grace) -> AsyncGenerator[Self]:
        try:
            # To its end: asyncio ends a cancelled start by killing the child, and not what the child has started.
            await run_to_end(start())
            yield self
        finally:
            if self._pid is not None:
                await self.end(grace)

    @property
    def pid(self) -> int:
        assert self._pid is not None
        return self._pid

    @property
    def returncode(self) -> int | None:
        """Negative for a signal, None while the child runs."""
        return self._pipes.exited.result() if self._pipes.exited.done() else None

    @property
    def stderr_tail(self) -> bytes:
        """The last 64 KiB of standard error."""
        return self._pipes.stderr_tail

    async def lines(self, *, on_too_long: Callable[[LineTooLong], None] | None = None) -> AsyncIterator[bytes]:
        """Lines of standard output, for one reader at a time; the next goes on where the last one left.
        Ends when the child has exited and its output is read, even if an orphan still holds the pipe."""
        self._readers += 1
        try:
            async for line in read_lines(self._framer, self._pipes.stdout, on_too_long=on_too_long):
                yield line
        finally:
            self._readers -= 1
            if self._ending is not None and not self._readers:
                self._pipes.drop_stdout()

    async def write(self, data: bytes, *, patience: float = STDIN_PATIENCE) -> None:
        """Raises StdinClosed or, after `patience` seconds, StdinStuck."""
        await self._pipes.write(data, patience=patience)

    def close_stdin(self) -> None:
        self._pipes.close_stdin()

    async def wait(self) -> int:
        """The child's exit code; what it started may still run until `end`."""
        return await asyncio.shield(self._pipes.exited)

    async def end(self, grace: Grace | None = None) -> Ending:
        """Ask, then insist, then kill all that is left. Not to be stopped: a cancelled caller gets its
        cancellation after the end. A second call joins the first; with AT_ONCE it cuts the waiting short."""
        wanted = grace or Grace()
        if wanted.terminate is None:
            self._hurry.set()
        if self._ending is None:
            self._ending = asyncio.create_task(self._end(wanted), name=f"end {self.mark}")
        return await run_to_end(self._ending)

    async def _start(self, launch: ChildLaunch, cwd: Path, stdin: Literal["pipe", "empty"]) -> None:
        loop = asyncio.get_running_loop()
        # The child is there one step from now, and may boot before its pipes are connected.
        loop.call_soon(yield_processor)
        try:
            transport, _ = await loop.subprocess_exec(
                lambda: self._pipes,
                *launch.argv,
                stdin=asyncio.subprocess.PIPE if stdin == "pipe" or launch.preamble else asyncio.subprocess.DEVNULL,
                cwd=cwd,
                env=launch.env,
                start_new_session=True,  # so that a terminal's Ctrl-C does not reach the child
                **launch.identity(),
            )
        except OSError as fault:
            raise _why_not_started(launch.argv[0], cwd, fault) from fault
        self._pid = transport.get_pid()
        _living[self._pid] = self.mark
        started = system_table().start_time(self._pid)
        self._root = None if started is None else (self._pid, started)
        if launch.preamble:
            await self._write_preamble(launch.preamble)
            if stdin == "empty":
                self.close_stdin()

    async def _write_preamble(self, preamble: bytes) -> None:
        # A child that does not take it has exited, or will: its exit code and standard error say why.
        with suppress(StdinClosed, StdinStuck):
            await self._pipes.write(preamble, patience=STDIN_PATIENCE)

    async def _end(self, grace: Grace) -> Ending:
        family = Family(lambda mark: mark == self.mark, root=self._root)
        if not self._readers:
            self._pipes.drop_stdout()
        try:
            await self._ask_to_go(family, grace)
        finally:
            # In a thread, which goes on even if the loop's own shutdown cancels this task.
            killed = await asyncio.to_thread(kill_until_gone, family, limit=grace.kill)
            await self._exit_within(grace.kill)
            await self._pipes.close(patience=PIPE_PATIENCE)
            _living.pop(self.pid, None)
        return Ending(self.returncode, killed)

    async def _ask_to_go(self, family: Family, grace: Grace) -> None:
        if grace.end_of_input is not None and self.returncode is None and not self._hurry.is_set():
            self.close_stdin()
            await self._exit_within(grace.end_of_input, or_when=self._hurry)
        steps = ((signal.SIGINT, grace.interrupt), (signal.SIGTERM, grace.terminate))
        for number, seconds in steps:
            if seconds is None or self.returncode is not None or self._hurry.is_set():
                continue
            await asyncio.to_thread(family.send_to_group, number)
            await self._exit_within(seconds, or_when=self._hurry)

    async def _exit_within(self, seconds: float, *, or_when: asyncio.Event | None = None) -> None:
        sooner = [] if or_when is None else [asyncio.create_task(or_when.wait())]
        try:
            await asyncio.wait([self._pipes.exited, *sooner], timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for waiting in sooner:
                waiting.cancel()


def find_program(program: str, *, cwd: Path, env: Mapping[str, str]) -> str:
    """The file that would run, by the child's own PATH; says before the start why there is none."""
    if not os.access(f"{cwd}/.", os.X_OK):  # only a directory has such an entry
        raise DirectoryGone(cwd)
    if os.sep in program:
        # With a slash, a program is found from the child's directory, not from ours.
        path = cwd / program
        if path.is_file() and os.access(path, os.X_OK):
            return str(path)
        if not path.exists():
            raise ProgramNotFound(program, str(cwd))
        raise ProgramNotExecutable(str(path), "it is not an executable file")
    searched = env.get("PATH", "")
    found = shutil.which(program, path=searched)
    if found is not None:
        return found
    present = shutil.which(program, mode=os.F_OK, path=searched)
    if present is not None:
        raise ProgramNotExecutable(present, "it is not an executable file")
    raise ProgramNotFound(program, searched)


def _why_not_started(program: str, cwd: Path, fault: OSError) -> Exception:
    if not cwd.is_dir():
        return DirectoryGone(cwd)
    if not Path(program).exists():
        return ProgramNotFound(program, str(Path(program).parent))
    if isinstance(fault, FileNotFoundError):
        return ProgramNotExecutable(program, "the interpreter named in its first line was not found")
    if isinstance(fault, PermissionError) or fault.errno == errno.ENOEXEC:
        return ProgramNotExecutable(program, os.strerror(fault.errno or errno.ENOEXEC))
    return fault
