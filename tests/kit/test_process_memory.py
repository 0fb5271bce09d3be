"""The daemon's memory is kept small: what the C library can be told to do, it does, and what it cannot harms nobody."""

import subprocess
import sys

PROGRAM = """
import ctypes, threading
from fairlead.kit.process_memory import return_free_memory, use_one_arena

def resident() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096

use_one_arena()
libc = ctypes.CDLL(None)
libc.malloc.restype, libc.malloc.argtypes, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_size_t], [ctypes.c_void_p]
held = []

def hold() -> None:
    held.extend(libc.malloc(50_000) for _ in range(400))
    for each in held:
        ctypes.memset(each, 1, 50_000)

worker = threading.Thread(target=hold)
worker.start()
worker.join()
last = libc.malloc(1000)  # so that nothing can be returned from the heap's end alone
full = resident()
for each in held:
    libc.free(each)
return_free_memory()
print(full - resident() > 15_000_000)
"""


def test_what_a_thread_used_and_freed_goes_back_to_the_system():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "True\n"
