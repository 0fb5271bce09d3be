"""Which processes are above a process. Only looks; Linux alone can tell.

Every process can set the mark of those that it starts. Nobody chooses its ancestors: a process is below the one that
started it, or, when that is gone, below init.
"""

from pathlib import Path
from typing import Final

_MOST_GENERATIONS: Final = 64


def can_see_ancestors(root: Path = Path("/proc")) -> bool:
    return (root / "self" / "stat").exists()


def ancestors_of(pid: int, root: Path = Path("/proc")) -> list[int]:
    """The process itself, the one that started it, and so on upwards; empty if it is gone."""
    found: list[int] = []
    while pid > 1 and len(found) < _MOST_GENERATIONS:
        try:
            # The name of the program stands in parentheses, and may have some of its own.
            fields = (root / str(pid) / "stat").read_bytes().rpartition(b")")[2].split()
        except OSError:
            return found
        found.append(pid)
        pid = int(fields[1])
    return found
