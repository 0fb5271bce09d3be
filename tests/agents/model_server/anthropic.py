"""Anthropic's Messages API: request into conversation, reply into server-sent events. Decides nothing."""

import uuid
from collections.abc import Iterator
from typing import Any

from .conversation import (
    Conversation,
    Image,
    Message,
    Part,
    ToolCall,
    ToolResult,
    Words,
)
from .hands import as_json
from .replies import Pause, Reply, Say, Think, Usage, Use
from .sse import event

ERRORS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}


def conversation_of(body: dict[str, Any]) -> Conversation:
    output = body.get("output_config") or {}
    return Conversation(
        model=body["model"],
        messages=tuple(_message(message) for message in body["messages"] if message["role"] != "system"),
        tools=frozenset(tool["name"] for tool in body.get("tools") or []),
        system=_text_of(body.get("system") or ""),
        json_schema=(output.get("format") or {}).get("schema"),
    )


def _message(message: dict[str, Any]) -> Message:
    role = "assistant" if message["role"] == "assistant" else "user"
    content = message["content"]
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    return Message(role, tuple(part for block in blocks for part in _parts(block)))


def _parts(block: dict[str, Any]) -> Iterator[Part]:
    match block["type"]:
        case "text":
            yield Words(block["text"])
        case "image":
            yield Image.of(block["source"]["media_type"], block["source"]["data"])
        case "tool_use":
            yield ToolCall(block["id"], block["name"], block["input"])
        case "tool_result":
            content = block.get("content") or ""
            yield ToolResult(block["tool_use_id"], _text_of(content))
            if isinstance(content, list):
                yield from (part for inner in content if inner["type"] == "image" for part in _parts(inner))
        case _:
            pass  # thinking and what comes after it say nothing to the brain


def _text_of(content: str | list[dict[str, Any]]) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(block["text"] for block in content if block["type"] == "text")


def error_body(status: int, message: str) -> dict[str, Any]:
    return {"type": "error", "error": {"type": ERRORS.get(status, "api_error"), "message": message}}


def stream(reply: Reply, conversation: Conversation, usage: Usage) -> Iterator[bytes | Pause]:
    message = _empty_message(conversation, usage)
    yield event({"type": "message_start", "message": message}, name="message_start")
    stop_reason = "end_turn"
    blocks = _Blocks()
    for step in reply.steps:
        if isinstance(step, Pause):
            yield step
            continue
        if isinstance(step, Use):
            stop_reason = "tool_use"
        yield from blocks.add(step)
    yield from blocks.close()
    final = {"stop_reason": stop_reason, "stop_sequence": None}
    yield event(
        {"type": "message_delta", "delta": final, "usage": {"output_tokens": usage.output}},
        name="message_delta",
    )
    yield event({"type": "message_stop"}, name="message_stop")


class _Blocks:
    """The content blocks of one message: deltas of the same kind share a block."""

    def __init__(self) -> None:
        self.index = -1
        self.open: str | None = None

    def add(self, step: Say | Think | Use) -> Iterator[bytes]:
        match step:
            case Say(text):
                yield from self._start("text", {"type": "text", "text": ""})
                yield self._delta({"type": "text_delta", "text": text})
            case Think(text):
                yield from self._start("thinking", {"type": "thinking", "thinking": "", "signature": ""})
                yield self._delta({"type": "thinking_delta", "thinking": text})
                yield self._delta({"type": "signature_delta", "signature": "c2lnbmVk"})
            case Use(name, arguments):
                yield from self.close()
                yield from self._start("tool_use", _tool_use(name, {}))
                yield self._delta({"type": "input_json_delta", "partial_json": as_json(arguments)})

    def _start(self, kind: str, block: dict[str, Any]) -> Iterator[bytes]:
        if self.open == kind:
            return
        yield from self.close()
        self.index, self.open = self.index + 1, kind
        start = {"type": "content_block_start", "index": self.index, "content_block": block}
        yield event(start, name="content_block_start")

    def _delta(self, delta: dict[str, Any]) -> bytes:
        return event({"type": "content_block_delta", "index": self.index, "delta": delta}, name="content_block_delta")

    def close(self) -> Iterator[bytes]:
        if self.open is not None:
            self.open = None
            yield event({"type": "content_block_stop", "index": self.index}, name="content_block_stop")


def whole(reply: Reply, conversation: Conversation, usage: Usage) -> dict[str, Any]:
    """The answer to a request that did not ask for a stream."""
    content: list[dict[str, Any]] = []
    for step in reply.steps:
        match step:
            case Say(text):
                content.append({"type": "text", "text": text})
            case Use(name, arguments):
                content.append(_tool_use(name, arguments))
            case _:
                pass
    calls_tools = any(block["type"] == "tool_use" for block in content)
    final = {"content": content, "stop_reason": "tool_use" if calls_tools else "end_turn"}
    return _empty_message(conversation, usage) | final


def _tool_use(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    return {"type": "tool_use", "id": f"toolu_{uuid.uuid4().hex[:20]}", "name": name, "input": arguments}


def _empty_message(conversation: Conversation, usage: Usage) -> dict[str, Any]:
    return {
        "id": f"msg_{uuid.uuid4().hex[:20]}",
        "type": "message",
        "role": "assistant",
        "model": conversation.model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {
            "input_tokens": usage.input,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": usage.cached,
            "output_tokens": usage.output,
        },
    }
