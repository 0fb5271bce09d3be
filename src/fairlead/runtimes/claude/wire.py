"""What claude prints and reads in stream-json, as typed structs. Only the fields that are used; the rest is ignored."""

from typing import Any, TypeAlias

import msgspec


class Block(msgspec.Struct):
    """A content block. `type` stays a plain string: a new kind of block must not break the message around it."""

    type: str = ""
    text: str = ""
    thinking: str = ""
    id: str = ""
    name: str = ""
    input: Any = None
    source: Any = None
    tool_use_id: str = ""
    content: Any = None
    is_error: bool | None = None


class MessageUsage(msgspec.Struct):
    input_tokens: int | None = 0
    output_tokens: int | None = 0
    cache_read_input_tokens: int | None = 0
    cache_creation_input_tokens: int | None = 0


class Message(msgspec.Struct):
    content: list[Block] | str = ""
    usage: MessageUsage | None = None


class System(msgspec.Struct, tag_field="type", tag="system"):
    """Claude sends many kinds under this name, and new ones with every version: none of them may fail a turn."""

    subtype: Any = ""
    session_id: Any = ""
    model: Any = ""
    error: Any = None
    error_status: Any = None
    attempt: Any = None
    tasks: Any = None
    message: Any = None
    content: Any = None
    tool_use_id: Any = None


class Assistant(msgspec.Struct, tag_field="type", tag="assistant"):
    message: Message
    session_id: str = ""
    uuid: str | None = None
    parent_tool_use_id: str | None = None
    user_message_uuid: str | None = None
    is_api_error_message: bool | None = None


class User(msgspec.Struct, tag_field="type", tag="user"):
    message: Message
    session_id: str = ""
    uuid: str | None = None
    parent_tool_use_id: str | None = None
    is_replay: bool | None = msgspec.field(default=None, name="isReplay")


class BlockDelta(msgspec.Struct):
    type: str = ""
    text: str = ""
    thinking: str = ""


class Partial(msgspec.Struct):
    type: str = ""
    delta: BlockDelta | None = None
    content_block: Any = None


class StreamEvent(msgspec.Struct, tag_field="type", tag="stream_event"):
    event: Partial
    session_id: str = ""
    parent_tool_use_id: str | None = None


class ModelUsage(msgspec.Struct, rename="camel"):
    cost: float | None = msgspec.field(default=0.0, name="costUSD")
    context_window: int | None = 0


class Origin(msgspec.Struct):
    kind: str = ""


class Result(msgspec.Struct, tag_field="type", tag="result"):
    subtype: str = ""
    session_id: str = ""
    is_error: bool = False
    result: Any = None
    errors: list[str] | None = None
    usage: MessageUsage | None = None
    total_cost_usd: float | None = None
    model_usage: dict[str, ModelUsage] | None = msgspec.field(default=None, name="modelUsage")
    model_usage_since_last_result: dict[str, ModelUsage] | None = None
    stop_reason: str | None = None
    terminal_reason: str | None = None
    api_error_status: int | None = None
    user_message_uuid: str | None = None
    user_message_uuids: list[str] | None = None
    origin: Origin | None = None


class RateLimit(msgspec.Struct, tag_field="type", tag="rate_limit_event"):
    """Read with care: a line that nobody needs for the answer must not fail a turn."""

    rate_limit_info: Any = None


class CommandLifecycle(msgspec.Struct, tag_field="type", tag="command_lifecycle"):
    command_uuid: str = ""
    state: str = ""


class ToolRequest(msgspec.Struct):
    subtype: str = ""
    tool_name: str = ""
    input: Any = None
    permission_suggestions: Any = None
    blocked_path: str | None = None
    description: str | None = None
    tool_use_id: str | None = None


class ControlRequest(msgspec.Struct, tag_field="type", tag="control_request"):
    request_id: str
    request: ToolRequest


class ControlCancel(msgspec.Struct, tag_field="type", tag="control_cancel_request"):
    request_id: str


class ControlAnswer(msgspec.Struct):
    subtype: str = ""
    request_id: str = ""
    response: Any = None
    error: Any = None


class ControlResponse(msgspec.Struct, tag_field="type", tag="control_response"):
    response: ControlAnswer


Event: TypeAlias = (
    System
    | Assistant
    | User
    | StreamEvent
    | Result
    | CommandLifecycle
    | RateLimit
    | ControlRequest
    | ControlCancel
    | ControlResponse
)

KINDS = frozenset(
    {
        "system",
        "assistant",
        "user",
        "stream_event",
        "result",
        "command_lifecycle",
        "rate_limit_event",
        "control_request",
        "control_cancel_request",
        "control_response",
    }
)

decoder: msgspec.json.Decoder[Event] = msgspec.json.Decoder(Event)


def user_line(content: str | list[dict[str, Any]], uuid: str) -> bytes:
    message = {"role": "user", "content": content}
    return _line({"type": "user", "uuid": uuid, "message": message, "parent_tool_use_id": None})


def request_line(request_id: str, request: dict[str, Any]) -> bytes:
    return _line({"type": "control_request", "request_id": request_id, "request": request})


def response_line(request_id: str, response: dict[str, Any]) -> bytes:
    body = {"subtype": "success", "request_id": request_id, "response": response}
    return _line({"type": "control_response", "response": body})


def refusal_line(request_id: str, words: str) -> bytes:
    body = {"subtype": "error", "request_id": request_id, "error": words}
    return _line({"type": "control_response", "response": body})


def _line(message: dict[str, Any]) -> bytes:
    # One bad line ends claude's process; msgspec writes no newline inside a line, and refuses text that is no Unicode.
    return msgspec.json.encode(message) + b"\n"
