"""What an ACP agent sends, as far as Fairlead reads it. Fields that agents add are ignored; all that is read has a
default, because agents leave fields out that the protocol asks for."""

from typing import Any, Final, TypeAlias

import msgspec


class _Wire(msgspec.Struct, frozen=True, rename="camel", gc=False):
    pass


class Content(_Wire, frozen=True):
    """A block of a message: text, a picture, or a resource that is embedded or linked."""

    type: str = ""
    text: str = ""
    data: str = ""
    mime_type: str | None = None
    uri: str | None = None
    name: str | None = None
    resource: Any = None


class ToolContent(_Wire, frozen=True):
    """What a tool shows: a block of content, or a diff. Fairlead has no terminals that an agent could show."""

    type: str = ""
    content: Content | None = None
    path: str = ""
    old_text: str | None = None
    new_text: str = ""


class Location(_Wire, frozen=True):
    path: str = ""


class _Update(_Wire, frozen=True, tag_field="sessionUpdate"):
    pass


class UserText(_Update, frozen=True, tag="user_message_chunk"):
    content: Any = None


class AgentText(_Update, frozen=True, tag="agent_message_chunk"):
    content: Content
    message_id: str | None = None
    meta: Any = msgspec.field(default=None, name="_meta")


class AgentThought(_Update, frozen=True, tag="agent_thought_chunk"):
    content: Content
    message_id: str | None = None


class ToolCall(_Update, frozen=True, tag="tool_call"):
    """A call and its updates have the same fields; None leaves what was said before."""

    tool_call_id: str
    title: str | None = None
    kind: str | None = None
    status: str | None = None
    content: tuple[ToolContent, ...] | None = None
    locations: tuple[Location, ...] | None = None
    raw_input: Any = None
    raw_output: Any = None
    meta: Any = msgspec.field(default=None, name="_meta")


class ToolCallUpdate(ToolCall, frozen=True, tag="tool_call_update"):
    pass


class PlanItem(_Wire, frozen=True):
    content: str = ""
    status: str = "pending"
    priority: str | None = None


class Plan(_Update, frozen=True, tag="plan"):
    entries: tuple[PlanItem, ...] = ()


class PlanContent(_Wire, frozen=True):
    """One plan of several: its entries, its text, or the file it stands in."""

    plan_id: str = ""
    entries: tuple[PlanItem, ...] | None = None
    content: str = ""
    uri: str = ""


class PlanUpdate(_Update, frozen=True, tag="plan_update"):
    plan: PlanContent = PlanContent()


class PlanRemoved(_Update, frozen=True, tag="plan_removed"):
    plan_id: str = ""


class CommandInput(_Wire, frozen=True):
    hint: str | None = None


class OfferedCommand(_Wire, frozen=True):
    name: str = ""
    description: str | None = None
    input: CommandInput | None = None


class AvailableCommands(_Update, frozen=True, tag="available_commands_update"):
    available_commands: tuple[OfferedCommand, ...] = ()


class CurrentMode(_Update, frozen=True, tag="current_mode_update"):
    current_mode_id: str = ""


class ConfigValue(_Wire, frozen=True):
    """A value to choose, or a group of such values."""

    value: str = ""
    name: str | None = None
    options: tuple["ConfigValue", ...] | None = None


class ConfigOption(_Wire, frozen=True):
    id: str
    name: str | None = None
    category: Any = None
    type: str = "select"
    current_value: Any = None
    options: tuple[ConfigValue, ...] | None = None


class ConfigOptions(_Update, frozen=True, tag="config_option_update"):
    config_options: tuple[ConfigOption, ...] = ()


class Cost(_Wire, frozen=True):
    amount: float = 0.0
    currency: str | None = None


class ContextUsage(_Update, frozen=True, tag="usage_update"):
    used: int | None = None
    size: int | None = None
    cost: Cost | None = None


class SessionInfo(_Update, frozen=True, tag="session_info_update"):
    title: str | None = None
    meta: Any = msgspec.field(default=None, name="_meta")


Update: TypeAlias = (
    UserText
    | AgentText
    | AgentThought
    | ToolCall
    | ToolCallUpdate
    | Plan
    | PlanUpdate
    | PlanRemoved
    | AvailableCommands
    | CurrentMode
    | ConfigOptions
    | ContextUsage
    | SessionInfo
)


class UpdateParams(_Wire, frozen=True):
    update: Update
    session_id: str = ""


class UpdateLine(_Wire, frozen=True, tag_field="method", tag="session/update"):
    params: UpdateParams


UPDATE_METHOD: Final = b'"session/update"'
update_decoder: Final = msgspec.json.Decoder(UpdateLine)
message_decoder: Final = msgspec.json.Decoder(dict[str, Any])

