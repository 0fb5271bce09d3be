"""What people can ask of Fairlead besides talking to an agent: one struct per command, the same on every channel."""

from typing import Annotated, Final

import msgspec

from fairlead.core.agents import FROM_COMMAND
from fairlead.core.conversation import ConversationRef
from fairlead.core.keys import SessionKey
from fairlead.core.pages import After, Limit

SESSIONS_SHOWN: Final = 20


class Caller(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Who asks, from where. `session_key` is the session that this conversation has or would have."""

    person: str
    conversation: ConversationRef
    session_key: SessionKey
    pre_authorised: bool = False
    locale: str = ""


class Request(msgspec.Struct, frozen=True):
    """What a command asks for. A new command brings its own request."""


class ProjectCreate(Request, frozen=True, kw_only=True):
    """`args` are extra arguments per tool: lists of strings, never one string for a shell."""

    name: str
    path: str
    tools: tuple[str, ...]
    default_tool: str
    args: dict[str, tuple[str, ...]] = {}


class ProjectAdd(Request, frozen=True):
    path: str


class ProjectList(Request, frozen=True):
    pass


class ProjectStatus(Request, frozen=True):
    project: str


class ProjectRename(Request, frozen=True):
    project: str
    new_name: str


class ProjectRemove(Request, frozen=True):
    project: str


class ProjectSwitch(Request, frozen=True):
    project: str


class RuleList(Request, frozen=True):
    """The standing rules that the caller may see."""


class RuleRemove(Request, frozen=True):
    number: Annotated[int, msgspec.Meta(ge=1, description="The number of a rule in /v1/rules.")]


class Status(Request, frozen=True):
    pass


class Tool(Request, frozen=True):
    """Without a tool, what it is now and what it may be."""

    tool: str = ""


class Retry(Request, frozen=True):
    """Without a job, the last one of the session that failed or was interrupted. A number names a job too."""

    job_id: str = ""


class LatestJobs(Request, frozen=True):
    """The latest jobs of this session."""


class SessionList(Request, frozen=True):
    """One page: at most `limit` sessions behind `after`, which is `next` of the previous page."""

    project: str = ""
    limit: Limit = SESSIONS_SHOWN
    after: After = ""


class SessionOpen(Request, frozen=True):
    session_id: str


class Reset(Request, frozen=True):
    pass


class Cancel(Request, frozen=True):
    """One job, or everything of the session: what runs and what waits behind it. With `children`, also what the
    sessions below it do."""

    job_id: str = ""
    children: Annotated[bool, msgspec.Meta(description="Also the jobs of sessions that this one spawned.")] = False


class Why(Request, frozen=True):
    """What became of a message or a job, step by step; without a subject, of the session's latest job."""

    subject: Annotated[str, msgspec.Meta(min_length=1, description="A job's id or number, or an Idempotency-Key.")] = ""


class Start(Request, frozen=True):
    """A new session in a thread of its own, which grows where this was asked. `asked_by` is the command's own id, the
    same however often it is tried. With `agent_first`, the agent is started before the thread is made."""

    asked_by: str
    project: str = ""
    tool: str = ""
    agent_first: bool = False


class Spawn(Request, frozen=True, kw_only=True):
    """A session of its own for a task. `asked_by` is the request's own id, the same however often it is tried."""

    asked_by: str
    task: Annotated[str, msgspec.Meta(min_length=1, description="What the new session shall do.")]
    project: str = ""
    agent: str = ""


class AgentStatus(Request, frozen=True):
    pass


class AgentStop(Request, frozen=True):
    """`kill` does not ask the agent first."""

    kill: bool = False


class AgentModel(Request, frozen=True):
    """Without a model, what it is now and what it may be."""

    model: Annotated[str, msgspec.Meta(min_length=1, description="One of the `models` of /v1/agent.")] = ""


class AgentMode(Request, frozen=True):
    """What the agent may do without asking; never more than the project's permissions allow. Without a mode, what it
    is now and what it may be."""

    mode: Annotated[str, msgspec.Meta(min_length=1, description="One of the `modes` of /v1/agent.")] = ""


class AgentSlashCommand(Request, frozen=True):
    """A slash command of the agent's own, and what stands after it. `asked_by` is the request's own id."""

    asked_by: str
    name: str
    text: str = ""


class AgentUsage(Request, frozen=True):
    pass


class AgentAdd(Request, frozen=True, kw_only=True):
    """Add an ACP agent, or change the one of its name. The fields are those of `ConfiguredAgent`; `projects`
    allow it from now on, besides those that allow every agent anyway."""

    name: str
    command: tuple[str, ...]
    env: tuple[str, ...] = ()
    version: str = ""
    digest: str = ""
    source: str = FROM_COMMAND
    projects: tuple[str, ...] = ()


class AgentRemove(Request, frozen=True, kw_only=True):
    name: str
    even_if_used: bool = False


class AgentList(Request, frozen=True):
    """The configured agents, as the journal has them: config.json may be in the middle of an edit."""
