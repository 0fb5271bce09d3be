"""The states of a job, and in one table every move between them. Knows no job: only states and journal events.

1. A move happens by one journal event. Its letter is that of the arrow in docs/concepts.md, drawn from this table.
2. An event that finds a job in any other state changes nothing: `decide` writes no such event, the fold ignores it.
3. A state that no move leaves is an end. `m` makes a new job and leaves the old one as it was.
4. Only a running job has a slot; a waiting one has given its slot away and gets another by `g`.
5. A job that is steering is a text on its way into the turn of another job. It has no slot and no turn of its own.
"""

from typing import Final, Literal

import msgspec

from fairlead.core import events as e

JobState = Literal[
    "queued",
    "running",
    "waiting",
    "steering",
    "success",
    "failed",
    "cancelled",
    "unknown_after_crash",
    "withdrawn",
    "steered",
]


class Move(msgspec.Struct, frozen=True):
    """`before` is None where there was no job."""

    before: JobState | None
    after: JobState
    arrow: str
    event: type[e.JournalEvent]


TRANSITIONS: Final = (
    Move(None, "queued", "a", e.JobEnqueued),
    Move("queued", "queued", "b", e.JobAmended),
    Move("queued", "withdrawn", "c", e.JobWithdrawn),
    Move("queued", "running", "d", e.JobStarted),
    Move("queued", "cancelled", "e", e.JobCancelled),
    Move("queued", "queued", "p", e.QuestionAsked),
    Move("running", "waiting", "f", e.QuestionAsked),
    Move("waiting", "waiting", "f", e.QuestionAsked),
    Move("waiting", "running", "g", e.JobContinued),
    Move("running", "running", "h", e.JobTriedAgain),
    Move("running", "running", "n", e.JobHandedOver),
    Move("running", "queued", "o", e.JobRequeued),
    Move("running", "success", "i", e.JobCompleted),
    Move("waiting", "success", "i", e.JobCompleted),
    Move("running", "failed", "j", e.JobFailed),
    Move("waiting", "failed", "j", e.JobFailed),
    Move("running", "cancelled", "k", e.JobCancelled),
    Move("waiting", "cancelled", "k", e.JobCancelled),
    Move("running", "unknown_after_crash", "l", e.JobMarkedUnknownAfterCrash),
    Move("waiting", "unknown_after_crash", "l", e.JobMarkedUnknownAfterCrash),
    Move("queued", "queued", "q", e.SteeringAsked),
    Move("queued", "steering", "r", e.SteeringBegun),
    Move("steering", "steered", "s", e.JobSteered),
    Move("steering", "queued", "t", e.SteeringDeclined),
    Move("queued", "queued", "t", e.SteeringDeclined),
    Move("steering", "failed", "u", e.JobFailed),
    Move("steering", "cancelled", "u", e.JobCancelled),
    Move("steering", "unknown_after_crash", "l", e.JobMarkedUnknownAfterCrash),
    Move("failed", "queued", "m", e.JobEnqueued),
    Move("unknown_after_crash", "queued", "m", e.JobEnqueued),
)


def states_before(event: type[e.JournalEvent]) -> frozenset[JobState]:
    """The states in which this event moves a job. Callers keep the set: a replay asks for every line."""
    return frozenset(move.before for move in TRANSITIONS if move.event is event and move.before is not None)


RETRYABLE: Final = states_before(e.JobEnqueued)
"""Ends after which a person may ask for a new attempt."""

Held = Literal["", "handed_off", "machine_away"]
"""Why a queued job waits although nothing runs before it: its session goes on in a shell, or the machine of its project
is not connected."""

LIVE: Final[frozenset[JobState]] = frozenset(
    move.before for move in TRANSITIONS if move.before is not None and move.event is not e.JobEnqueued
)
"""Every state that is no end."""
