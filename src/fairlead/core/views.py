"""Read models: what a channel may know of jobs, questions, sessions, conversations and projects. Frozen: a view
that a channel keeps never changes. `core/read_models.py` makes them from the state; this module knows no channel."""

from typing import Literal

import msgspec

from fairlead.core.conversation import ConversationRef
from fairlead.core.events import FileRef
from fairlead.core.ids import JobId, MessageId, SessionKeyText
from fairlead.core.inbound import Attachment, Cause
from fairlead.core.job_states import LIVE, JobState
from fairlead.core.keys import SessionKey, parse_session_key
from fairlead.core.questions import QuestionFields
from fairlead.core.trees import ChangeSummary
from fairlead.core.turn_reports import NO_REPORT, TurnReport


class JobFields(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True, gc=False):
    """The fields of a job that both channels and the clients of a channel see."""

    job_id: JobId
    session_key: SessionKeyText
    state: JobState
    attempt: int
    enqueued_at: str
    runtime: str = msgspec.field(default="", name="tool")
    prompt: str = ""
    started_at: str | None = None
    finished_at: str | None = None
    answer: str = ""
    cost_usd: float = 0.0
    project: str = ""
    machine: str = ""
    """The other machine that it runs on, or ran; empty for this one."""
    machine_away_since: str = ""
    """Since when this machine is not connected, while the job lives; empty if it is."""
    changed: ChangeSummary | None = None
    """The files that the turn changed; absent where it changed none, or nobody knows."""
    report: TurnReport = NO_REPORT
    input_tokens: int = 0
    output_tokens: int = 0
    steered_into: str = ""
    """The job whose turn took the text, or is to take it."""


class JobView(JobFields, frozen=True, kw_only=True):
    """A job as a channel sees it. `prompt` and `answer` are there where a method says so; `answer_owed` says that its
    end has not reached the person yet, `answer_given_up` that it never will."""

    conversation: ConversationRef
    message_id: MessageId
    person: str
    attachments: tuple[Attachment, ...] = ()
    error_code: str | None = None
    error_message: str | None = None
    files: tuple[FileRef, ...] = ()
    body_digest: str = ""
    answer_owed: bool = False
    answer_given_up: bool = False
    cause: Cause = "message"
    retry_of: JobId = JobId("")
    has_snapshot: bool = False
    """Its files at the start of its turn are known, so that what changed can be shown."""
    is_undone: bool = False

    @property
    def is_live(self) -> bool:
        return self.state in LIVE


class RefusedMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A message that became no job. `code` is text, since a newer Fairlead may have written one that this one does not
    know."""

    conversation: ConversationRef
    message_id: MessageId
    code: str


QuestionStatus = Literal["open", "answered", "closed"]


class QuestionView(QuestionFields, frozen=True, kw_only=True):
    """A question as a channel sees it. `outcome` is the verdict, or why it was closed without one; `message` are the
    words that came with the verdict, `rule_made` the standing rule.

    `takes_responses` is less than `status == "open"`: a permission can no longer be given when its job is over."""

    status: QuestionStatus = "open"
    outcome: str = ""
    answered_by: str = ""
    chosen: dict[str, str] = msgspec.field(default_factory=dict[str, str])
    message: str = ""
    rule_made: int = 0
    job_is_live: bool = True
    takes_responses: bool = True
    asked_at: str = ""
    reminded: bool = False
    machine: str = ""
    """The other machine that the agent works on; empty for this one."""


class SentView(msgspec.Struct, frozen=True, kw_only=True):
    """What an agent sent by itself, or why a schedule did not run, and a person has not got yet, while the state has
    it. The latter belongs to no job."""

    sent_id: str
    job_id: str
    session_key: str
    sent_at: str
    text: str = ""
    files: tuple[FileRef, ...] = ()


class SessionView(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """`title` is what people see the session called, `title_before` what it was called before that."""

    session_key: str
    session_id: str
    project: str
    runtime: str
    queue: tuple[str, ...] = ()
    running_job_id: str | None = None
    title: str = ""
    titled_by: str = ""
    title_before: str = ""
    handed_off: bool = False
    awaited_machine: str = ""
    """The machine of the project that its next job waits for; empty if it waits for none."""
    awaited_since: str = ""
    """Since when that machine is not connected."""

    @property
    def key(self) -> SessionKey:
        parsed = parse_session_key(self.session_key)
        assert parsed is not None, "only built keys reach the journal"
        return parsed


class ConversationView(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A conversation that is bound to a session; `conversation` names its parent too, where it has one."""

    conversation: ConversationRef
    session_key: str


class ProjectView(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """`disabled` says why no agent can run in the project; empty if one can."""

    number: int
    name: str
    disabled: str = ""


Latency = Literal["started", "answered", "delivered"]
"""From accepted to started; from accepted to the job's end; from there until the person has the answer."""


class LatencyView(msgspec.Struct, frozen=True, kw_only=True):
    """A histogram: how many took at most `bounds_sec[i]` is `counts[i]`; the last count is that of all. `label` is the
    outcome of jobs that were answered, and the channel of what was delivered."""

    what: Latency
    label: str
    bounds_sec: tuple[float, ...]
    counts: tuple[int, ...]
    total_sec: float


class Counts(msgspec.Struct, frozen=True, kw_only=True):
    """The numbers of the daemon, for its health and its metrics.

    `settled` counts messages by outcome, `live_jobs` jobs by state, `queued` the queue of each session that has one."""

    seq: int
    received: int
    settled: dict[str, int]
    live_jobs: dict[str, int]
    queued: dict[str, int]
    sessions: int
    open_questions: int
    outbox_entries: int
    cost_usd: float
