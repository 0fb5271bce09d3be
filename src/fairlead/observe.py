"""Fairlead's logs: `logs/app.ndjson` about itself, and `logs/job/<job_id>.log` with all that an agent printed.

Known secret values read `[redacted]` wherever they turn up. Logs are bounded in size and age; a log that cannot be
written is no reason for a job to fail.
"""

import asyncio
import json
import logging
import os
import re
import sys
import time
import traceback
from collections.abc import Callable, Generator, Iterable, MutableMapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from fairlead.errors import FairleadError, Kind
from fairlead.kit.files import make_private_directory, open_log
from fairlead.render.errors import error_text
from fairlead.render.safe_text import visible_lines

MAX_JOB_LOG_BYTES: Final = 16 * 1024 * 1024
JOB_LOG_LATER_SEC: Final = 0.05
JOB_LOG_BUFFER: Final = 64 * 1024
"""So long, and so many bytes, what an agent prints waits to be written to the log of its job."""
MAX_APP_LOG_BYTES: Final = 32 * 1024 * 1024
KEPT_APP_LOGS: Final = 3
REDACTED: Final = "[redacted]"
_SHORTEST_SECRET: Final = 6

Level = Literal["debug", "info", "warning", "error"]
_LEVEL_OF: Final[dict[Kind, Level]] = {
    Kind.STRANGER: "warning",
    Kind.INPUT: "info",
    Kind.STATE: "warning",
    Kind.AGENT: "error",
    Kind.CHANNEL: "error",
    Kind.INTERNAL: "error",
}

Entry = MutableMapping[str, Any]
"""One line of the log: its fields, `event`, `level` and `ts`."""


class AppLog:
    """`log.warning("what happened", job_id=…)`. Before `start_logging` nobody reads it, and it is dropped."""

    def __init__(self) -> None:
        self.write: Callable[[Entry], None] | None = None

    def debug(self, event: str, **fields: Any) -> None:
        self._note("debug", event, fields)

    def info(self, event: str, **fields: Any) -> None:
        self._note("info", event, fields)

    def warning(self, event: str, **fields: Any) -> None:
        self._note("warning", event, fields)

    def error(self, event: str, **fields: Any) -> None:
        self._note("error", event, fields)

    def _note(self, level: Level, event: str, fields: dict[str, Any]) -> None:
        if self.write is not None:
            now = datetime.now(UTC).isoformat().replace("+00:00", "Z")
            self.write({**fields, "event": event, "level": level, "ts": now})


log: Final = AppLog()


_TOKEN_IN_ADDRESS: Final = re.compile(r"(/(?:webhooks|interactions)/[^/\s]+/)[^/\s?\"']{16,}")
"""Anyone who has such an address of Discord's may write there as the bot: an error of a library may name one."""


class Redactor:
    """Replaces known secret values, in text and in bytes, longest first."""

    def __init__(self, secrets: Iterable[str]) -> None:
        self._set_secrets(secrets)

    def learn(self, secret: str) -> None:
        """A secret that came later, such as a rotated token."""
        if secret not in self._texts:
            self._set_secrets((*self._texts, secret))

    def forget(self, secret: str) -> None:
        """A secret that is worth nothing any more."""
        self._set_secrets(known for known in self._texts if known != secret)

    def _set_secrets(self, secrets: Iterable[str]) -> None:
        known = sorted({s for s in secrets if len(s) >= _SHORTEST_SECRET}, key=len, reverse=True)
        self._texts = tuple(known)
        self._bytes = tuple(s.encode() for s in known)

    def text(self, text: str) -> str:
        for secret in self._texts:
            text = text.replace(secret, REDACTED)
        return _TOKEN_IN_ADDRESS.sub(rf"\1{REDACTED}", text)

    def safe_length(self, data: bytes) -> int:
        """How many bytes of `data` may be written now: a secret at their end that may not be complete is held back."""
        cut = len(data)
        for secret in self._bytes:
            begun = (n for n in range(min(len(secret) - 1, len(data)), 0, -1) if data.endswith(secret[:n]))
            cut = min(cut, len(data) - next(begun, 0))
        while (start := self._find_straddling(data, cut)) is not None:
            cut = start
        return cut

    def _find_straddling(self, data: bytes, cut: int) -> int | None:
        """Where a whole secret begins that `cut` would split."""
        found = (data.find(s, max(0, cut - len(s) + 1), cut + len(s) - 1) for s in self._bytes)
        return min((at for at in found if at >= 0), default=None)

    def bytes(self, data: bytes) -> bytes:
        for secret in self._bytes:
            data = data.replace(secret, REDACTED.encode())
        return data


