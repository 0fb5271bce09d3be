"""Keeps the memory of a daemon small, where the C library is one that can be told so (glibc)."""

import ctypes
from contextlib import suppress

_M_ARENA_MAX = -8


def use_one_arena() -> None:
    """Threads share one heap. glibc gives each thread a heap of its own against waits for a lock; Python's threads run
    one at a time and hardly ever wait for it, and each heap has its own holes."""
    with suppress(AttributeError, OSError):  # another C library, or none that can be asked
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 1)


def return_free_memory() -> None:
    """What a start needed for a moment goes back to the system."""
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).malloc_trim(0)
