"""A hidden process: what another process of the same user finds of it."""

import subprocess
import sys

import pytest

from fairlead.kit.process_hiding import hide_process

SCRIPT = """
import ctypes, os, sys
from fairlead.kit.process_hiding import hide_process
from fairlead.kit.process_table import system_table

def look(path, see):
    try:
        see(path)
        return "open"
    except PermissionError:
        return "closed"

if os.geteuid() == 0:  # root sees everything, so this becomes nobody's process
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)  # a change of the user hides a process too, and that is not what is tried here
if sys.argv[1] == "hidden":
    assert hide_process()
ours = f"/proc/{os.getpid()}"
if os.fork() == 0:
    for name in ("environ", "maps", "mem"):
        print(name, look(f"{ours}/{name}", lambda path: open(path, "rb").close()))
    print("fd", look(f"{ours}/fd", os.listdir), flush=True)
    os._exit(0)
os.wait()
assert os.getpid() in {entry.pid for entry in system_table().scan()}  # what a sweep needs to know is not hidden
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux hides a process")
@pytest.mark.req("B14")
@pytest.mark.parametrize(("how", "found"), [("shown", "open"), ("hidden", "closed")])
def test_a_hidden_process_keeps_its_environment_and_files_to_itself(how: str, found: str):
    run = [sys.executable, "-c", SCRIPT, how]
    done = subprocess.run(run, capture_output=True, text=True, timeout=60, check=False, env={"SECRET": "key"})
    assert done.stdout.split() == ["environ", found, "maps", found, "mem", found, "fd", found], done.stderr


@pytest.mark.skipif(sys.platform == "linux", reason="Linux hides it")
def test_where_a_process_cannot_be_hidden_it_says_so():
    assert hide_process() is False
