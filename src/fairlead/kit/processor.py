"""Which process runs next on this processor."""

import os
from collections.abc import Callable
from typing import Final

_YIELD: Final[Callable[[], None]] = getattr(os, "sched_yield", lambda: None)


def yield_processor() -> None:
    """Called when something was just handed to another process. Linux mostly runs a process that is woken on the
    processor of the one that woke it, and behind it: an agent that got its prompt, or the other end of a connection,
    would wait until the event loop has nothing more to do, which is a tenth of a millisecond. If no process waits, this
    takes half a microsecond. It is a hint: who runs next is the system's to decide."""
    _YIELD()
