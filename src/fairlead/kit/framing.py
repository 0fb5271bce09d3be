"""Bytes to lines, of any length up to a limit. Knows nothing of what a line means."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable

DEFAULT_LIMIT = 64 * 1024 * 1024
CHUNK = 64 * 1024


class LineTooLong(Exception):  # noqa: N818 - says what happened
    """A line passed the limit. The framer drops the part it holds, and goes on after the next newline."""

    def __init__(self, limit: int, seen: int) -> None:
        super().__init__(f"a line has {seen} bytes so far and no end; the limit is {limit} bytes")
        self.limit = limit
        self.seen = seen


class LineFramer:
    r"""Feed chunks, then take lines until there is none. Only `\n` ends a line; a `\r` before it is kept.

    Each byte is copied twice at most (into the partial line, and out of it), so time is linear in the input
    and memory about twice the longest line.
    """

    def __init__(self, limit: int = DEFAULT_LIMIT) -> None:
        self._limit = limit
        self._partial = bytearray()
        self._ready: deque[bytes | LineTooLong] = deque()
        self._skipping = False

    def feed(self, chunk: bytes) -> None:
        first, *others = chunk.split(b"\n")
        self._extend(first)
        if not others:
            return
        self._end_line()
        *whole, rest = others
        # Nearly all lines lie whole in one chunk, and only a tiny limit could be passed by such a line.
        self._ready.extend(whole if len(chunk) <= self._limit else map(self._check_length, whole))
        self._extend(rest)

    def next_line(self) -> bytes | None:
        """The next whole line without its newline, None if more bytes are needed; raises LineTooLong once
        per line that passed the limit, in that line's place."""
        if not self._ready:
            return None
        ready = self._ready.popleft()
        if isinstance(ready, LineTooLong):
            raise ready
        return ready

    def close(self) -> bytes | None:
        """The unterminated rest, None if there is none (or if it was too long, which was raised before)."""
        rest, self._partial, self._skipping = bytes(self._partial), bytearray(), False
        return rest or None

    def _check_length(self, line: bytes) -> bytes | LineTooLong:
        return line if len(line) <= self._limit else LineTooLong(self._limit, len(line))

    def _extend(self, part: bytes) -> None:
        if self._skipping:
            return
        seen = len(self._partial) + len(part)
        if seen > self._limit:
            # Raised at once, not at the newline: a line without end must not wait for its end.
            self._ready.append(LineTooLong(self._limit, seen))
            self._partial = bytearray()
            self._skipping = True
            return
        self._partial += part

    def _end_line(self) -> None:
        if not self._skipping:
            self._ready.append(bytes(self._partial))
        # A new bytearray instead of clear(), so that the memory of a huge line is freed at once.
        self._partial = bytearray()
        self._skipping = False


async def read_lines(
    framer: LineFramer,
    stream: asyncio.StreamReader,
    *,
    on_too_long: Callable[[LineTooLong], None] | None = None,
) -> AsyncIterator[bytes]:
    """Lines until the end of the stream, an unterminated last one included. The framer is the caller's, so that a later
    call can go on where this one was left, without loss.

    A line past the framer's limit raises and ends the reading; with `on_too_long` it is reported and left out instead.
    Reads with `read`, since `readline` fails past the stream's own small limit.
    """
    while True:
        while (line := _next_line(framer, on_too_long)) is not None:
            yield line
        chunk = await stream.read(CHUNK)
        if not chunk:
            break
        framer.feed(chunk)
    if (rest := framer.close()) is not None:
        yield rest


def _next_line(framer: LineFramer, on_too_long: Callable[[LineTooLong], None] | None) -> bytes | None:
    while True:
        try:
            return framer.next_line()
        except LineTooLong as fault:
            if on_too_long is None:
                raise
            on_too_long(fault)
