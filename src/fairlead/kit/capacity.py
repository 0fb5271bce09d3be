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
_MEMINFO: Final = Path("/proc/meminfo")


class MachineSize(msgspec.Struct, frozen=True):
    cores: int
    free_mib: int

    def agents_that_fit(self) -> int:
        """Half of the free memory is left to what else runs here."""
        return max(LEAST, min(self.cores * AGENTS_PER_CORE, self.free_mib // 2 // AGENT_MIB, MOST))

    def __str__(self) -> str:
        return f"{self.cores} core(s), {self.free_mib / 1024:.1f} GiB of free memory"


def read_machine_size() -> MachineSize:
    return MachineSize(_count_cores(), _read_free_mib())


def _count_cores() -> int:
    """Those that this process may use: a container or `taskset` may leave it fewer than there are."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _read_free_mib() -> int:
    """What can be used without swapping; where the system does not say so (macOS), half of all memory."""
    if _MEMINFO.exists():
        for line in _MEMINFO.read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) // 1024
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // (2 * 1024 * 1024)
