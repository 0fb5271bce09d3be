"""What people can ask of Fairlead besides talking to an agent: one struct per command, the same on every channel."""

from typing import TypeAlias

import msgspec

from fairlead.core.conversation import ConversationRef
from fairlead.core.keys import SessionKey


class Caller(msgspec.Struct, frozen=True, omit_defaults=True):
    """Who asks, from where. `session_key` is the session that this place has or would have."""

    person: str
    conversation: ConversationRef
    session_key: SessionKey
    pre_authorised: bool = False
    locale: str = ""


class ProjectCreate(msgspec.Struct, frozen=True):
    name: str
    path: str
    tools_csv: str
    default_tool: str
    args_json: str = ""


class ProjectAdd(msgspec.Struct, frozen=True):
    path: str


class ProjectList(msgspec.Struct, frozen=True):
    pass


class ProjectStatus(msgspec.Struct, frozen=True):
    project: str


class ProjectSwitch(msgspec.Struct, frozen=True):
    project: str


class Status(msgspec.Struct, frozen=True):
    pass


class Tool(msgspec.Struct, frozen=True):
    tool: str


class Retry(msgspec.Struct, frozen=True):
    job_id: str


class SessionList(msgspec.Struct, frozen=True):
    project: str = ""


class SessionOpen(msgspec.Struct, frozen=True):
    session_id: str


class Reset(msgspec.Struct, frozen=True):
    pass


class Cancel(msgspec.Struct, frozen=True):
    """One job, or everything of the session: what runs and what waits behind it."""

    job_id: str = ""


class Why(msgspec.Struct, frozen=True):
    """What became of a message or a job, step by step."""

    subject: str


class Start(msgspec.Struct, frozen=True):
    """A new session in a thread of its own, which grows where this was asked. `asked_by` is the command's own id, the
    same however often it is tried."""

    asked_by: str
    project: str = ""
    tool: str = ""


class AgentStatus(msgspec.Struct, frozen=True):
    pass


class AgentStop(msgspec.Struct, frozen=True):
    """`kill` does not ask the agent first."""

    kill: bool = False


class AgentModel(msgspec.Struct, frozen=True):
    model: str


class AgentMode(msgspec.Struct, frozen=True):
    """What the agent may do without asking; never more than the project's permissions allow."""

    mode: str


class AgentUsage(msgspec.Struct, frozen=True):
    pass


Request: TypeAlias = (
    ProjectCreate
    | ProjectAdd
    | ProjectList
    | ProjectStatus
    | ProjectSwitch
    | Status
    | Tool
    | Retry
    | SessionList
    | SessionOpen
    | Reset
    | Cancel
    | Why
    | Start
    | AgentStatus
    | AgentStop
    | AgentModel
    | AgentMode
    | AgentUsage
)
