"""What the real agents said over ACP, as it was recorded: whole dialogues, and single lines for the fuzzing."""

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from fairlead.runtimes.acp import wire
from tests.support.replaying_cli import TRANSCRIPTS

DIALOGUES: tuple[Path, ...] = tuple(sorted(TRANSCRIPTS.glob("*-acp/*.duplex.jsonl")))
NAMES: tuple[str, ...] = tuple(f"{path.parent.name}/{path.name.partition('.')[0]}" for path in DIALOGUES)


@cache
def entries_of(name: str) -> tuple[dict[str, Any], ...]:
    path = TRANSCRIPTS / f"{name}.duplex.jsonl"
    return tuple(json.loads(line) for line in path.read_text(encoding="utf-8").splitlines())


def turns_in(name: str) -> Iterator[tuple[list[dict[str, Any]], dict[str, Any]]]:
    """For each prompt: what the agent sent before its response, and the response."""
    sent: list[dict[str, Any]] = []
    prompt_id: Any = None
    for entry in entries_of(name):
        message = entry["msg"]
        if entry["dir"] == ">" and message.get("method") == "session/prompt":
            sent, prompt_id = [], message["id"]
        elif entry["dir"] == "<" and prompt_id is not None:
            if message.get("id") == prompt_id and "method" not in message:
                yield sent, message
                prompt_id = None
            else:
                sent.append(message)


def said_lines() -> list[bytes]:
    """Everything that an agent sent, once each; of the long lists of commands and models a few are enough."""
    lines = dict.fromkeys(
        json.dumps(entry["msg"]).encode() for name in NAMES for entry in entries_of(name) if entry["dir"] == "<"
    )
    return [line for place, line in enumerate(lines) if len(line) < 4000 or place % 20 == 0]


def read_update(update: dict[str, Any]) -> wire.Update:
    line = {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s", "update": update}}
    return wire.update_decoder.decode(json.dumps(line)).params.update
