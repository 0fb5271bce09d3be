"""What a long turn of Claude prints, as a file of the wanted size. The shapes are those of its 2.1; no agent runs."""

import uuid
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any, Final

import msgspec

KEY: Final = "fb2cd1f0-3e7d-4d2c-8cba-35a58f1f4de3"
_WORDS: Final = 40
_INPUT_PIECES: Final = 10
_RESULT_LINES: Final = 30
_USAGE: Final = {"input_tokens": 4120, "output_tokens": 61, "cache_read_input_tokens": 90211}


def write_stream(path: Path, size: int) -> int:
    """About `size` bytes: words in pieces, a tool, its result, again and again. How many lines exactly."""
    lines = written = 0
    chance = Random(1)
    with path.open("wb") as file:
        while written < size:
            for event in _round(chance, lines):
                written += file.write(msgspec.json.encode({**event, **_envelope(chance)}) + b"\n")
                lines += 1
    return lines


def _envelope(chance: Random) -> dict[str, Any]:
    name = uuid.UUID(int=chance.getrandbits(128), version=4)
    return {"session_id": KEY, "parent_tool_use_id": None, "uuid": str(name), "api_message_id": "msg_01"}


def _round(chance: Random, number: int) -> Iterator[dict[str, Any]]:
    tool, text = f"toolu_{number}", " ".join(f"word{chance.randrange(1000)}" for _ in range(_WORDS))
    command = {"command": "grep -rn 'a name that is looked for' src tests | sort | uniq -c", "description": "Search"}
    yield _partial({"type": "message_start", "message": {"id": "msg_01", "role": "assistant", "usage": _USAGE}})
    yield _partial({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}})
    for word in text.split(" "):
        yield _delta({"type": "text_delta", "text": f"{word} "})
    yield _message("assistant", {"type": "text", "text": "".join(f"{word} " for word in text.split(" "))})
    yield _partial({"type": "content_block_stop", "index": 0})
    use: dict[str, Any] = {"type": "tool_use", "id": tool, "name": "Bash", "input": {}}
    yield _partial({"type": "content_block_start", "index": 1, "content_block": use})
    for piece in range(_INPUT_PIECES):
        yield _delta({"type": "input_json_delta", "partial_json": f'"piece {piece}'})
    yield _message("assistant", {**use, "input": command})
    yield _partial({"type": "content_block_stop", "index": 1})
    yield _partial({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": _USAGE})
    yield _partial({"type": "message_stop"})
    found = "\n".join(
        f"src/module_{line}.py:{line}:    a name that is looked for = found" for line in range(_RESULT_LINES)
    )
    result = {"type": "tool_result", "tool_use_id": tool, "content": found, "is_error": False}
    yield _message("user", result) | {"tool_use_result": {"stdout": found, "stderr": "", "interrupted": False}}


def _partial(event: dict[str, Any]) -> dict[str, Any]:
    return {"type": "stream_event", "event": event}


def _delta(delta: dict[str, Any]) -> dict[str, Any]:
    return _partial({"type": "content_block_delta", "index": 0, "delta": delta})


def _message(role: str, block: dict[str, Any]) -> dict[str, Any]:
    return {"type": role, "message": {"role": role, "content": [block], "usage": _USAGE}}
