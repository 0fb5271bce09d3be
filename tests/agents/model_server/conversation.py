"""A conversation as a model request shows it, whatever the dialect. Knows no wire format and no answers."""

import base64
import hashlib
import re
from typing import Any, Literal, Self

import msgspec


class Words(msgspec.Struct, frozen=True, tag=True):
    text: str


class Image(msgspec.Struct, frozen=True, tag=True):
    media_type: str
    size: int
    sha256: str

    @classmethod
    def of(cls, media_type: str, encoded: str) -> Self:
        data = base64.b64decode(encoded)
        return cls(media_type, len(data), hashlib.sha256(data).hexdigest())

    @classmethod
    def of_data_url(cls, url: str) -> Self:
        head, _, encoded = url.partition(",")
        return cls.of(head.removeprefix("data:").removesuffix(";base64"), encoded)


class ToolCall(msgspec.Struct, frozen=True, tag=True):
    id: str
    name: str
    arguments: dict[str, Any]


class ToolResult(msgspec.Struct, frozen=True, tag=True):
    id: str
    text: str


Part = Words | Image | ToolCall | ToolResult


class Message(msgspec.Struct, frozen=True):
    role: Literal["user", "assistant"]
    parts: tuple[Part, ...]


class Conversation(msgspec.Struct, frozen=True):
    model: str
    messages: tuple[Message, ...]
    tools: frozenset[str] = frozenset()
    system: str = ""
    json_schema: dict[str, Any] | None = None  # set when the CLI asks for structured output: a side call


# What the CLIs add to the person's words: <system-reminder>…</…>, <image …>, </image>, [Image: source: …], and copilot
# the path of each picture.
_TAGGED = re.compile(r"\s*<(?:/?[a-zA-Z][\w-]*)[^>]*>(?:.*>)?\s*", re.DOTALL)
_NOTED = re.compile(r"\s*\[(?:Image: source|Request interrupted)[^\]]*\]\s*")
_PICTURE_PATH = re.compile(r"\s*Image file at path \S+\s*")


def is_added_by_the_cli(text: str) -> bool:
    return any(pattern.fullmatch(text) for pattern in (_TAGGED, _NOTED, _PICTURE_PATH))


def is_spoken(part: Part) -> bool:
    return isinstance(part, Words) and bool(part.text.strip()) and not is_added_by_the_cli(part.text)


def spoken(message: Message) -> list[str]:
    """The person's own words in a message, part by part."""
    return [part.text for part in message.parts if isinstance(part, Words) and is_spoken(part)]


def since_the_last_reply(conversation: Conversation) -> tuple[Part, ...]:
    """Everything the model has been told since it last spoke."""
    parts: list[Part] = []
    for message in reversed(conversation.messages):
        if message.role == "assistant":
            break
        parts[:0] = message.parts
    return tuple(parts)


def last_prompt(conversation: Conversation) -> str:
    """The person's latest words, however many tool rounds ago they were said."""
    for message in reversed(conversation.messages):
        if message.role == "user" and (texts := spoken(message)):
            return texts[-1]
    return ""


def results_since_the_prompt(conversation: Conversation) -> list[str]:
    """What the tools answered since the person last spoke, oldest first."""
    results: list[str] = []
    for message in reversed(conversation.messages):
        for part in reversed(message.parts):
            if isinstance(part, ToolResult):
                results.insert(0, part.text)
            elif message.role == "user" and is_spoken(part):
                return results
    return results
