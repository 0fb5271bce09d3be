"""Claude's own log of a session, read while claude writes it: tools that the stream does not show. Fails no turn."""

import asyncio
import os
from collections.abc import AsyncGenerator
from contextlib import aclosing
from functools import lru_cache
from pathlib import Path
from typing import Final

from fairlead.core.engine import EngineEvent, ToolEnded, ToolStarted
from fairlead.kit.files import open_regular
from fairlead.kit.framing import LineFramer, LineTooLong
from fairlead.kit.tasks import OwnedTasks
from fairlead.runtimes.claude import wire
from fairlead.runtimes.claude.translate import ClaudeTranslator
from fairlead.runtimes.lines import Unread, read_line
from fairlead.runtimes.records.claude import LONGEST_NAME, log_directory_name
from fairlead.runtimes.translator import is_end

LOOK_EVERY: Final = 0.5
MOST_AT_ONCE: Final = 4 * 1024 * 1024


def log_path(config: Path, project: str, key: str) -> Path | None:
    """Where the log of the session is or will be, None where that cannot be known: the home of another user, under
    whom agents run, may be closed to us. `project` is a real path."""
    try:
        os.stat(f"{config}/projects/any")  # noqa: PTH116 - before every turn, where a Path takes longer
    except PermissionError:
        return None
    except OSError:
        pass  # there is none, as nearly always
    name = log_directory_name(project)
    if len(name) <= LONGEST_NAME:
        return _log_file(config, name, key)
    found = list((config / "projects").glob(f"{name[:LONGEST_NAME]}-*/{key}.jsonl"))
    return found[0] if len(found) == 1 else None


@lru_cache(maxsize=256)
def _log_file(config: Path, directory_name: str, key: str) -> Path:
    """Kept, because every turn of a session asks for it twice, and to put a path together takes its time."""
    return config / "projects" / directory_name / f"{key}.jsonl"


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
            with open_regular(self._path) as file:
                file.seek(self._offset)
                data = file.read(MOST_AT_ONCE)
        except OSError:
            return []
        self._offset += len(data)
        self._framer.feed(data)
        return self._take_lines()

    def _take_lines(self) -> list[bytes]:
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


class SessionLogMerge:
    """Two streams as one: a turn's own events, and between them the tools that only claude's session log shows."""

    def __init__(self, path: Path | None) -> None:
        self._tail = SessionLogTail(path)
        self._told: set[tuple[type[EngineEvent], str]] = set()

    async def merge(self, events: AsyncGenerator[EngineEvent]) -> AsyncGenerator[EngineEvent]:
        """No tool is told twice, also not by the second of two streams that are merged one after the other."""
        async with aclosing(events), OwnedTasks("session log") as tasks:
            following: asyncio.Task[EngineEvent | None] | None = None
            while True:
                following = following or tasks.start(_next_of(events), name="next event")
                await asyncio.wait({following}, timeout=LOOK_EVERY)
                from_log = await asyncio.to_thread(self._tail.look)
                has_come = following.done()
                if has_come and following.exception() is None:
                    self._is_new(following.result())  # marked before the log's events, which may show the same tool
                for seen in from_log:
                    if self._is_new(seen):
                        yield seen
                if not has_come:
                    continue
                event, following = following.result(), None  # raises the fault that ended the stream
                if event is None:
                    return
                yield event
                if is_end(event):
                    return

    def _is_new(self, event: EngineEvent | None) -> bool:
        if not isinstance(event, ToolStarted | ToolEnded):
            return True
        known = (type(event), event.tool_id) in self._told
        self._told.add((type(event), event.tool_id))
        return not known


async def _next_of(events: AsyncGenerator[EngineEvent]) -> EngineEvent | None:
    return await anext(events, None)
