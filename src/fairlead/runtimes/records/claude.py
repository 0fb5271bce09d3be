"""Claude's own records: a log for each session below `projects`, and a file for each process that has one open below
`sessions`. Reads them, and changes nothing."""

import asyncio
import os
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Final

import msgspec

from fairlead.core.agent_sessions import MOST_LISTED, ResumeCommand, SessionWriter, StoredSession
from fairlead.core.ids import ResumeKey
from fairlead.kit.process_ancestry import ancestors_of, can_see_ancestors
from fairlead.kit.process_details import ProcessDetails, look_at_processes
from fairlead.kit.process_table import system_table
from fairlead.runtimes.records.resume_command import make_resume_command
from fairlead.runtimes.records.session_logs import (
    ExchangeCounter,
    LogLines,
    bytes_of,
    latest_logs,
    read_log,
)

LONGEST_NAME: Final = 200
_CONFIG: Final = "CLAUDE_CONFIG_DIR"
_KEY: Final = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_NO_PROMPT: Final = ("<command-", "<local-command-", "<bash-", "<task-notification", "[Request interrupted")
"""How a text begins that claude writes down as the person's although no person said it to the agent."""
_LARGEST_ENTRY: Final = 64 * 1024
_OPENS: Final = frozenset({"-r", "--resume", "--session-id"})
_READS_ONLY: Final = "--fork-session"


class _Block(msgspec.Struct, frozen=True):
    type: str = ""
    text: str | None = None


class _Message(msgspec.Struct, frozen=True):
    content: str | list[_Block] | None = None


class _Line(msgspec.Struct, frozen=True, rename="camel"):
    type: str = ""
    message: _Message | None = None
    timestamp: str = ""
    cwd: str = ""
    is_sidechain: bool | None = False
    is_meta: bool | None = False
    is_compact_summary: bool | None = False


class _OpenSession(msgspec.Struct, frozen=True, rename="camel"):
    """A file below `sessions`: the process that has this session open."""

    pid: int
    session_id: str
    proc_start: str = ""


_line_decoder: Final = msgspec.json.Decoder(_Line)
_open_decoder: Final = msgspec.json.Decoder(_OpenSession)


@lru_cache(maxsize=256)
def log_directory_name(project: str) -> str:
    """Claude's name for a project's directory. Claude cuts a long name and adds a hash that Fairlead does not know."""
    return re.sub(r"[^A-Za-z0-9]", "-", project)


def config_directory(environment: Mapping[str, str]) -> Path:
    return Path(environment.get(_CONFIG) or Path(environment.get("HOME", "/")) / ".claude")


