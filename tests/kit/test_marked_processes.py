"""A real process with a mark is found with its memory, and no other is."""

import os
import subprocess
import sys

import pytest

from fairlead.kit.marked_processes import list_marked
from fairlead.kit.process_table import MARK_VARIABLE

pytestmark = pytest.mark.req("G9")


def test_a_marked_process_is_listed_with_its_memory_until_it_has_ended():
    environment = {**os.environ, MARK_VARIABLE: "marked-test:job_1"}
    command = [sys.executable, "-c", "print('up', flush=True); input()"]
    with subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        (found,) = list_marked("marked-test:")
        assert (found.pid, found.mark) == (child.pid, "marked-test:job_1")
        assert "input()" in found.command
        assert (found.resident_bytes or 0) > 1_000_000
        assert list_marked("another-test:") == []
        child.communicate(b"\n")
    assert list_marked("marked-test:") == []
