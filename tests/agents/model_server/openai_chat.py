"""OpenAI's chat completions: request into conversation, reply into server-sent events. Decides nothing."""

import json
import re
import time
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
from .openai import error_body
from .replies import Pause, Reply, Say, Think, Usage, Use
from .sse import event

__all__ = ["conversation_of", "error_body", "stream", "whole"]

DONE = b"data: [DONE]\n\n"
_CLOCK = re.compile(r"^<current_datetime>[^<]*</current_datetime>\s*")  # copilot puts it before the person's words


def conversation_of(body: dict[str, Any]) -> Conversation:
    output_format = body.get("response_format") or {}
    schema = (output_format.get("json_schema") or {}).get("schema")
    wants_json = output_format.get("type") == "json_object"
    return Conversation(
        model=body["model"],
        messages=tuple(message for given in body["messages"] if (message := _message(given)) is not None),
        tools=frozenset(tool["function"]["name"] for tool in body.get("tools") or [] if "function" in tool),
        system="\n".join(_text_of(given) for given in body["messages"] if given["role"] in {"system", "developer"}),
        json_schema={"type": "object"} if wants_json else schema,
    )


def _message(given: dict[str, Any]) -> Message | None:
    content = tuple(_content(given.get("content") or ""))
    match given["role"]:
        case "user":
            return Message("user", content)
        case "assistant":
            return Message("assistant", (*content, *map(_call, given.get("tool_calls") or [])))
        case "tool":
            images = tuple(part for part in content if isinstance(part, Image))
            return Message("user", (ToolResult(given["tool_call_id"], _text_of(given)), *images))
        case _:
            return None  # the system prompt is told apart from what was said


def _text_of(given: dict[str, Any]) -> str:
    return "\n".join(part.text for part in _content(given.get("content") or "") if isinstance(part, Words))


def _content(content: str | list[dict[str, Any]]) -> Iterator[Part]:
    if isinstance(content, str):
        if content:
            yield Words(_CLOCK.sub("", content))
        return
    for block in content:
        match block["type"]:
            case "text":
                yield Words(_CLOCK.sub("", block["text"]))
            case "image_url":
                yield Image.of_data_url(block["image_url"]["url"])
            case _:
                pass


def _call(call: dict[str, Any]) -> ToolCall:
    function = call["function"]
    return ToolCall(call["id"], function["name"], json.loads(function["arguments"] or "{}"))


def stream(reply: Reply, conversation: Conversation, usage: Usage) -> Iterator[bytes | Pause]:
    head = _head("chat.completion.chunk", conversation)
    yield _chunk(head, {"role": "assistant", "content": ""})
    calls = 0
    for step in reply.steps:
        if isinstance(step, Pause):
            yield step
            continue
        yield _chunk(head, _delta(step, calls))
        calls += isinstance(step, Use)
    yield _chunk(head, {}, finish="tool_calls" if calls else "stop")
    yield event(head | {"choices": [], "usage": _usage(usage)})
    yield DONE


def _chunk(head: dict[str, Any], delta: dict[str, Any], *, finish: str | None = None) -> bytes:
    return event(head | {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})


def _delta(step: Say | Think | Use, calls: int) -> dict[str, Any]:
    match step:
        case Say(text):
            return {"content": text}
        case Think(text):
            return {"reasoning_content": text}
        case Use(name, arguments):
            return {"tool_calls": [{"index": calls} | _tool_call(name, arguments)]}


def whole(reply: Reply, conversation: Conversation, usage: Usage) -> dict[str, Any]:
    """The answer to a request that did not ask for a stream."""
    text = "".join(step.text for step in reply.steps if isinstance(step, Say))
    calls = [_tool_call(step.tool, step.arguments) for step in reply.steps if isinstance(step, Use)]
    message = {"role": "assistant", "content": text} | ({"tool_calls": calls} if calls else {})
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}
    return _head("chat.completion", conversation) | {"choices": [choice], "usage": _usage(usage)}


def _tool_call(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    function = {"name": name, "arguments": as_json(arguments)}
    return {"id": f"call_{uuid.uuid4().hex[:20]}", "type": "function", "function": function}


def _head(kind: str, conversation: Conversation) -> dict[str, Any]:
    made = {"id": f"chatcmpl-{uuid.uuid4().hex[:20]}", "object": kind, "created": int(time.time())}
    return made | {"model": conversation.model}


def _usage(usage: Usage) -> dict[str, Any]:
    return {
        "prompt_tokens": usage.input,
        "prompt_tokens_details": {"cached_tokens": usage.cached},
        "completion_tokens": usage.output,
        "completion_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": usage.input + usage.output,
    }
