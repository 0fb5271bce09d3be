"""Orders that ask the person with a form (`elicitation/create`)."""

import json
from collections.abc import Callable
from typing import TYPE_CHECKING

from .wire import Payload

if TYPE_CHECKING:
    from .turn import Turn

_COLOURS = [
    {"const": "red", "title": "Red", "description": "Like a rose"},
    {"const": "blue", "title": "Blue", "description": "Like the sea"},
]
PROPERTIES: dict[str, Payload] = {
    "enum": {"type": "string", "title": "Colour", "enum": ["red", "blue"]},
    "titled": {"type": "string", "title": "Colour", "oneOf": _COLOURS},
    "multi": {"type": "array", "title": "Colours", "items": {"type": "string", "enum": ["red", "blue", "green"]}},
    "multi-titled": {"type": "array", "title": "Colours", "items": {"anyOf": _COLOURS}, "minItems": 1},
    "boolean": {"type": "boolean", "title": "Sure?", "default": False},
    "number": {"type": "number", "title": "How much?", "minimum": 0, "maximum": 10.5},
    "integer": {"type": "integer", "title": "How many?", "minimum": 1, "maximum": 5},
    "text": {"type": "string", "title": "Name", "description": "Any name", "minLength": 1, "maxLength": 40},
    "email": {"type": "string", "title": "Address", "format": "email"},
}
_OTHER = {"type": "string", "title": "Other", "description": "Type your own answer (optional)."}
CLAUDE = {
    "question_0": {"type": "string", "title": "Colour", "description": "Which colour?", "oneOf": _COLOURS},
    "question_0_custom": _OTHER,
    "question_1": {"type": "array", "title": "Sizes", "description": "Which sizes?", "items": {"anyOf": _COLOURS}},
    "question_1_custom": _OTHER,
}


def form(turn: "Turn", rest: str) -> None:
    """`form: enum`; `form: enum text boolean` has several properties; `form: claude` is what Claude sends."""
    names = rest.split()
    if names == ["claude"]:
        schema = {"type": "object", "properties": CLAUDE}
        _ask(turn, schema, "Please answer the following questions.", toolCallId="call_questions")
        return
    properties = {name.replace("-", "_"): PROPERTIES[name] for name in names}
    required = [name for name in properties if name != "boolean"]
    _ask(turn, {"type": "object", "properties": properties, "required": required}, "What would you like?")


def form_json(turn: "Turn", rest: str) -> None:
    """Any schema at all."""
    _ask(turn, json.loads(rest), "What would you like?")


def _ask(turn: "Turn", schema: Payload, message: str, **more: str) -> None:
    params = {"mode": "form", "sessionId": turn.session.session_id, "message": message, "requestedSchema": schema}
    response = turn.ask("elicitation/create", params | more)
    if "error" in response:
        turn.say(f"Form: error {response['error']['code']}")
        return
    result = response["result"]
    content = f" {json.dumps(result['content'], sort_keys=True)}" if result.get("content") is not None else ""
    turn.say(f"Form: {result['action']}{content}")


WITH_REST: dict[str, Callable[["Turn", str], None]] = {"form": form, "form-json": form_json}
ALONE: dict[str, Callable[["Turn"], None]] = {}
