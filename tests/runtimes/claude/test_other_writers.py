"""Whether another program has written to a session since Fairlead did."""

import os
from pathlib import Path

import pytest

from fairlead.runtimes.claude.other_writers import SETTLE_SEC, OtherWriters
from fairlead.runtimes.records.claude import ClaudeRecords

pytestmark = pytest.mark.req("F9")
KEY = "5ec29595-d966-4095-9e2e-e246aafcf06d"


def touch(log: Path, seconds: float) -> None:
    os.utime(log, (1000.0 + seconds, 1000.0 + seconds))


def test_only_what_comes_long_after_our_turn_is_another_programs(tmp_path: Path):
    log = tmp_path / "log"
    log.touch()
    touch(log, 0.0)
    others = OtherWriters(ClaudeRecords({"HOME": str(tmp_path)}))
    assert others.look("s", KEY, log) == (None, False)  # nothing of ours has run yet
    others.note_rest("s", log)
    touch(log, SETTLE_SEC)
    assert others.look("s", KEY, log) == (None, False)
    touch(log, SETTLE_SEC + 1)
    assert others.look("s", KEY, log) == (None, True)
    assert others.look("other", KEY, log) == (None, False)


def test_a_log_that_cannot_be_seen_says_nothing(tmp_path: Path):
    others = OtherWriters(ClaudeRecords({"HOME": str(tmp_path)}))
    for log in (None, tmp_path / "missing"):
        others.note_rest("s", log)
        assert others.look("s", KEY, log) == (None, False)
