"""The three pipes of one child: raw bytes out to a tee, lines out to a reader, bytes in without hanging.

Knows nothing of signals or of how a child is found and ended. It is a protocol of its own because asyncio's
`Process.wait` can last until every grandchild has let go of the pipes, and its readers have no tee.
"""

import asyncio
import contextlib
import fcntl
from collections.abc import Callable
from typing import Literal, cast

from fairlead.kit.framing import LineFramer, LineTooLong
from fairlead.kit.processor import yield_processor

OutputName = Literal["stdout", "stderr"]
Tee = Callable[[OutputName, bytes], None]

_NAMES: dict[int, OutputName] = {1: "stdout", 2: "stderr"}
_BUFFER = 256 * 1024
_PIPE = 1024 * 1024
_TAIL = 64 * 1024
_STDERR_LINE = 1024 * 1024
_LINGER = 0.25
_LINGER_LOOKS = 20


class StdinClosed(Exception):  # noqa: N818 - says what happened
    """The child is gone, or has closed its standard input: nothing written now will be read."""


class StdinStuck(Exception):  # noqa: N818 - says what happened
    """The child does not read. Whether it will still get what was written is unknown."""


class ChildPipes(asyncio.SubprocessProtocol):
    """Standard output waits for its reader (the child is slowed down); standard error never does."""

    def __init__(self, tee: Tee | None, on_stderr_line: Callable[[bytes], None] | None) -> None:
        self.stdout = asyncio.StreamReader(limit=_BUFFER)
        self.exited: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._tee = tee
        self._on_stderr_line = on_stderr_line
        self._stderr = LineFramer(_STDERR_LINE)
        self._stderr_tail = bytearray()
        self._open_outputs = {1, 2}
        self._outputs_closed = asyncio.Event()
        self._is_dropping = False
        self._received_since_look = False
        self._writable = asyncio.Event()
        self._writable.set()
        self._write_turn = asyncio.Lock()
        self._transport: asyncio.SubprocessTransport | None = None
        self._stdout_pipe: _PausableReader | None = None

    @property
    def stderr_tail(self) -> bytes:
        return bytes(self._stderr_tail[-_TAIL:])

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.SubprocessTransport", transport)
        if (output := self._transport.get_pipe_transport(1)) is not None:
            pipe = cast("asyncio.ReadTransport", output)
            pipe.set_protocol(_DirectOutput(lambda data: self.pipe_data_received(1, data), pipe.get_protocol()))
            self._stdout_pipe = _PausableReader(pipe)
            self.stdout.set_transport(cast("asyncio.BaseTransport", self._stdout_pipe))
            _widen(output)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        self._received_since_look = True
        self._copy_to_tee(_NAMES[fd], data)
        if fd == 2:
            self._take_stderr(data)
        elif not self._is_dropping:
            self.stdout.feed_data(data)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's name
        if fd == 0:
            self._writable.set()  # a writer that waits learns that nobody reads
            return
        self._open_outputs.discard(fd)
        if fd == 1:
            self.stdout.feed_eof()
        elif (rest := self._stderr.close()) is not None:
            self._tell_stderr_line(rest)
        if not self._open_outputs:
            self._outputs_closed.set()

    def process_exited(self) -> None:
        assert self._transport is not None
        code = self._transport.get_returncode()
        if not self.exited.done():
            self.exited.set_result(-1 if code is None else code)
        self._writable.set()
        self._look_for_lingerers(_LINGER_LOOKS)

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    async def write(self, data: bytes, *, patience: float) -> None:
        """Hand over `data` whole, and wait until the child has taken (nearly all of) it.

        The next write waits for this one, so never more than one message is held for a child that does not
        read. Cancelling lets go of the waiting only: half a message would garble all that follow.
        """
        is_free = self._writable.is_set() and not self._write_turn.locked()
        if is_free:
            self._stdin().write(data)
            yield_processor()  # the child has something to do
            if self._writable.is_set():
                return  # as nearly always: the pipe has taken it
        try:
            async with asyncio.timeout(patience), self._write_turn:
                await self._writable.wait()
                if not is_free:
                    self._stdin().write(data)
                if not self._writable.is_set():
                    await self._writable.wait()
                self._stdin()  # it may have been woken because the child is gone, not because it read
        except TimeoutError:
            raise StdinStuck(f"the child has not read its standard input for {patience:g} s") from None

    def close_stdin(self) -> None:
        """The child reads the end of its input after what was written before."""
        assert self._transport is not None
        if (pipe := self._transport.get_pipe_transport(0)) is not None:
            pipe.close()

    def drop_stdout(self) -> None:
        """Nobody reads any more: go on emptying the pipe (and feeding the tee), so that the child can end."""
        self._is_dropping = True
        if self._stdout_pipe is not None:
            self._stdout_pipe.resume_reading()

    async def close(self, *, patience: float) -> None:
        """Take what is still in the pipes, then close them, even if a grandchild holds their other ends."""
        assert self._transport is not None
        stdin = cast("asyncio.WriteTransport | None", self._transport.get_pipe_transport(0))
        # A pipe that is closing with nothing left to write closes by itself, and must not be aborted twice.
        if stdin is not None and (stdin.get_write_buffer_size() or not stdin.is_closing()):
            stdin.abort()
        try:
            async with asyncio.timeout(patience):
                await self._outputs_closed.wait()
        except TimeoutError:
            pass
        finally:
            self._transport.close()

    def _stdin(self) -> asyncio.WriteTransport:
        assert self._transport is not None
        pipe = cast("asyncio.WriteTransport | None", self._transport.get_pipe_transport(0))
        if pipe is None or pipe.is_closing() or self.exited.done():
            raise StdinClosed("the child no longer reads its standard input")
        return pipe

    def _copy_to_tee(self, name: OutputName, data: bytes) -> None:
        if self._tee is None:
            return
        try:
            self._tee(name, data)
        except Exception:  # a log that cannot be written (a full disk) costs the log, not the agent's work
            self._tee = None

    def _take_stderr(self, data: bytes) -> None:
        self._stderr_tail += data
        if len(self._stderr_tail) > 2 * _TAIL:
            del self._stderr_tail[:-_TAIL]
        self._stderr.feed(data)
        while True:
            try:
                line = self._stderr.next_line()
            except LineTooLong:
                continue  # its raw bytes went to the tee
            if line is None:
                return
            self._tell_stderr_line(line)

    def _tell_stderr_line(self, line: bytes) -> None:
        if self._on_stderr_line is not None:
            self._on_stderr_line(line)

    def _look_for_lingerers(self, looks_left: int) -> None:
        """After the child's exit, a grandchild may hold its pipes for ever. They are closed when nothing
        comes out of them any more; while the reader is behind, they wait for it."""
        assert self._transport is not None
        is_reader_behind = self._stdout_pipe is not None and self._stdout_pipe.is_paused
        is_quiet = not self._received_since_look and looks_left < _LINGER_LOOKS
        self._received_since_look = False
        if is_reader_behind:
            looks_left = _LINGER_LOOKS
        elif is_quiet or not looks_left:
            self._transport.close()
            return
        if self._open_outputs:
            loop = asyncio.get_running_loop()
            loop.call_later(_LINGER, self._look_for_lingerers, looks_left - 1)