class RotatingFile:
    """A log file that is renamed when it reaches its limit; a few older ones are kept."""

    def __init__(self, path: Path, limit: int = MAX_APP_LOG_BYTES) -> None:
        self._path = path
        self._limit = limit
        make_private_directory(path.parent)
        self._fd = self._open()
        self._size = os.fstat(self._fd).st_size
        self._closed = False

    def write(self, line: bytes) -> None:
        if self._closed:
            return  # the descriptor of a closed file may by now belong to another file
        # A log that cannot be written stops nothing: facts are in the journal, logs only help to understand them.
        with suppress(OSError):
            if self._size + len(line) > self._limit:
                self._rotate()
            self._size += os.write(self._fd, line)

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            os.close(self._fd)

    def _open(self) -> int:
        return open_log(self._path)

    def _rotate(self) -> None:
        with suppress(OSError):  # a person may have moved or removed the file
            self._rename_older()
        fresh = self._open()  # opened before the old one is closed, so that there is always a file to write to
        os.close(self._fd)
        self._fd = fresh
        self._size = 0

    def _rename_older(self) -> None:
        for age in range(KEPT_APP_LOGS - 1, 0, -1):
            older = self._path.with_name(f"{self._path.name}.{age}")
            if older.exists():
                older.replace(self._path.with_name(f"{self._path.name}.{age + 1}"))
        self._path.replace(self._path.with_name(f"{self._path.name}.1"))


def start_logging(log_directory: Path, redactor: Redactor, *, echo_warnings: bool = False) -> RotatingFile:
    """From here on `log` writes to `app.ndjson`; with `echo_warnings`, warnings also reach standard error."""
    file = RotatingFile(log_directory / "app.ndjson")

    def write(entry: Entry) -> None:
        _add_stack(entry)
        line = redactor.text(_as_json(entry))
        file.write(line.encode() + b"\n")
        if echo_warnings and entry.get("level") in {"warning", "error"}:
            line = redactor.text(f"fairlead: {entry.get('event')}: {entry.get('message', '')}\n")
            # A warning may quote an agent, and a terminal would obey what the agent wrote.
            with suppress(OSError, ValueError):  # nobody reads it any more; the line is in the file
                sys.stderr.write(visible_lines(line) if sys.stderr.isatty() else line)

    log.write = write
    return file


@contextmanager
def capture_log() -> Generator[list[Entry]]:
    """For tests: within, lines are collected here and written nowhere."""
    before, lines = log.write, list[Entry]()
    log.write = lines.append
    try:
        yield lines
    finally:
        log.write = before


def _as_json(entry: Entry) -> str:
    """Encodes any value: a log call that raised would end the work that it only reports."""
    try:
        return msgspec.json.encode(entry, enc_hook=str).decode()
    except (ValueError, TypeError, msgspec.MsgspecError):
        # An entry may hold text that is no Unicode, or keys that are no text.
        return json.dumps({str(name): repr(value) for name, value in entry.items()})


