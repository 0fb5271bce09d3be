"""Who is who among the processes: parsing what the kernel and `ps` tell."""

import os
from pathlib import Path

import pytest

from fairlead.kit.process_table import (
    ProcessEntry,
    ProcTable,
    descendants,
    find_mark,
    parse_proc_stat,
    parse_ps,
    parse_ps_marks,
    validate_mark,
)

FIELDS = b" 10 20 30 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 4711 12345 67 18446744073709551615"


def test_a_program_name_full_of_brackets_and_spaces_does_not_shift_the_fields():
    assert parse_proc_stat(b"42 (a) b (c) S" + FIELDS) == ProcessEntry(
        pid=42, parent=10, group=20, started="4711", command="a) b (c"
    )


@pytest.mark.parametrize("state", [b"Z", b"X"])
def test_the_dead_are_not_seen(state: bytes):
    assert parse_proc_stat(b"42 (name) " + state + FIELDS) is None


def test_a_mark_is_a_whole_variable_and_not_the_end_of_another():
    assert find_mark(b"A=1\0NOT_FAIRLEAD_RUN=x\0FAIRLEAD_RUN=state:job\0B=2\0") == "state:job"
    assert find_mark(b"NOT_FAIRLEAD_RUN=x\0") is None
    assert find_mark(b"") is None


def test_the_scan_sees_this_very_process_as_the_kernel_does():
    mine = next(seen for seen in ProcTable().scan() if seen.pid == os.getpid())
    assert (mine.parent, mine.group) == (os.getppid(), os.getpgrp())
    assert ProcTable().start_time(os.getpid()) == mine.started


def test_what_vanishes_or_cannot_be_read_is_left_out(tmp_path: Path):
    for name in ("1", "2", "self"):
        (tmp_path / name).mkdir()
    (tmp_path / "2" / "stat").write_bytes(b"2 (name) S" + FIELDS)
    (tmp_path / "2" / "environ").mkdir()  # opens, and cannot be read
    assert list(ProcTable(tmp_path).scan()) == [
        ProcessEntry(pid=2, parent=10, group=20, started="4711", command="name")
    ]
    assert ProcTable(tmp_path).start_time(1) is None


def test_descendants_are_found_through_any_number_of_generations_and_loops_end():
    family = [
        ProcessEntry(pid=pid, parent=parent, group=1, started="0", command="")
        for pid, parent in ((2, 1), (3, 2), (4, 3), (5, 9), (8, 8))
    ]
    assert descendants([1], family) == {2, 3, 4}
    assert descendants([8], family) == {8}


def test_ps_of_macos_is_understood():
    text = (
        "  501     1   501 Ss   Mon Sep  1 09:08:07 2025     /usr/bin/agent --flag  two\n"
        "  502   501   501 Z    Mon Sep  1 09:08:08 2025     <defunct>\n"
    )
    assert list(parse_ps(text)) == [
        ProcessEntry(
            pid=501, parent=1, group=501, started="Mon Sep 1 09:08:07 2025", command="/usr/bin/agent --flag  two"
        )
    ]
    marks = "  501 /usr/bin/agent --flag HOME=/Users/a FAIRLEAD_RUN=state:job PATH=/bin\n  503 sh A=1\n"
    assert parse_ps_marks(marks) == {501: "state:job"}


@pytest.mark.parametrize("mark", ["", "two words", "line\nend", "nul\0", "ümlaut"])
def test_a_mark_that_could_be_read_two_ways_is_refused(mark: str):
    with pytest.raises(ValueError, match="printable ASCII"):
        validate_mark(mark)
