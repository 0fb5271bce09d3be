"""Claude's own log of a talk, read behind it: tools that its stream did not show. Degrades quietly to nothing."""

import asyncio
import re
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path
from typing import Final

from fairlead.core.engine import EngineEvent, ToolEnded, ToolStarted
from fairlead.kit.framing import LineFramer, LineTooLong
from fairlead.runtimes.claude import wire
from fairlead.runtimes.claude.translate import ClaudeTranslator
from fairlead.runtimes.lines import Unread, read_line
from fairlead.runtimes.translator import is_end

LOOK_EVERY: Final = 0.5
LONGEST_NAME: Final = 200
MOST_AT_ONCE: Final = 4 * 1024 * 1024


def log_directory_name(project: str) -> str:
    """Claude's name for a project's directory; a long one it cuts and adds a hash to, which is not known here."""
    return re.sub(r"[^A-Za-z0-9]", "-", project)


def log_path(config: Path, project: Path, key: str) -> Path | None:
    """Where the log of the talk is or will be, None where that cannot be told."""
    name = log_directory_name(str(project))
    if len(name) <= LONGEST_NAME:
        return config / "projects" / name / f"{key}.jsonl"
    found = list((config / "projects").glob(f"{name[:LONGEST_NAME]}-*/{key}.jsonl"))
    return found[0] if len(found) == 1 else None


class SessionLogTail:
    """What is added to the log from now on, as tools that start and end."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._translator = ClaudeTranslator()
        self._framer = LineFramer()
        self._offset = self._size()

    def look(self) -> list[EngineEvent]:
        return [event for line in self._new_lines() for event in self._tools_in(line)]

    def _size(self) -> int:
        try:
            return self._path.stat().st_size if self._path is not None else 0
        except OSError:
            return 0

    def _new_lines(self) -> list[bytes]:
        if self._path is None or self._size() <= self._offset:
            return []
        try:
            with self._path.open("rb") as file:
                file.seek(self._offset)
                data = file.read(MOST_AT_ONCE)
        except OSError:
            return []
        self._offset += len(data)
        self._framer.feed(data)
        return self._framed()

    def _framed(self) -> list[bytes]:
        lines: list[bytes] = []
        while True:
            try:
                line = self._framer.next_line()
            except LineTooLong:
                continue
            if line is None:
                return lines
            lines.append(line)

    def _tools_in(self, line: bytes) -> list[EngineEvent]:
        event = read_line(line, wire.decoder, wire.KINDS)
        if isinstance(event, Unread) or not isinstance(event, wire.Assistant | wire.User):
            return []
        return [tool for tool in self._translator.translate(event) if isinstance(tool, ToolStarted | ToolEnded)]


async def with_log(events: AsyncGenerator[EngineEvent], tail: SessionLogTail) -> AsyncGenerator[EngineEvent]:
    """The same events, and between them the tools that only the log knows of. None is told twice."""
    told: set[tuple[type[EngineEvent], str]] = set()
    async with aclosing(events):
        following: asyncio.Task[EngineEvent] | None = None
        try:
            while True:
                following = following or asyncio.create_task(_next(events))
                await asyncio.wait({following}, timeout=LOOK_EVERY)
                from_log = await asyncio.to_thread(tail.look)
                event = following.result() if following.done() else None
                if event is not None:
                    _note(event, told)
                for seen in from_log:
                    if _note(seen, told):
                        yield seen
                if event is None:
                    continue
                following = None
                yield event
                if is_end(event):
                    return
        finally:
            if following is not None:
                following.cancel()
                await asyncio.wait({following})


async def _next(events: AsyncGenerator[EngineEvent]) -> EngineEvent:
    return await anext(events)


def _note(event: EngineEvent, told: set[tuple[type[EngineEvent], str]]) -> bool:
    if not isinstance(event, ToolStarted | ToolEnded):
        return True
    known = (type(event), event.tool_id) in told
    told.add((type(event), event.tool_id))
    return not known
