"""What a process uses, told by the process itself and held against the system."""

import os
import time
from pathlib import Path

from fairlead.kit.process_usage import read_own_usage


def test_the_numbers_are_those_of_this_process(tmp_path: Path):
    before = read_own_usage()
    assert 0 < before.started_at <= time.time()
    assert before.cpu_seconds > 0
    assert before.resident_bytes is None or 1_000_000 < before.resident_bytes <= (before.virtual_bytes or 0)
    with (tmp_path / "open").open("w"):
        held = read_own_usage()
    assert (held.open_files or 0) - (before.open_files or 0) == (0 if before.open_files is None else 1)
    ended = time.process_time() + 0.05
    while time.process_time() < ended:
        os.getpid()
    after = read_own_usage()
    assert after.cpu_seconds > before.cpu_seconds
    assert after.started_at == before.started_at
