"""What people can ask of Fairlead besides talking to an agent: one struct per command, the same on every channel."""

from typing import Annotated

import msgspec

from fairlead.core.conversation import ConversationRef
from fairlead.core.keys import SessionKey


class Caller(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Who asks, from where. `session_key` is the session that this place has or would have."""

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


class ProjectSwitch(Request, frozen=True):
    project: str


class Status(Request, frozen=True):
    pass


class Tool(Request, frozen=True):
    tool: str


class Retry(Request, frozen=True):
    job_id: str


class SessionList(Request, frozen=True):
    project: str = ""


class SessionOpen(Request, frozen=True):
    session_id: str


class Reset(Request, frozen=True):
    pass


class Cancel(Request, frozen=True):
    """One job, or everything of the session: what runs and what waits behind it."""

    job_id: str = ""


class Why(Request, frozen=True):
    """What became of a message or a job, step by step."""

    subject: Annotated[str, msgspec.Meta(min_length=1, description="A job's id or an Idempotency-Key.")]


class Start(Request, frozen=True):
    """A new session in a thread of its own, which grows where this was asked. `asked_by` is the command's own id, the
    same however often it is tried."""

    asked_by: str
    project: str = ""
    tool: str = ""


class AgentStatus(Request, frozen=True):
    pass


class AgentStop(Request, frozen=True):
    """`kill` does not ask the agent first."""

    kill: bool = False


class AgentModel(Request, frozen=True):
    model: Annotated[str, msgspec.Meta(min_length=1, description="One of the `models` of /v1/agent.")]


class AgentMode(Request, frozen=True):
    """What the agent may do without asking; never more than the project's permissions allow."""

    mode: Annotated[str, msgspec.Meta(min_length=1, description="One of the `modes` of /v1/agent.")]


class AgentUsage(Request, frozen=True):
    pass
