"""A model on loopback that says the same few words to everyone: Anthropic's Messages API, streamed. Knows no agent."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, Final

from aiohttp import web

ANSWER: Final = "The tests pass again."
_USAGE: Final = {"input_tokens": 12, "output_tokens": 6, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0}


@asynccontextmanager
async def model_on_loopback() -> AsyncGenerator[str]:
    """Its address, for as long as the block lasts."""
    app = web.Application(client_max_size=64 * 1024 * 1024)
    app.router.add_post("/v1/messages", _answer)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        host, port = runner.addresses[0][:2]
        yield f"http://{host}:{port}"
    finally:
        await runner.cleanup()


async def _answer(request: web.Request) -> web.StreamResponse:
    asked = await request.json()
    message = {**_empty_message(asked["model"]), "usage": _USAGE}
    if not asked.get("stream"):
        whole = {"content": [{"type": "text", "text": ANSWER}], "stop_reason": "end_turn"}
        return web.json_response(message | whole)
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await response.prepare(request)
    await response.write(b"".join(_sse(event) for event in _stream(message)))
    return response


def _empty_message(model: str) -> dict[str, Any]:
    said: dict[str, Any] = {"content": [], "stop_reason": None, "stop_sequence": None}
    return {"id": "msg_1", "type": "message", "role": "assistant", "model": model, **said}


def _stream(message: dict[str, Any]) -> list[dict[str, Any]]:
    words = [{"type": "text_delta", "text": f"{word} "} for word in ANSWER.split()]
    return [
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        *({"type": "content_block_delta", "index": 0, "delta": delta} for delta in words),
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None}, "usage": _USAGE},
        {"type": "message_stop"},
    ]


def _sse(event: dict[str, Any]) -> bytes:
    return f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()
