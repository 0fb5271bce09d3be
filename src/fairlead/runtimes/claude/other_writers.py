"""Whether another program has a session of claude's open, or has written to it since Fairlead did. Only looks.

Two programs that go on with one session both succeed, and what one of them said is lost. So nothing is sent to a
session that is open elsewhere; and a process of ours that waits while another program goes on knows an older state, and
is replaced by one that reads the log."""

import os
from pathlib import Path
from typing import Final

from fairlead.core.agent_sessions import SessionWriter
from fairlead.runtimes.records.claude import ClaudeRecords

SETTLE_SEC: Final = 2.0
"""So long after a turn claude may still add to the log of its session."""


class OtherWriters:
    def __init__(self, records: ClaudeRecords) -> None:
        self._records = records
        self._written_at: dict[str, float] = {}
        """By session, when its log had changed last as our own turn ended, by the file's own time."""

    def note_rest(self, session_key: str, log: Path | None) -> None:
        changed = _read_change_time(log)
        if changed is not None:
            self._written_at[session_key] = changed

    def look(self, session_key: str, key: str, log: Path | None) -> tuple[SessionWriter | None, bool]:
        """The process outside of Fairlead that has the session open; and whether one has written to it since our last
        turn."""
        before, now = self._written_at.get(session_key), _read_change_time(log)
        has_written = before is not None and now is not None and now > before + SETTLE_SEC
        return self._records.find_open_elsewhere(key), has_written


def _read_change_time(log: Path | None) -> float | None:
    try:
        return None if log is None else os.stat(log).st_mtime  # noqa: PTH116 - before every turn, where a Path takes longer
    except OSError:
        return None
