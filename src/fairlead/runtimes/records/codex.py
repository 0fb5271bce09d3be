"""Codex's own records: a rollout for each thread below `sessions`, by the day on which it began, and a lock for each
thread that somebody writes. Reads them; a lock is only tried, and given back at once."""

import asyncio
import contextlib
import fcntl
import os
import re
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, Final

import msgspec

from fairlead.core.agent_sessions import MOST_LISTED, ResumeCommand, SessionWriter, StoredSession
from fairlead.core.ids import ResumeKey
from fairlead.kit.process_details import ProcessDetails, has_open, look_at_processes
from fairlead.runtimes.records.resume_command import make_resume_command
from fairlead.runtimes.records.session_logs import (
    ExchangeCounter,
    LogLines,
    bytes_of,
    first_line,
    latest_logs,
    read_log,
)

_HOME: Final = "CODEX_HOME"
_KEY: Final = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_ROLLOUT: Final = re.compile(rf"rollout-.*-({_KEY.pattern})")
_MOST_ROLLOUTS: Final = 5000
"""Of the days that come last: which of them changed last is asked of each."""
_LONGEST_META: Final = 1024 * 1024
_SAID: Final = (b"item_completed", b"user_message", b"agent_message", b"task_complete")


class _Meta(msgspec.Struct, frozen=True):
    """`source` is an object for the thread of a sub-agent."""

    id: str = ""
    cwd: str = ""
    timestamp: str = ""
    source: Any = None


class _MetaLine(msgspec.Struct, frozen=True):
    type: str = ""
    payload: _Meta = _Meta()


class _Block(msgspec.Struct, frozen=True):
    text: str | None = None


class _Item(msgspec.Struct, frozen=True):
    type: str = ""
    content: list[_Block] | None = None


class _Payload(msgspec.Struct, frozen=True):
    type: str = ""
    message: str = ""
    last_agent_message: str | None = ""
    item: _Item = _Item()


class _Line(msgspec.Struct, frozen=True):
    type: str = ""
    timestamp: str = ""
    payload: _Payload = _Payload()


_meta_decoder: Final = msgspec.json.Decoder(_MetaLine)
_line_decoder: Final = msgspec.json.Decoder(_Line)


def codex_home(environment: Mapping[str, str]) -> Path:
    return Path(environment.get(_HOME) or Path(environment.get("HOME", "/")) / ".codex")


