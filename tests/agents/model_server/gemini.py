"""Gemini's generateContent: request into conversation, reply into server-sent events. Decides nothing."""

import json
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
from .replies import Pause, Reply, Say, Think, Usage, Use
from .sse import event

ERRORS = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
    529: "UNAVAILABLE",
}


def conversation_of(body: dict[str, Any], model: str) -> Conversation:
    system = body.get("systemInstruction") or {}
    config = body.get("generationConfig") or {}
    return Conversation(
        model=model,
        messages=tuple(_message(content) for content in body["contents"]),
        tools=frozenset(
            declared["name"] for tool in body.get("tools") or [] for declared in tool.get("functionDeclarations") or []
        ),
        system="\n".join(part.get("text", "") for part in system.get("parts") or []),
        json_schema=config.get("responseJsonSchema") or config.get("responseSchema"),
    )


def _message(content: dict[str, Any]) -> Message:
    role = "assistant" if content.get("role") == "model" else "user"
    parts = [part for given in content["parts"] for part in _parts(given)]
    return Message(role, tuple(_tag_referenced_files(parts)))


def _tag_referenced_files(parts: list[Part]) -> Iterator[Part]:
    """The contents of `@file` come as bare text after the words; tagged, nobody takes them for spoken."""
    referenced = False
    for part in parts:
        referenced |= isinstance(part, Words) and "--- Content from referenced files ---" in part.text
        yield Words(f"<file>{part.text}</file>") if referenced and isinstance(part, Words) else part


def _parts(part: dict[str, Any]) -> Iterator[Part]:
    match part:
        case {"thought": True}:
            pass
        case {"text": text}:
            yield Words(text)
        case {"inlineData": {"mimeType": media_type, "data": data}}:
            yield Image.of(media_type, data)
        case {"functionCall": call}:
            yield ToolCall(call.get("id") or "", call["name"], call.get("args") or {})
        case {"functionResponse": result}:
            yield ToolResult(result.get("id") or "", _said(result["response"]))
        case _:
            pass


def _said(response: dict[str, Any]) -> str:
    return response.get("output") or response.get("error") or json.dumps(response)


def error_body(status: int, message: str) -> dict[str, Any]:
    return {"error": {"code": status, "message": message, "status": ERRORS.get(status, "UNKNOWN")}}


def stream(reply: Reply, conversation: Conversation, usage: Usage) -> Iterator[bytes | Pause]:
    response_id = uuid.uuid4().hex
    for step in reply.steps:
        if isinstance(step, Pause):
            yield step
        else:
            yield event(_chunk(_part(step), conversation, usage, response_id))
    last = _chunk({"text": ""}, conversation, usage, response_id)
    last["candidates"][0]["finishReason"] = "STOP"
    yield event(last)


def whole(reply: Reply, conversation: Conversation, usage: Usage) -> dict[str, Any]:
    """The answer to a request that did not ask for a stream."""
    parts = [_part(step) for step in reply.steps if not isinstance(step, Pause)]
    body = _chunk({}, conversation, usage, uuid.uuid4().hex)
    body["candidates"][0] |= {"content": {"role": "model", "parts": parts}, "finishReason": "STOP"}
    return body


def _part(step: Say | Think | Use) -> dict[str, Any]:
    match step:
        case Say(text):
            return {"text": text}
        case Think(text):
            return {"text": text, "thought": True}
        case Use(name, arguments):
            return {"functionCall": {"name": name, "args": arguments}}


def _chunk(part: dict[str, Any], conversation: Conversation, usage: Usage, response_id: str) -> dict[str, Any]:
    return {
        "candidates": [{"content": {"role": "model", "parts": [part]}, "index": 0}],
        "usageMetadata": {
            "promptTokenCount": usage.input,
            "candidatesTokenCount": usage.output,
            "cachedContentTokenCount": usage.cached,
            "totalTokenCount": usage.input + usage.output,
        },
        "modelVersion": conversation.model,
        "responseId": response_id,
    }