class ClaudeRecords:
    """ports.SessionRecords. `program` is what a person types to run claude."""

    are_files = True

    def __init__(self, environment: Mapping[str, str], program: str = "claude") -> None:
        self._environment = environment
        self._program = program
        self._config = config_directory(environment)

    async def list_sessions(self, directory: str) -> tuple[StoredSession, ...]:
        return await asyncio.to_thread(self._list, directory)

    async def read_session(self, directory: str, key: ResumeKey, since: str = "") -> StoredSession | None:
        return await asyncio.to_thread(self._read, directory, key, since)

    async def find_writers(self, directory: str, key: ResumeKey) -> tuple[SessionWriter, ...]:
        return await asyncio.to_thread(self._find_writers, directory, key)

    async def resume_command(self, directory: str, key: ResumeKey) -> ResumeCommand | None:
        return make_resume_command(directory, (self._program, "--resume", key), self._environment, (_CONFIG,))

    # --- logs ------------------------------------------------------------------------------------------------------

    @property
    def _projects(self) -> Path:
        return self._config / "projects"

    def _directories(self, directory: str) -> list[Path]:
        name = log_directory_name(os.path.realpath(directory))
        if len(name) <= LONGEST_NAME:
            return [self._projects / name]
        try:
            return sorted(self._projects.glob(f"{name[:LONGEST_NAME]}-*"))
        except OSError:
            return []

    def _list(self, directory: str) -> tuple[StoredSession, ...]:
        found: list[StoredSession] = []
        for log in latest_logs(self._logs(directory)):
            session = self._read_log(log.path, directory)
            if session is not None and session.exchanges:
                found.append(session)
            if len(found) == MOST_LISTED:
                break
        return tuple(found)

    def _logs(self, directory: str) -> Iterator[Path]:
        for place in self._directories(directory):
            try:
                yield from (path for path in place.glob("*.jsonl") if _KEY.fullmatch(path.stem))
            except OSError:
                continue

    def _read(self, directory: str, key: str, since: str) -> StoredSession | None:
        if not _KEY.fullmatch(key):
            return None  # it becomes part of a path
        places = self._directories(directory)
        read = (self._read_log(place / f"{key}.jsonl", directory, bytes_of(since)) for place in places)
        return next((session for session in read if session is not None), None)

    def _read_log(self, path: Path, directory: str, since: int = 0) -> StoredSession | None:
        """None for a log that cannot be read, and for that of another directory whose name claude writes alike."""
        try:
            log = read_log(self._projects, path, since)
        except OSError:
            return None
        lines = list(_conversation(log))
        where = next((line.cwd for line in lines if line.cwd), "")
        if where and os.path.realpath(where) != os.path.realpath(directory):
            return None
        counter = ExchangeCounter()
        for line in lines:
            _count(line, counter)
        began_at = next((line.timestamp for line in lines if line.timestamp), "")
        return counter.describe(path.stem, log, began_at)

    # --- who has one open ------------------------------------------------------------------------------------------

    def _find_writers(self, directory: str, key: str) -> tuple[SessionWriter, ...]:
        shown = dict(self._open_sessions())
        found: list[SessionWriter] = []
        for process in look_at_processes():
            if not _is_claude(process) or _is_ours(process.pid):
                continue
            if process.pid in shown:
                is_writer, is_certain = shown[process.pid] == key, True
            else:
                is_writer, is_certain = _may_write(process, directory, key)
            if is_writer:
                found.append(SessionWriter(process.pid, process.words[:200], is_certain))
        return tuple(found)

    def find_open_elsewhere(self, key: str) -> SessionWriter | None:
        """A process that says that it has the session open, and that Fairlead has not started. Looks at claude's own
        files alone, which is quick; where ancestors cannot be seen, nobody is found."""
        holders = [pid for pid, session in self._open_sessions() if session == key]
        if not holders or not can_see_ancestors():
            return None
        pids = [pid for pid in holders if not _is_ours(pid)]
        return SessionWriter(pids[0], self._program) if pids else None

    def _open_sessions(self) -> Iterator[tuple[int, str]]:
        """Which session each living process says that it has open. A file that a killed process left is not believed:
        its process is gone, or another one has its number."""
        paths = self._list_open_files()
        table = system_table() if paths else None
        for path in paths:
            try:
                entry = _open_decoder.decode(_read_small(path))
            except (OSError, msgspec.MsgspecError):
                continue
            started = table.start_time(entry.pid) if table is not None else None
            if started is not None and (started == entry.proc_start or not entry.proc_start.isdecimal()):
                yield entry.pid, entry.session_id

    def _list_open_files(self) -> list[str]:
        """Asked before every turn, and mostly there are none: to look for them by a pattern would take longer."""
        try:
            with os.scandir(f"{self._config}/sessions") as entries:
                return [entry.path for entry in entries if entry.name.endswith(".json")]
        except OSError:
            return []


def _is_ours(pid: int) -> bool:
    return os.getpid() in ancestors_of(pid)


def _read_small(path: str) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        return os.read(descriptor, _LARGEST_ENTRY)
    finally:
        os.close(descriptor)


def _is_claude(process: ProcessDetails) -> bool:
    """The program itself, or Node with claude's own script."""
    script = process.argv[1] if len(process.argv) > 1 else ""
    return process.program in {"claude", "claude.exe"} or ("claude" in script and script.endswith((".js", ".mjs")))


def _may_write(process: ProcessDetails, directory: str, key: str) -> tuple[bool, bool]:
    """Of a claude that does not say which session it has open, as versions before 2.1 do not: whether it may be this
    one, and whether that is certain. One that was started with another id has another one open."""
    if _READS_ONLY in process.argv:
        return False, True
    if any(key in argument for argument in process.argv[1:]):
        return True, True
    named = any(argument.partition("=")[0] in _OPENS for argument in process.argv[1:])
    is_here = not process.directory or os.path.realpath(process.directory) == os.path.realpath(directory)
    has_id = any(_KEY.search(argument) for argument in process.argv[1:])
    return is_here and not (named and has_id), False


def _conversation(log: LogLines) -> Iterator[_Line]:
    """The lines that a person or the agent said; a line that cannot be read is left out."""
    for raw in log.lines:
        if b'"type":"user"' not in raw and b'"type":"assistant"' not in raw:
            continue
        try:
            line = _line_decoder.decode(raw)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            continue
        if line.type in {"user", "assistant"} and not line.is_sidechain:
            yield line


def _count(line: _Line, counter: ExchangeCounter) -> None:
    text = _text_of(line.message)
    if line.type == "assistant":
        counter.hear_agent(text)
    elif text.strip() and not (line.is_meta or line.is_compact_summary or text.lstrip().startswith(_NO_PROMPT)):
        counter.hear_person(text, line.timestamp)


def _text_of(message: _Message | None) -> str:
    """What was said; the results of tools are written down as a person's message, and are none."""
    match message:
        case _Message(content=str() as text):
            return text
        case _Message(content=list() as blocks):
            return "\n\n".join(block.text for block in blocks if block.type == "text" and block.text)
        case _:
            return ""
