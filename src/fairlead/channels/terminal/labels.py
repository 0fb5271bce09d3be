"""What a tool is doing, in one line for the terminal. Pure."""

from collections.abc import Mapping
from typing import Any

_TELLING = ("command", "file_path", "path", "query", "pattern", "url", "description")
_LIMIT = 90


def tool_line(name: str, given: Mapping[str, Any]) -> str:
    detail = next((value for key in _TELLING if isinstance(value := given.get(key), str) and value), "")
    line = " ".join(f"{name} {detail}".split())
    return line if len(line) <= _LIMIT else f"{line[: _LIMIT - 1]}…"
