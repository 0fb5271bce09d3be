"""What `gemini -p` prints in stream-json and in json mode, as typed structs. Only the fields that are used."""

from typing import Any, TypeAlias

import msgspec


class Init(msgspec.Struct, tag_field="type", tag="init"):
    session_id: str = ""
    model: str = ""


class ChatMessage(msgspec.Struct, tag_field="type", tag="message"):
    role: str = ""
    content: str = ""
    delta: bool = False


class ToolCall(msgspec.Struct, tag_field="type", tag="tool_use"):
    tool_id: str
    tool_name: str = ""
    parameters: Any = None


class ToolResult(msgspec.Struct, tag_field="type", tag="tool_result"):
    tool_id: str
    status: str = ""
    output: Any = None
    error: Any = None


class ErrorReport(msgspec.Struct, tag_field="type", tag="error"):
    message: str = ""
    severity: str = ""


class Stats(msgspec.Struct):
    input_tokens: int = 0
    output_tokens: int = 0
    cached: int = 0


class ErrorDetail(msgspec.Struct):
    message: str = ""
    type: str = ""
    code: int | str | None = None


class TurnResult(msgspec.Struct, tag_field="type", tag="result"):
    status: str = ""
    stats: Stats | None = None
    error: ErrorDetail | None = None


Event: TypeAlias = Init | ChatMessage | ToolCall | ToolResult | ErrorReport | TurnResult

KINDS = frozenset({"init", "message", "tool_use", "tool_result", "error", "result"})

decoder: msgspec.json.Decoder[Event] = msgspec.json.Decoder(Event)


class Tokens(msgspec.Struct):
    prompt: int = 0
    candidates: int = 0
    cached: int = 0


class ModelStats(msgspec.Struct):
    tokens: Tokens | None = None


class WholeStats(msgspec.Struct):
    models: dict[str, ModelStats] = {}


class Whole(msgspec.Struct):
    """The one object of json mode; the same shape with `error` goes to standard error when it failed."""

    session_id: str = ""
    response: str | None = None
    stats: WholeStats | None = None
    error: ErrorDetail | None = None


whole_decoder: msgspec.json.Decoder[Whole] = msgspec.json.Decoder(Whole)
