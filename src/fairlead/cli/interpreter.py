"""How Python is set for a process that runs for months and answers at once: the daemon, a runner."""

import asyncio
import gc
import os
import sys
from typing import Final

from fairlead.kit.process_memory import use_one_arena

THREAD_SWITCH_SEC: Final = 0.0005
"""How long a background thread (the journal's index, a look through the process table) may keep the interpreter while
the event loop has something to do. Python's own 5 ms is as long as the whole way of a message."""

YOUNG_OBJECTS: Final = 5_000
"""The garbage collector looks for cycles when so many objects have been made. With Python's own 700 it does so in
nearly every message, and takes a tenth of a millisecond."""


def set_up_interpreter() -> None:
    sys.setswitchinterval(THREAD_SWITCH_SEC)
    gc.set_threshold(YOUNG_OBJECTS, *gc.get_threshold()[1:])
    use_one_arena()
    _wait_for_children_without_threads()


def _wait_for_children_without_threads() -> None:
    """As Python 3.12 does by itself where the kernel can; Python 3.11 starts a thread for every child."""
    if sys.version_info >= (3, 12) or not hasattr(os, "pidfd_open"):
        return
    try:
        os.close(os.pidfd_open(os.getpid()))
    except OSError:
        return  # an old kernel, or a sandbox
    asyncio.set_child_watcher(asyncio.PidfdChildWatcher())  # pyright: ignore[reportDeprecated] - not where it is