class _DirectOutput(asyncio.Protocol):
    """Hands on what a pipe brings in the step of the event loop that read it; asyncio's own protocol, to which
    everything else is left, hands it on one step later."""

    def __init__(self, take: Callable[[bytes], None], own: asyncio.BaseProtocol) -> None:
        self._take = take
        self._own = own

    def data_received(self, data: bytes) -> None:
        self._take(data)

    def connection_lost(self, exc: Exception | None) -> None:
        self._own.connection_lost(exc)


class _PausableReader:
    """The reading end of a pipe, as its reader pauses and resumes it. The transport of Python 3.11.2, which Debian 12
    has, cannot say whether it is paused, and resumes a descriptor that may by now belong to another file."""

    def __init__(self, pipe: asyncio.ReadTransport) -> None:
        self._pipe = pipe
        self._is_paused = False

    @property
    def is_paused(self) -> bool:
        return self._is_paused and not self._pipe.is_closing()

    def pause_reading(self) -> None:
        self._pipe.pause_reading()
        self._is_paused = True

    def resume_reading(self) -> None:
        if self.is_paused:
            self._pipe.resume_reading()
        self._is_paused = False


def _widen(output: asyncio.BaseTransport) -> None:
    """Some children (Node's, with process.exit) drop at their end what did not fit into the pipe. Linux only."""
    pipe, widen = output.get_extra_info("pipe"), getattr(fcntl, "F_SETPIPE_SZ", None)
    if pipe is None or widen is None:
        return
    with contextlib.suppress(OSError, ValueError):  # Linux may forbid it, or the pipe is closed already
        fcntl.fcntl(pipe.fileno(), widen, _PIPE)
