"""What the agent says to words that are no order: it remembers, answers questions about itself, and repeats."""

import binascii
import os
import re
from typing import TYPE_CHECKING

from .wire import Payload

if TYPE_CHECKING:
    from .turn import Turn

_FACT = re.compile(r"\bmy ([\w-]+) is ([\w-]+)", re.IGNORECASE)
_RECALL = re.compile(r"what(?: is|'s) my ([\w-]+)\s*\?", re.IGNORECASE)
_WHICH = re.compile(r"which (model|mode|effort|fast|session|directory|title|pid)\s*\?", re.IGNORECASE)


def reply_to(turn: "Turn", spoken: str, *, steered: bool) -> None:
    """Answers questions, remembers facts, and repeats everything else."""
    session = turn.session
    if steered:
        turn.say(f"Steered: {spoken.strip()}")
    elif spoken.startswith("/"):
        turn.say(f"Ran the command {spoken.strip()}")
    elif asked := _RECALL.search(spoken):
        known = session.facts.get(asked[1].lower())
        turn.say(f"Your {asked[1]} is {known}." if known else f"I do not know your {asked[1]}.")
    elif asked := _WHICH.search(spoken):
        turn.say(f"{asked[1].lower()}={_property(turn, asked[1].lower())}")
    elif re.search(r"which (?:images|files)\s*\?", spoken, re.IGNORECASE):
        turn.say("\n".join(["files:", *(describe_block(b) for b in turn.prompt if b["type"] != "text")]))
    else:
        session.facts.update((thing.lower(), value) for thing, value in _FACT.findall(spoken))
        turn.say(f"You said: {spoken.strip()}")


def _property(turn: "Turn", name: str) -> object:
    session = turn.session
    known = {"session": session.session_id, "directory": session.cwd, "effort": session.thought_level}
    known |= {"model": session.model, "mode": session.mode, "fast": session.is_fast, "title": session.title}
    return (known | {"pid": os.getpid()})[name]


def describe_block(block: Payload) -> str:
    if block["type"] in {"image", "audio"}:
        import hashlib

        data = binascii.a2b_base64(block["data"])
        return f"{block['type']} {block['mimeType']} {len(data)} {hashlib.sha256(data).hexdigest()[:12]}"
    return f"{block['type']} {block.get('uri') or block.get('resource', {}).get('uri')}"
