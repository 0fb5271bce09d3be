"""A session log of JSON lines, read within limits: whole where it is short, else its head and its tail. Knows no agent.

A log lies where an agent may write, and may be anything: it is opened below its directory without following links out
of it, only if it is an ordinary file, and only if it belongs to whom its directory belongs to.
"""

import contextlib
import os
import stat
from collections import deque
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import msgspec

from fairlead.core import timestamps
from fairlead.core.agent_sessions import MOST_EXCHANGES, Exchange, StoredSession
from fairlead.core.ids import ResumeKey
from fairlead.kit.files_beneath import open_beneath

WHOLE_BYTES: Final = 4 * 1024 * 1024
HEAD_BYTES: Final = 512 * 1024
TAIL_BYTES: Final = 1024 * 1024
MOST_LOOKED_AT: Final = 200
"""Of the logs that changed last."""
_PROMPT_CHARS: Final = 2000
_ANSWER_CHARS: Final = 4000
_POSITION: Final = "bytes:"


class LogLines(msgspec.Struct, frozen=True, kw_only=True):
    """`is_whole` says that no line between the first and the last is missing, `end` where the last whole line ends.
    `was_rewritten`: the log is shorter than the place from which on it should have been read."""

    lines: list[bytes]
    end: int
    changed: float
    is_whole: bool = True
    was_rewritten: bool = False


class LogFile(msgspec.Struct, frozen=True):
    path: Path
    changed: float


def latest_logs(paths: Iterable[Path]) -> list[LogFile]:
    """Those that changed last, newest first; what is no ordinary file is left out."""
    found: list[LogFile] = []
    for path in paths:
        with contextlib.suppress(OSError):  # it is gone meanwhile
            seen = path.lstat()
            if stat.S_ISREG(seen.st_mode):
                found.append(LogFile(path, seen.st_mtime))
    return sorted(found, key=lambda log: log.changed, reverse=True)[:MOST_LOOKED_AT]


def read_log(root: Path, path: Path, since: int = 0) -> LogLines:
    """The lines behind the first `since` bytes. Raises OSError."""
    with open_beneath(root, str(path)) as file:
        seen = os.fstat(file.fileno())
        if seen.st_uid != root.stat().st_uid:
            raise PermissionError(f"{path} belongs to another user than {root}")
        was_rewritten = since > seen.st_size
        begin = 0 if was_rewritten else since
        is_whole = seen.st_size - begin <= WHOLE_BYTES
        parts = [(begin, seen.st_size)] if is_whole else _parts_of(begin, seen.st_size)
        read = [_read_part(file.fileno(), start, end) for start, end in parts]
        return LogLines(
            lines=[line for lines, _ in read for line in lines],
            end=read[-1][1],
            changed=seen.st_mtime,
            is_whole=is_whole,
            was_rewritten=was_rewritten,
        )


def _parts_of(begin: int, size: int) -> list[tuple[int, int]]:
    head = [(begin, begin + HEAD_BYTES)] if begin == 0 else []
    return [*head, (size - TAIL_BYTES, size)]


def _read_part(descriptor: int, start: int, end: int) -> tuple[list[bytes], int]:
    """Whole lines alone, and where the last of them ends: a line that is cut at either end is left out, as is one that
    is still being written."""
    data = os.pread(descriptor, end - start, start)
    if start and os.pread(descriptor, 1, start - 1) != b"\n":
        cut = data.find(b"\n") + 1
        data, start = data[cut:], start + cut
    whole = data[: data.rfind(b"\n") + 1]
    return whole.split(b"\n")[:-1], start + len(whole)


def first_line(root: Path, path: Path, most: int) -> bytes:
    """Empty if it is longer than `most`, or cannot be read."""
    try:
        with open_beneath(root, str(path)) as file:
            data = os.pread(file.fileno(), most, 0)
    except OSError:
        return b""
    line, newline, _ = data.partition(b"\n")
    return line if newline else b""


def position_of(log: LogLines) -> str:
    return f"{_POSITION}{log.end}"


def bytes_of(position: str) -> int:
    """How many bytes of the log are behind this position; 0 for a position that this module has not made."""
    number = position.removeprefix(_POSITION)
    return int(number) if position.startswith(_POSITION) and number.isascii() and number.isdecimal() else 0


def moment_in(text: str) -> str:
    """A time that a record names, as the journal writes it; empty for what is none."""
    try:
        return timestamps.moment(timestamps.parse(text))
    except (ValueError, OverflowError):
        return ""


class ExchangeCounter:
    """Collects exchanges in their order, and keeps the first words and the last few."""

    def __init__(self) -> None:
        self.count = 0
        self.first_words = ""
        self._latest: deque[Exchange] = deque(maxlen=MOST_EXCHANGES)

    @property
    def latest(self) -> tuple[Exchange, ...]:
        return tuple(self._latest)

    def hear_person(self, text: str, at: str) -> None:
        self.count += 1
        self.first_words = self.first_words or text[:_PROMPT_CHARS]
        self._latest.append(Exchange(text[:_PROMPT_CHARS], "", moment_in(at)))

    def hear_agent(self, text: str) -> None:
        """The last words before the person speaks again are the answer."""
        if self._latest and text.strip():
            self._latest[-1] = msgspec.structs.replace(self._latest[-1], answer=text[:_ANSWER_CHARS])

    def describe(self, key: str, log: LogLines, began_at: str) -> StoredSession:
        return StoredSession(
            key=ResumeKey(key),
            first_words=self.first_words,
            began_at=moment_in(began_at),
            changed_at=timestamps.from_epoch(log.changed),
            exchanges=self.count,
            has_more=log.was_rewritten or not log.is_whole,
            latest=self.latest,
            position=position_of(log),
        )