# --- what is read of responses and requests -------------------------------------------------------------------------


class PromptCapabilities(_Wire, frozen=True):
    image: bool | None = False
    embedded_context: bool | None = False


class SessionCapabilities(_Wire, frozen=True):
    resume: Any = None
    list: Any = None
    fork: Any = None
    close: Any = None


class AgentCapabilities(_Wire, frozen=True):
    load_session: bool | None = False
    prompt_capabilities: PromptCapabilities | None = None
    session_capabilities: SessionCapabilities | None = None


class AuthVariable(_Wire, frozen=True):
    name: str = ""


class AuthMethod(_Wire, frozen=True):
    """A way to log in. `terminal` ones are a command that the person types, with `args` after the agent's own; those of
    `env_var` are variables to set."""

    id: str = ""
    name: str | None = None
    description: str | None = None
    type: str | None = None
    args: tuple[str, ...] | None = None
    vars: tuple[AuthVariable, ...] | None = None


class AgentInfo(_Wire, frozen=True):
    name: str = ""
    title: str | None = None
    version: str | None = None


class Initialized(_Wire, frozen=True):
    protocol_version: int = 0
    agent_capabilities: AgentCapabilities | None = None
    agent_info: AgentInfo | None = None
    auth_methods: tuple[AuthMethod, ...] | None = None
    meta: Any = msgspec.field(default=None, name="_meta")

    @property
    def steers(self) -> bool:
        match self.meta:
            case {"steering": {"supported": True}}:
                return True
            case _:
                return False

    @property
    def lists_sessions(self) -> bool:
        sessions = None if self.agent_capabilities is None else self.agent_capabilities.session_capabilities
        return sessions is not None and sessions.list is not None

    @property
    def forks(self) -> bool:
        sessions = None if self.agent_capabilities is None else self.agent_capabilities.session_capabilities
        return sessions is not None and sessions.fork is not None


class SessionEntry(_Wire, frozen=True):
    session_id: str = ""
    cwd: str | None = None
    title: str | None = None
    updated_at: str | None = None


class SessionsListed(_Wire, frozen=True):
    sessions: tuple[SessionEntry, ...] | None = None
    next_cursor: str | None = None


class ModeEntry(_Wire, frozen=True):
    id: str = ""
    name: str | None = None


class Modes(_Wire, frozen=True):
    current_mode_id: str | None = None
    available_modes: tuple[ModeEntry, ...] | None = None


class ModelEntry(_Wire, frozen=True):
    model_id: str = ""
    name: str | None = None


class Models(_Wire, frozen=True):
    current_model_id: str | None = None
    available_models: tuple[ModelEntry, ...] | None = None


class SessionOpened(_Wire, frozen=True):
    """The response to session/new, load and resume; the last two name no id."""

    session_id: str = ""
    modes: Modes | None = None
    models: Models | None = None
    config_options: tuple[ConfigOption, ...] | None = None


class Usage(_Wire, frozen=True):
    input_tokens: int | None = 0
    output_tokens: int | None = 0
    cached_read_tokens: int | None = 0


class Prompted(_Wire, frozen=True):
    stop_reason: str = ""
    usage: Usage | None = None
    meta: Any = msgspec.field(default=None, name="_meta")


class Steered(_Wire, frozen=True):
    """`outcome` is injected, promptRequired, or startedNewTurn."""

    outcome: str = ""


class PermissionChoice(_Wire, frozen=True):
    option_id: str = ""
    name: str | None = None
    kind: str | None = None


class RequestedCall(_Wire, frozen=True):
    """The tool call of a permission request: the fields of an update, without its tag."""

    tool_call_id: str = ""
    title: str | None = None
    kind: str | None = None
    status: str | None = None
    content: tuple[ToolContent, ...] | None = None
    locations: tuple[Location, ...] | None = None
    raw_input: Any = None
    meta: Any = msgspec.field(default=None, name="_meta")


class PermissionParams(_Wire, frozen=True):
    session_id: str = ""
    tool_call: RequestedCall = RequestedCall()
    options: tuple[PermissionChoice, ...] = ()


class AskedOption(_Wire, frozen=True):
    label: str = ""
    description: str | None = None


class AskedQuestion(_Wire, frozen=True):
    """A question that an agent asks with a permission request, in its `_meta`."""

    question: str
    header: str | None = None
    options: tuple[AskedOption, ...] | None = None
    multi_select: bool | None = None


class ElicitationParams(_Wire, frozen=True):
    message: str = ""
    mode: str = ""
    requested_schema: Any = None
