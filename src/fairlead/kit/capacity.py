"""How many agents this machine carries at once. Knows no agent by name, and starts none."""

import os
from pathlib import Path
from typing import Final

import msgspec

AGENT_MIB: Final = 400
"""What one agent takes while it works: the CLIs were seen with 250 to 600 MiB."""

AGENTS_PER_CORE: Final = 8
"""An agent mostly waits for its model. Its tools, such as a test run, share the cores as they would in a terminal."""

LEAST, MOST = 2, 32

MOST_KEPT: Final = 64
"""No machine keeps more agents than these between their turns."""

_MEMINFO: Final = Path("/proc/meminfo")


class MachineSize(msgspec.Struct, frozen=True):
    cores: int
    free_mib: int
    all_mib: int = 0
    """0 if the system does not say how much of it is free."""

    def agents_that_fit(self) -> int:
        """Half of the free memory is left to what else runs here."""
        return max(LEAST, min(self.cores * AGENTS_PER_CORE, self.free_mib // 2 // AGENT_MIB, MOST))

    def has_room_to_keep(self, agents: int) -> bool:
        """Whether so many agents may stay, most of them idle, though fewer may work at once: as long as a quarter of
        all memory is free. Where the system does not say how much is free, nobody knows."""
        return agents <= MOST_KEPT and self.all_mib > 0 and self.free_mib - AGENT_MIB >= self.all_mib // 4

    def __str__(self) -> str:
        return f"{self.cores} core(s), {self.free_mib / 1024:.1f} GiB of free memory"


def read_machine_size() -> MachineSize:
    memory = _read_memory()
    free = memory.get("MemAvailable", _guess_free_mib())
    return MachineSize(_count_cores(), free, memory.get("MemTotal", 0))


def _count_cores() -> int:
    """Those that this process may use: a container or `taskset` may leave it fewer than there are."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _read_memory() -> dict[str, int]:
    """The fields of /proc/meminfo, in MiB; none where there is no such file."""
    if not _MEMINFO.exists():
        return {}
    fields = (line.split() for line in _MEMINFO.read_text().splitlines())
    return {name.rstrip(":"): int(number) // 1024 for name, number, *_ in fields}


def _guess_free_mib() -> int:
    """Half of all memory, where the system does not say what can be used without swapping (macOS)."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // (2 * 1024 * 1024)
