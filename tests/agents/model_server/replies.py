"""What a model may answer, before any dialect: steps, or a refusal. Knows neither wire nor tool names."""

from typing import Any

import msgspec


class Say(msgspec.Struct, frozen=True, tag=True):
    """One delta of text."""

    text: str


class Think(msgspec.Struct, frozen=True, tag=True):
    text: str


class Run(msgspec.Struct, frozen=True, tag=True):
    """A call of the shell tool, whatever the CLI calls it."""

    command: str
    in_background: bool = False


class Write(msgspec.Struct, frozen=True, tag=True):
    path: str
    content: str


class Ask(msgspec.Struct, frozen=True, tag=True):
    """A multiple-choice question to the person."""

    question: str
    options: tuple[str, ...]


class Delegate(msgspec.Struct, frozen=True, tag=True):
    """A task for a sub-agent."""

    prompt: str


class Use(msgspec.Struct, frozen=True, tag=True):
    """A call of any tool by its own name."""

    tool: str
    arguments: dict[str, Any]


class Tick(msgspec.Struct, frozen=True, tag=True):
    """A short wait; `release()` skips it and all that follow."""


class Hold(msgspec.Struct, frozen=True, tag=True):
    """Waits for `release()`."""


class Hang(msgspec.Struct, frozen=True, tag=True):
    """Says no more, and leaves the connection open."""


class Drop(msgspec.Struct, frozen=True, tag=True):
    """Cuts the connection."""


Wish = Run | Write | Ask | Delegate  # becomes a Use of whatever tool the CLI offers for it
Pause = Tick | Hold | Hang | Drop
Step = Say | Think | Wish | Use | Pause


class Usage(msgspec.Struct, frozen=True):
    input: int
    output: int
    cached: int = 0


class Reply(msgspec.Struct, frozen=True):
    steps: tuple[Step, ...]
    usage: Usage | None = None


class Refuse(msgspec.Struct, frozen=True):
    """`message` is what the error says; empty for a sentence that names the test."""

    status: int
    retry_after: int | None = None
    message: str = ""


def saying(text: str, *, usage: Usage | None = None) -> Reply:
    return Reply((Say(text),), usage)
