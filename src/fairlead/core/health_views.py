"""How the daemon was at one moment: what its pages draw. Frozen; measured elsewhere."""

import msgspec


class HealthSample(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What was at one moment, and what was longest since the moment before: the sync of the journal, the wait for a
    channel's rate limit, and how late the event loop was. None where nothing happened."""

    at: str
    queued: int
    running: int
    owed: int
    sync_sec: float | None = None
    rate_limit_sec: float | None = None
    late_sec: float = 0.0
    memory_bytes: int | None = None
