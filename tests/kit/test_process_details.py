"""What can be seen of a process from outside: its arguments, its directory, its open files."""

import os
import subprocess
import sys
from pathlib import Path

from fairlead.kit.process_details import ProcessDetails, has_open, look_at_processes


def test_a_process_is_seen_with_its_arguments_and_its_directory_and_no_longer_when_it_is_gone(tmp_path: Path):
    program = "import sys; print('up', flush=True); sys.stdin.read()"
    process = subprocess.Popen(
        [sys.executable, "-c", program, "a word"], cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    process.stdout.readline()
    seen = next(one for one in look_at_processes() if one.pid == process.pid)
    assert (seen.argv[-1], seen.directory, seen.program) == (
        "a word",
        str(tmp_path.resolve()),
        Path(sys.executable).name,
    )
    process.communicate()
    assert all(one.pid != process.pid for one in look_at_processes())


def test_an_open_file_is_seen_while_it_is_open(tmp_path: Path):
    path = tmp_path / "a"
    path.touch()
    with path.open():
        assert has_open(os.getpid(), path)
    assert not has_open(os.getpid(), path)
    assert not has_open(os.getpid(), tmp_path / "missing")
    assert not has_open(2**22 + 1, path)


def test_a_process_is_named_by_its_program_and_not_by_the_way_to_it():
    details = ProcessDetails(pid=1, argv=("/opt/bin/claude", "--resume", "k1"))
    assert details.words == "claude --resume k1"
