"""The states of a job, and which of them mean what. Knows no job."""

from typing import Final, Literal

JobState = Literal["queued", "running", "waiting", "success", "failed", "cancelled", "unknown_after_crash", "withdrawn"]

LIVE: Final[frozenset[str]] = frozenset({"queued", "running", "waiting"})
RETRYABLE: Final[frozenset[str]] = frozenset({"failed", "unknown_after_crash"})
