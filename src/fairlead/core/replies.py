"""The replies of commands, as facts. `render` makes the words for people of them."""

from typing import Annotated, Literal

import msgspec

from fairlead.core.agents import ConfiguredAgent
from fairlead.core.conversation import ConversationRef
from fairlead.core.rules import RuleOffer
from fairlead.core.spawns import SpawnReturn
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


class RenamedProject(Reply, frozen=True):
    old_name: str
    name: str


class RemovedProject(Reply, frozen=True):
    """`setting` names the directory too: the project stays away, but the setting is worth a look."""

    name: str
    path: str
    setting: str = ""


class ProjectReport(Reply, frozen=True, kw_only=True):
    name: str
    session_total: int
    running_sessions: int
    queued_jobs: int
    failed_jobs_24h: int
    last_error: str | None


class RuleRow(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A standing rule. `used_at` is empty for one that was never used."""

    number: int
    project: str
    rule: RuleOffer
    person: str
    made_at: str
    uses: int = 0
    used_at: str = ""


class RuleCatalogue(Reply, frozen=True):
    rules: tuple[RuleRow, ...]


class RuleWasRemoved(Reply, frozen=True):
    rule: RuleRow


class LastJob(msgspec.Struct, frozen=True, omit_defaults=True):
    job_id: str
    state: JobState
    seconds: float
    finished_at: str


class StatusReport(Reply, frozen=True, kw_only=True):
    """`session_key` is the session's own, as everywhere; `resume_key` is by which its agent finds its memory.
    `all_running` counts the jobs of all sessions, of which `most_running` may run at once."""

    session_id: str
    session_key: str
    project: str
    tool: str
    resume_key: str | None
    state: SessionState
    pending: int
    running_job_id: str | None
    last_job: LastJob | None
    resume_ready: bool
    retry_job_id: str | None
    can_ask: bool = True
    cost_usd: float = 0.0
    session_key_name: Annotated[
        str,
        msgspec.Meta(description="The same as `session_key`.", extra_json_schema={"deprecated": True}),
    ] = ""
    running_since: str = ""
    all_running: int = 0
    most_running: int = 0


class SessionRow(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    session_id: str
    session_key: str
    project: str
    state: SessionState
    last_activity_at: str
    conversation: ConversationRef
    parent_session_id: str = ""
    depth: int = 0
    """How many sessions are above this one: 0 for one that nobody spawned."""


class SessionCatalogue(Reply, frozen=True):
    """`next` is set by the API alone, where more sessions follow: `after` of the next request."""

    sessions: tuple[SessionRow, ...]
    next: str = ""


class SessionFound(Reply, frozen=True):
    session: SessionRow


class SessionStarted(Reply, frozen=True):
    session_key: str
    session_id: str
    project: str
    tool: str


class Spawned(Reply, frozen=True, kw_only=True):
    """A session was started for a task. `returns` says where its completion goes; `session_id` is empty while its
    thread is being made."""

    returns: SpawnReturn
    session_key: str = ""
    session_id: str = ""
    project: str = ""
    tool: str = ""
    job_id: str = ""


class ToolSet(Reply, frozen=True):
    """`from_next_job` is true while a job runs with the tool it was started with. `choices` are there where nothing was
    chosen: then nothing was changed."""

    tool: str
    from_next_job: bool = False
    choices: tuple[str, ...] = ()


class ProjectSelected(Reply, frozen=True):
    name: str
    number: int
    path: str
    tool: str


class JobQueued(Reply, frozen=True):
    job_id: str
    attempt: int
    retry_of: str


class JobRow(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One job in a list; `prompt` is the beginning of what was said."""

    job_id: str
    number: int
    state: JobState
    prompt: str = ""
    project: str = ""
    tool: str = ""
    enqueued_at: str = ""
    seconds: float = 0.0
    error_code: str = ""


class JobCatalogue(Reply, frozen=True):
    """Newest first."""

    jobs: tuple[JobRow, ...]


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


Ability = Literal["ask", "steer", "fork"]
"""Ask a person for permission; take further words into a running turn; begin another session with this one's words."""


class Inability(msgspec.Struct, frozen=True, omit_defaults=True):
    """What this agent cannot do, and the agents here that can."""

    ability: Ability
    others: tuple[str, ...] = ()


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
    options: dict[str, str] = {}
    commands: tuple[str, ...] = ()
    can_ask: bool = True
    cannot: tuple[Inability, ...] = ()


class CommandSent(Reply, frozen=True):
    """A slash command of the agent's own waits for its turn."""

    job_id: str
    command: str


class AgentStopped(Reply, frozen=True):
    session_id: str
    killed: bool


class ModelSet(Reply, frozen=True):
    """`choices` are there where nothing was chosen: then nothing was changed."""

    model: str
    choices: tuple[str, ...] = ()


class ModeSet(Reply, frozen=True):
    """The mode is no journal fact: it holds until Fairlead is started again. `choices` are there where nothing was
    chosen: then nothing was changed."""

    mode: str
    choices: tuple[str, ...] = ()


class UsageReport(Reply, frozen=True, kw_only=True):
    session_id: str
    input_tokens: int
    output_tokens: int
    cost_usd: float
    context_used: int = 0
    context_size: int = 0


class AgentAdded(Reply, frozen=True):
    """`projects` allow the agent. `running` are jobs that go on with the program that the agent had before."""

    name: str
    projects: tuple[str, ...]
    running: tuple[str, ...] = ()


class AgentWasRemoved(Reply, frozen=True):
    """`users` are sessions and projects that are left with a name that nothing answers to."""

    name: str
    users: tuple[str, ...] = ()
    running: tuple[str, ...] = ()


class AgentCatalogue(Reply, frozen=True):
    agents: tuple[ConfiguredAgent, ...]
