"""A look into /proc that does not use the code under test."""

from pathlib import Path


def is_alive(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(b")")[2].split()[0] not in {b"Z", b"X"}


def living_with(mark: str) -> list[int]:
    found: list[int] = []
    for name in filter(str.isdecimal, (entry.name for entry in Path("/proc").iterdir())):
        try:
            environment = Path(f"/proc/{name}/environ").read_bytes()
        except OSError:
            continue
        if f"FAIRLEAD_RUN={mark}".encode() in environment and is_alive(int(name)):
            found.append(int(name))
    return found
