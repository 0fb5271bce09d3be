"""One server-sent event as bytes. Knows nothing of what it carries."""

from typing import Any

import msgspec


def event(data: dict[str, Any], *, name: str | None = None) -> bytes:
    head = f"event: {name}\n".encode() if name else b""
    return head + b"data: " + msgspec.json.encode(data) + b"\n\n"
