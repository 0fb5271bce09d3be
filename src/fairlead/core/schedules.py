"""Schedules as plain data: when one fires, in which session it runs, who is told. Knows no calendar and no clock:
`flow/schedules` computes the moments, and the facts carry them."""

from typing import Final, Literal

import msgspec

from fairlead.core.conversation import ConversationRef
from fairlead.core.ids import JobId, SessionKeyText
from fairlead.core.inbound import Ring

ScheduleStatus = Literal["proposed", "active", "paused", "done"]
"""A proposed schedule waits for a person's confirmation; one that is done fired once and will not again."""

ScheduleSession = Literal["here", "own", "fresh"]
"""Where a run goes: into the conversation's session, into one of the schedule's own, or into that one without any
memory of earlier runs."""

MissedTicks = Literal["run", "skip"]
TickOutcome = Literal["ran", "overlap", "missed", "check", "refused"]

LATE_SEC: Final = 60.0
"""A tick that is looked at later than this was missed: Fairlead was not running, or the clock was set."""

MOST_SCHEDULES: Final = 100
"""That one session may have: an agent that makes schedules in a loop is stopped here."""

LONGEST_TEXT: Final = 8000


class Timing(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """Either a cron expression, read in an IANA time zone, or one moment in UTC, shown in that zone."""

    cron: str = ""
    zone: str = "UTC"
    at: str = ""


class ScheduleTerms(msgspec.Struct, frozen=True, omit_defaults=True, gc=False, kw_only=True):
    """What a person agreed to. `session_key` and `conversation` are those in which it was made; `tell` are the people
    whom its answers mention, the maker if it is empty; `check` is a command whose exit code 0 means run. `foreign`: an
    agent wrote `text`. `pre_authorised`: the maker was let in by a channel's own secret."""

    timing: Timing
    text: str
    person: str
    conversation: ConversationRef
    session_key: SessionKeyText
    session: ScheduleSession = "here"
    missed: MissedTicks = "run"
    overlap: bool = False
    ring: Ring = "usual"
    tell: tuple[str, ...] = ()
    check: tuple[str, ...] = ()
    project: str = ""
    pre_authorised: bool = False
    foreign: bool = False


class Schedule(msgspec.Struct, omit_defaults=True, gc=False, kw_only=True):
    """`due` is the next tick, empty while there is none. `last_tick` is the latest one that was settled, in
    whatever way."""

    number: int
    terms: ScheduleTerms
    status: ScheduleStatus
    made_at: str
    due: str = ""
    last_tick: str = ""
    last_outcome: str = ""
    last_detail: str = ""
    last_job_id: JobId = JobId("")
    runs: int = 0
    skipped: int = 0
    done_on: int = 0


class ScheduleNotice(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """What a person is told of a tick that could not run: `code` says why, `detail` in a program's words."""

    number: int
    tick: str
    person: str
    code: str
    detail: str = ""