class CodexRecords:
    """ports.SessionRecords. `program` is what a person types to run codex."""

    are_files = True

    def __init__(self, environment: Mapping[str, str], program: str = "codex") -> None:
        self._environment = environment
        self._program = program
        self._home = codex_home(environment)

    async def list_sessions(self, directory: str) -> tuple[StoredSession, ...]:
        return await asyncio.to_thread(self._list, directory)

    async def read_session(self, directory: str, key: ResumeKey, since: str = "") -> StoredSession | None:
        return await asyncio.to_thread(self._read, directory, key, since)

    async def find_writers(self, directory: str, key: ResumeKey) -> tuple[SessionWriter, ...]:  # noqa: ARG002
        return await asyncio.to_thread(self._find_writers, key)

    async def resume_command(self, directory: str, key: ResumeKey) -> ResumeCommand | None:
        return make_resume_command(directory, (self._program, "resume", key), self._environment, (_HOME,))

    # --- rollouts --------------------------------------------------------------------------------------------------

    @property
    def _sessions(self) -> Path:
        return self._home / "sessions"

    def _rollouts(self) -> Iterator[Path]:
        """The last days first."""
        for year in _newest_names(self._sessions):
            for month in _newest_names(year):
                for day in _newest_names(month):
                    yield from (path for path in _newest_names(day) if _ROLLOUT.fullmatch(path.stem))

    def _list(self, directory: str) -> tuple[StoredSession, ...]:
        found: list[StoredSession] = []
        for log in latest_logs(islice(self._rollouts(), _MOST_ROLLOUTS)):
            meta = self._read_meta(log.path)
            session = self._read_rollout(log.path, meta) if meta is not None and _is_of(meta, directory) else None
            if session is not None and session.exchanges:
                found.append(session)
            if len(found) == MOST_LISTED:
                break
        return tuple(found)

    def _read(self, directory: str, key: str, since: str) -> StoredSession | None:
        if not _KEY.fullmatch(key):
            return None  # it becomes part of a pattern
        path = self._find_rollout(key)
        meta = self._read_meta(path) if path is not None else None
        if path is None or meta is None or not _is_of(meta, directory):
            return None
        return self._read_rollout(path, meta, bytes_of(since))

    def _find_rollout(self, key: str) -> Path | None:
        with contextlib.suppress(OSError):
            return next(iter(self._sessions.glob(f"*/*/*/rollout-*-{key}.jsonl")), None)
        return None

    def _read_meta(self, path: Path) -> _Meta | None:
        try:
            line = _meta_decoder.decode(first_line(self._sessions, path, _LONGEST_META))
        except msgspec.MsgspecError:
            return None
        return line.payload if line.type == "session_meta" and not isinstance(line.payload.source, dict) else None

    def _read_rollout(self, path: Path, meta: _Meta, since: int = 0) -> StoredSession | None:
        try:
            log = read_log(self._sessions, path, since)
        except OSError:
            return None
        counter = ExchangeCounter()
        for line in _conversation(log):
            _count(line, counter)
        return counter.describe(meta.id, log, meta.timestamp)

    # --- who writes one --------------------------------------------------------------------------------------------

    def _find_writers(self, key: str) -> tuple[SessionWriter, ...]:
        """The processes that have the thread's rollout or its lock open, or its id among their arguments. Codex's own
        daemon keeps a thread open for some time after the person has left it."""
        lock = self._home / "thread-writer-locks" / f"{key}.lock"
        files = [path for path in (self._find_rollout(key), lock) if path is not None]
        found = [
            SessionWriter(process.pid, process.words[:200], ended_by=self._find_end_command(process))
            for process in look_at_processes()
            if "codex" in process.program
            and (key in process.argv or any(has_open(process.pid, path) for path in files))
        ]
        if not found and _is_locked(lock):
            found.append(SessionWriter(0, "codex"))  # of another user, or in a container
        return tuple(found)

    def _find_end_command(self, process: ProcessDetails) -> str:
        return f"{self._program} app-server daemon stop" if "app-server" in process.argv else ""


def _is_locked(lock: Path) -> bool:
    try:
        descriptor = os.open(lock, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return False


def _newest_names(directory: Path) -> list[Path]:
    try:
        return sorted(directory.iterdir(), reverse=True)
    except OSError:
        return []


def _is_of(meta: _Meta, directory: str) -> bool:
    return bool(meta.cwd) and os.path.realpath(meta.cwd) == os.path.realpath(directory)


def _conversation(log: LogLines) -> Iterator[_Line]:
    """The events that a person's or the agent's words are in; a line that cannot be read is left out."""
    for raw in log.lines:
        if not any(word in raw for word in _SAID):
            continue
        try:
            line = _line_decoder.decode(raw)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            continue
        if line.type == "event_msg":
            yield line


def _count(line: _Line, counter: ExchangeCounter) -> None:
    payload = line.payload
    match payload.type, payload.item.type:
        case "item_completed", "UserMessage":
            counter.hear_person(_text_of(payload.item), line.timestamp)
        case "item_completed", "AgentMessage":
            counter.hear_agent(_text_of(payload.item))
        case "user_message", _:
            counter.hear_person(payload.message, line.timestamp)
        case "agent_message", _:
            counter.hear_agent(payload.message)
        case "task_complete", _:
            counter.hear_agent(payload.last_agent_message or "")
        case _:
            pass


def _text_of(item: _Item) -> str:
    return "\n\n".join(block.text for block in item.content or () if block.text)
