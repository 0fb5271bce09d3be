"""The replies of commands, as facts. `render` makes the words for people of them."""

import msgspec

from fairlead.core.conversation import ConversationRef
from fairlead.core.state import JobState, SessionState


class Reply(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="kind", tag=True):
    """What a command returns. A new command brings its own reply."""


class ProjectInfo(Reply, frozen=True, kw_only=True):
    number: int
    name: str
    path: str
    enabled_tools: tuple[str, ...]
    default_tool: str
    active: bool = False
    disabled: str = ""
    created: bool = False


class ProjectCatalogue(Reply, frozen=True):
    projects: tuple[ProjectInfo, ...]


class ProjectReport(Reply, frozen=True, kw_only=True):
    name: str
    session_total: int
    running_sessions: int
    queued_jobs: int
    failed_jobs_24h: int
    last_error: str | None


class LastJob(msgspec.Struct, frozen=True, omit_defaults=True):
    job_id: str
    state: JobState
    seconds: float
    finished_at: str


class StatusReport(Reply, frozen=True, kw_only=True):
    # People and clients know the resume key as `session_key`, and the session's own key as `session_key_name`.

    session_id: str
    session_key: str = msgspec.field(name="session_key_name")
    project: str
    tool: str
    resume_key: str | None = msgspec.field(name="session_key")
    state: SessionState
    pending: int
    running_job_id: str | None
    last_job: LastJob | None
    resume_ready: bool
    retry_job_id: str | None
    can_ask: bool = True
    cost_usd: float = 0.0


class SessionRow(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    session_id: str
    session_key: str
    project: str
    state: SessionState
    last_activity_at: str
    conversation: ConversationRef


class SessionCatalogue(Reply, frozen=True):
    sessions: tuple[SessionRow, ...]


class SessionFound(Reply, frozen=True):
    session: SessionRow


class SessionStarted(Reply, frozen=True):
    session_key: str
    session_id: str
    project: str
    tool: str


class ToolSet(Reply, frozen=True):
    """`from_next_job` is true while a job runs with the tool it was started with."""

    tool: str
    from_next_job: bool = False


class ProjectSelected(Reply, frozen=True):
    name: str
    number: int
    path: str
    tool: str


class JobQueued(Reply, frozen=True):
    job_id: str
    attempt: int
    retry_of: str


class SessionWasReset(Reply, frozen=True):
    session_key: str
    cancelled: tuple[str, ...]


class JobsCancelled(Reply, frozen=True):
    """`stopping` were running and are being ended; `cancelled` had not begun."""

    stopping: tuple[str, ...] = ()
    cancelled: tuple[str, ...] = ()


class Step(msgspec.Struct, frozen=True):
    seq: int
    ts: str
    type: str
    words: str


class Story(Reply, frozen=True):
    subject: str
    steps: tuple[Step, ...]


class AgentReport(Reply, frozen=True, kw_only=True):
    session_id: str
    project: str
    project_number: int
    tool: str
    model: str
    state: str
    seconds_since_activity: float
    models: tuple[str, ...] = ()
    mode: str = ""
    modes: tuple[str, ...] = ()


class AgentStopped(Reply, frozen=True):
    session_id: str
    killed: bool


class ModelSet(Reply, frozen=True):
    model: str


class ModeSet(Reply, frozen=True):
    """The mode is no journal fact: it holds until Fairlead is started again."""

    mode: str


class UsageReport(Reply, frozen=True, kw_only=True):
    session_id: str
    input_tokens: int
    output_tokens: int
    cost_usd: float
    context_used: int = 0
    context_size: int = 0
