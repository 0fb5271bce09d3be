"""What `codex exec --json` prints, as typed structs. Only the fields that are used; the rest is ignored."""

from typing import Any, TypeAlias

import msgspec


class Item(msgspec.Struct):
    """One step of a turn. `type` stays a plain string: a new kind of item must not break the event around it."""

    id: str = ""
    type: str = ""
    text: str = ""
    message: str = ""
    command: str = ""
    aggregated_output: str = ""
    exit_code: int | None = None
    status: str = ""
    changes: Any = None
    query: str = ""
    server: str = ""
    tool: str = ""
    arguments: Any = None
    result: Any = None
    items: Any = None


class Usage(msgspec.Struct, frozen=True):
    """Counts over the whole thread, not over this turn."""

    input_tokens: int = 0
    cached_input_tokens: int = 0
    output_tokens: int = 0


class FailureReason(msgspec.Struct):
    message: str = ""


class ThreadStarted(msgspec.Struct, tag_field="type", tag="thread.started"):
    thread_id: str


class TurnStarted(msgspec.Struct, tag_field="type", tag="turn.started"):
    pass


class ItemStarted(msgspec.Struct, tag_field="type", tag="item.started"):
    item: Item


class ItemUpdated(msgspec.Struct, tag_field="type", tag="item.updated"):
    item: Item


class ItemCompleted(msgspec.Struct, tag_field="type", tag="item.completed"):
    item: Item


class TurnCompleted(msgspec.Struct, tag_field="type", tag="turn.completed"):
    usage: Usage | None = None


class TurnFailure(msgspec.Struct, tag_field="type", tag="turn.failed"):
    error: FailureReason | None = None


class ErrorEvent(msgspec.Struct, tag_field="type", tag="error"):
    message: str = ""


Event: TypeAlias = (
    ThreadStarted | TurnStarted | ItemStarted | ItemUpdated | ItemCompleted | TurnCompleted | TurnFailure | ErrorEvent
)

KINDS = frozenset(
    {
        "thread.started",
        "turn.started",
        "item.started",
        "item.updated",
        "item.completed",
        "turn.completed",
        "turn.failed",
        "error",
    }
)

decoder: msgspec.json.Decoder[Event] = msgspec.json.Decoder(Event)
