"""How Python is set for a process that runs for months and answers at once: the daemon, a runner."""

import gc
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
