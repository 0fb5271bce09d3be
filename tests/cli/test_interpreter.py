"""How a long-lived process sets Python, seen in a process of its own."""

import subprocess
import sys

import pytest

_SPAWN = """
import asyncio, threading
from fairlead.cli.interpreter import set_up_interpreter

async def main():
    child = await asyncio.create_subprocess_exec("cat", stdin=asyncio.subprocess.PIPE)
    print([thread.name for thread in threading.enumerate()])
    child.stdin.close()
    print(await child.wait())

set_up_interpreter()
asyncio.run(main())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has a descriptor for a process")
def test_a_child_takes_no_thread_and_its_end_is_noticed():
    ran = subprocess.run([sys.executable, "-c", _SPAWN], capture_output=True, text=True, check=True, timeout=60)
    assert ran.stdout.splitlines() == ["['MainThread']", "0"]
