"""Hides this process's memory, environment and open files from other processes of the same user. Linux alone can."""

import ctypes
import sys

_PR_SET_DUMPABLE = 4


def hide_process() -> bool:
    """Whether it worked. From here on /proc/PID/environ, fd, mem and maps of this process are root's, no debugger of
    the same user attaches, and a crash leaves no core file. What it starts is not hidden: exec undoes it."""
    if sys.platform != "linux":
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    return libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0) == 0
