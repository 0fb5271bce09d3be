"""What became of a message: a job, a refusal, or nothing because it was passed over. One writer, one reader.

The state keeps an outcome as a short string, because it keeps one for every message of two weeks: a job's id as it is,
`refused CODE`, or `skipped reason`. Everything else in Fairlead sees the structs.
"""

from typing import Final, TypeAlias, assert_never

import msgspec

from fairlead.core.ids import JobId

_REFUSED: Final = "refused "
_SKIPPED: Final = "skipped "


class Enqueued(msgspec.Struct, frozen=True):
    job_id: JobId


class Refused(msgspec.Struct, frozen=True):
    """`code` is text, since a newer Fairlead may have written one that this one does not know."""

    code: str


class Skipped(msgspec.Struct, frozen=True):
    reason: str


MessageOutcome: TypeAlias = Enqueued | Refused | Skipped


def encode_outcome(outcome: MessageOutcome) -> str:
    match outcome:
        case Enqueued(job_id):
            return job_id
        case Refused(code):
            return f"{_REFUSED}{code}"
        case Skipped(reason):
            return f"{_SKIPPED}{reason}"
        case _:
            assert_never(outcome)


def decode_outcome(stored: str) -> MessageOutcome:
    if stored.startswith(_REFUSED):
        return Refused(stored.removeprefix(_REFUSED))
    if stored.startswith(_SKIPPED):
        return Skipped(stored.removeprefix(_SKIPPED))
    return Enqueued(JobId(stored))
