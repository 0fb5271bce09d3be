"""OpenAI's Responses API: request into conversation, reply into server-sent events. Decides nothing."""

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
from .hands import as_json
from .replies import Pause, Reply, Say, Think, Usage, Use
from .sse import event

ERRORS = {401: "invalid_api_key", 429: "rate_limit_exceeded"}


def conversation_of(body: dict[str, Any]) -> Conversation:
    given = body["input"]
    items = [{"type": "message", "role": "user", "content": given}] if isinstance(given, str) else given
    output_format = (body.get("text") or {}).get("format") or {}
    return Conversation(
        model=body["model"],
        messages=tuple(message for item in items if (message := _message(item)) is not None),
        tools=frozenset(_tool_name(tool) for tool in body.get("tools") or []),
        system=body.get("instructions") or "",
        json_schema=output_format.get("schema"),
    )


def _tool_name(tool: dict[str, Any]) -> str:
    return tool.get("name") or tool["type"]


def _message(item: dict[str, Any]) -> Message | None:
    match item.get("type", "message"):
        case "message" if item["role"] != "developer":
            role = "assistant" if item["role"] == "assistant" else "user"
            return Message(role, tuple(_content(item["content"])))
        case "function_call":
            return Message("assistant", (_call(item, json.loads(item["arguments"] or "{}")),))
        case "custom_tool_call":
            return Message("assistant", (_call(item, {"input": item["input"]}),))
        case "function_call_output" | "custom_tool_call_output":
            said = tuple(_content(item["output"]))
            text = "\n".join(part.text for part in said if isinstance(part, Words))
            images = tuple(part for part in said if isinstance(part, Image))
            return Message("user", (ToolResult(item["call_id"], text), *images))
        case _:
            return None  # reasoning, developer messages and server-side tools say nothing to the brain


def _call(item: dict[str, Any], arguments: dict[str, Any]) -> ToolCall:
    return ToolCall(item["call_id"], item["name"], arguments)


def _content(content: str | list[dict[str, Any]]) -> Iterator[Part]:
    if isinstance(content, str):
        yield Words(content)
        return
    for block in content:
        match block["type"]:
            case "input_text" | "output_text":
                yield Words(block["text"])
            case "input_image":
                yield Image.of_data_url(block["image_url"])
            case _:
                pass


def error_body(status: int, message: str) -> dict[str, Any]:
    return {"error": {"message": message, "type": ERRORS.get(status, "server_error"), "code": ERRORS.get(status)}}


def stream(reply: Reply, conversation: Conversation, usage: Usage) -> Iterator[bytes | Pause]:
    response = {"id": f"resp_{uuid.uuid4().hex}", "object": "response", "model": conversation.model}
    yield _event("response.created", response=response | {"status": "in_progress", "output": []})
    items = _Items()
    for step in reply.steps:
        if isinstance(step, Pause):
            yield step
        else:
            yield from items.add(step)
    yield from items.close()
    done = {"status": "completed", "output": items.done, "usage": _usage(usage)}
    yield _event("response.completed", response=response | done)


class _Items:
    """The output items of one response: text deltas in a row share a message."""

    def __init__(self) -> None:
        self.done: list[dict[str, Any]] = []
        self.message_id: str | None = None
        self.text = ""

    def add(self, step: Say | Think | Use) -> Iterator[bytes]:
        match step:
            case Say(text):
                if self.message_id is None:
                    self.message_id, self.text = f"msg_{uuid.uuid4().hex}", ""
                    yield self._item("response.output_item.added", self._message())
                self.text += text
                yield self._text_delta(text)
            case Think(text):
                yield from self.close()
                summary = [{"type": "summary_text", "text": text}]
                yield self._finished({"type": "reasoning", "id": f"rs_{uuid.uuid4().hex}", "summary": summary})
            case Use(name, arguments):
                yield from self.close()
                yield self._finished(_tool_item(name, arguments))

    def close(self) -> Iterator[bytes]:
        if self.message_id is not None:
            item, self.message_id = self._message(), None
            yield self._finished(item)

    def _message(self) -> dict[str, Any]:
        content = [{"type": "output_text", "text": self.text, "annotations": []}] if self.text else []
        return {"type": "message", "id": self.message_id, "role": "assistant", "content": content}

    def _text_delta(self, text: str) -> bytes:
        place = {"item_id": self.message_id, "output_index": len(self.done), "content_index": 0}
        return _event("response.output_text.delta", delta=text, **place)

    def _finished(self, item: dict[str, Any]) -> bytes:
        said = self._item("response.output_item.done", item)
        self.done.append(item)
        return said

    def _item(self, kind: str, item: dict[str, Any]) -> bytes:
        return _event(kind, output_index=len(self.done), item=item)


def _tool_item(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    call_id = f"call_{uuid.uuid4().hex[:20]}"
    if name == "apply_patch":  # the one tool that codex takes as free text
        return {"type": "custom_tool_call", "call_id": call_id, "name": name, "input": arguments["input"]}
    if name.startswith("mcp__"):  # codex knows the tools of a server by the server's namespace and their own names
        server, _, own = name.removeprefix("mcp__").partition("__")
        namespace = f"mcp__{server}"
        return {
            "type": "function_call", "call_id": call_id, "name": own, "namespace": namespace,
            "arguments": as_json(arguments),
        }  # fmt: skip
    return {"type": "function_call", "call_id": call_id, "name": name, "arguments": as_json(arguments)}


def _usage(usage: Usage) -> dict[str, Any]:
    return {
        "input_tokens": usage.input,
        "input_tokens_details": {"cached_tokens": usage.cached},
        "output_tokens": usage.output,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": usage.input + usage.output,
    }


def _event(kind: str, **fields: Any) -> bytes:
    return event({"type": kind, **fields}, name=kind)
