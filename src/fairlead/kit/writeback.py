"""Asks the system to bring to the disk what was written to a file, without waiting for it. Linux alone can."""

import errno
import os
from collections.abc import Callable
from functools import cache
from typing import Final

_BEGIN: Final = 2
"""SYNC_FILE_RANGE_WRITE: all that is not on its way yet."""
_LOST: Final = frozenset({errno.EIO, errno.ENOSPC, errno.EDQUOT})


def begin_writeback(fd: int) -> None:
    """Of the whole file. A hint: nothing is durable by it, and a file system that does not take it does nothing. Raises
    OSError if the disk failed: what was written may be lost, and a later sync need not say so again."""
    fault = _sync_file_range()(fd)
    if fault in _LOST:
        raise OSError(fault, os.strerror(fault))


@cache
def _sync_file_range() -> Callable[[int], int]:
    """Loaded when it is first needed, because every command line imports this file. Gives the number of an error."""
    try:
        import ctypes

        found = ctypes.CDLL(None, use_errno=True).sync_file_range
    except (ImportError, OSError, AttributeError):
        return lambda _fd: 0  # another system, or a Python without it
    found.argtypes = (ctypes.c_int, ctypes.c_int64, ctypes.c_int64, ctypes.c_uint)
    return lambda fd: 0 if found(fd, 0, 0, _BEGIN) == 0 else ctypes.get_errno()