class _OurLogHandler(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        fault = record.exc_info[1] if record.exc_info else None
        message = record.getMessage() if fault is None else f"{record.getMessage()}: {fault!r}"
        log.warning("a library's log", message=message, logger=record.name)


def take_over_log(library: str) -> None:
    """The library's warnings go into our log, redacted, instead of to standard error."""
    theirs = logging.getLogger(library)
    if not any(isinstance(handler, _OurLogHandler) for handler in theirs.handlers):
        theirs.addHandler(_OurLogHandler(logging.WARNING))
        theirs.propagate = False


def log_failure(event: str, fault: BaseException, **fields: Any) -> None:
    """Every failure with its code, at the level of its kind; Fairlead's own faults with their stack."""
    if isinstance(fault, FairleadError):
        if fault.is_logged:
            return  # the fault was logged where it arose, and passes several places on its way out
        fault.is_logged = True
        level = _LEVEL_OF[fault.kind]
        stack = {"fault": fault} if fault.kind is Kind.INTERNAL else {}
        getattr(log, level)(event, error_code=str(fault.code), message=error_text(fault).what, **stack, **fields)
    else:
        log.error(event, error_code="E_INTERNAL", message=repr(fault), fault=fault, **fields)


def _add_stack(entry: Entry) -> None:
    fault = entry.pop("fault", None)
    if isinstance(fault, BaseException):
        entry["stack"] = "".join(traceback.format_exception(fault))


class JobLogFile:
    """An agent's raw stdout and stderr as they come. A secret cut in two by a chunk's end is still found: the last
    bytes are held back until more arrive or the log is closed.

    What has come is searched and written a moment later, so that no answer waits for the file: both take longer than
    to understand what an agent says. Lives in an event loop."""

    def __init__(self, path: Path, redactor: Redactor) -> None:
        self._path = path
        self._fd: int | None = None
        self._redactor = redactor
        self._written = 0
        self._is_full = False
        self._held: dict[str, bytes] = {}
        self._unwritten: list[tuple[str, bytes]] = []
        self._unwritten_size = 0
        self._timer: asyncio.TimerHandle | None = None

    def write(self, stream: Literal["stdout", "stderr"], data: bytes) -> None:
        self._unwritten.append((stream, data))
        self._unwritten_size += len(data)
        if self._unwritten_size >= JOB_LOG_BUFFER:
            self._write_out()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(JOB_LOG_LATER_SEC, self._write_out)

    def close(self) -> None:
        self._write_out()
        for rest in self._held.values():
            self._put(rest)
        with suppress(OSError):
            os.close(self._open())

    def _write_out(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        unwritten, self._unwritten, self._unwritten_size = self._unwritten, [], 0
        for stream, data in unwritten:
            whole = self._held.get(stream, b"") + data
            cut = self._redactor.safe_length(whole)
            self._held[stream] = whole[cut:]
            self._put(whole[:cut])

    def _open(self) -> int:
        if self._fd is None:
            self._fd = open_log(self._path)
            self._written = os.fstat(self._fd).st_size
        return self._fd

    def _put(self, data: bytes) -> None:
        if not data or self._is_full:
            return
        clean = self._redactor.bytes(data)
        with suppress(OSError):
            fd = self._open()
            left = max(0, MAX_JOB_LOG_BYTES - self._written)
            if len(clean) > left:
                self._is_full = True
                clean = clean[:left] + b"\n[the log ends here: it has reached its limit]\n"
            self._written += os.write(fd, clean)


class JobLogDirectory:
    """One log per job; logs that are too old are removed at the start, and whenever `forget_old` is called."""

    def __init__(self, log_directory: Path, redactor: Redactor, *, kept_days: int = 30) -> None:
        self._directory = log_directory / "job"
        self._redactor = redactor
        self._kept_days = kept_days
        make_private_directory(self._directory)
        self.forget_old()

    def open(self, job_id: str) -> JobLogFile:
        return JobLogFile(self._directory / f"{job_id}.log", self._redactor)

    def forget_old(self) -> None:
        cutoff = time.time() - self._kept_days * 86400
        for path in self._directory.glob("job_*.log"):
            with suppress(OSError):
                if path.stat().st_mtime < cutoff:
                    path.unlink()
