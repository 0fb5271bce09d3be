"""A turn while it runs, as the console shows it: what the agent said and which tools it used, in their order, its list
of what it is going to do, and what it used up. Pure; each part is cut, so that a long turn stays small."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from fairlead.core.engine import (
    EngineEvent,
    TextDelta,
    TodoItem,
    TodosChanged,
    ToolEnded,
    ToolProgressed,
    ToolStarted,
    UsageReported,
)

MOST_PARTS: Final = 400
MOST_TEXT: Final = 512 * 1024
_LONGEST_VALUE: Final = 400
_LONGEST_DETAIL: Final = 4000
_MOST_VALUES: Final = 16


class ToolStep(msgspec.Struct, frozen=True, kw_only=True):
    """One use of a tool. `input` has what its label is made of; `parent_id` is the tool whose sub-agent used it."""

    tool_id: str
    name: str
    input: Mapping[str, Any] = {}
    parent_id: str = ""
    is_running: bool = True
    ok: bool = True
    summary: str = ""
    output: str = ""
    diff: str = ""


class TextPart:
    """What the agent said between two tools. It only grows."""

    __slots__ = ("chunks", "length")

    def __init__(self) -> None:
        self.chunks: list[str] = []
        self.length = 0

    @property
    def text(self) -> str:
        if len(self.chunks) > 1:
            self.chunks = ["".join(self.chunks)]
        return self.chunks[0] if self.chunks else ""


class PartChange(msgspec.Struct, frozen=True):
    """What an event changed: part `number` is new or another one now; or, with `text`, it grew by that, behind its
    first `at` characters. Number -1 stands for what is around the parts: the list of what is to do, the use."""

    job_id: str
    number: int
    at: int = 0
    text: str = ""


class LiveTurn:
    def __init__(self, job_id: str, session_key: str) -> None:
        self.job_id = job_id
        self.session_key = session_key
        self.first = 0
        """The number of the oldest part that is kept."""
        self.parts: list[TextPart | ToolStep] = []
        self.todos: tuple[TodoItem, ...] = ()
        self.usage: UsageReported | None = None
        self._at: dict[str, int] = {}
        self._text = 0

    def numbered_parts(self) -> list[tuple[int, TextPart | ToolStep]]:
        return list(enumerate(self.parts, self.first))

    def part(self, number: int) -> TextPart | ToolStep | None:
        place = number - self.first
        return self.parts[place] if 0 <= place < len(self.parts) else None

    def note(self, event: EngineEvent) -> PartChange | None:
        match event:
            case TextDelta(text=text) if text:
                return self._grow(text)
            case ToolStarted():
                step = ToolStep(
                    tool_id=event.tool_id, name=event.name, input=_cut_input(event.input), parent_id=event.parent_id
                )
                return self._add(step, event.tool_id)
            case ToolProgressed():
                return self._change_tool(
                    event.tool_id, output=event.output[-_LONGEST_DETAIL:], diff=event.diff[:_LONGEST_DETAIL]
                )
            case ToolEnded():
                return self._change_tool(
                    event.tool_id, is_running=False, ok=event.ok, summary=event.summary[:_LONGEST_DETAIL]
                )
            case TodosChanged():
                self.todos = event.items
                return PartChange(self.job_id, -1)
            case UsageReported():
                self.usage = event
                return PartChange(self.job_id, -1)
            case _:
                return None

    def shrink(self) -> None:
        """When the turn has ended: its last words are in the answer, and of the others a little is enough."""
        if self.parts and isinstance(self.parts[-1], TextPart):
            self.parts.pop()
        for number, part in enumerate(self.parts):
            match part:
                case TextPart():
                    part.chunks = [part.text[:_LONGEST_VALUE]]
                case ToolStep():
                    cut = {name: getattr(part, name)[:_LONGEST_VALUE] for name in ("summary", "output", "diff")}
                    self.parts[number] = msgspec.structs.replace(part, **cut)

    def _grow(self, text: str) -> PartChange:
        last = self.parts[-1] if self.parts else None
        if not isinstance(last, TextPart):
            last = TextPart()
            last.chunks.append(text)
            last.length = len(text)
            return self._add(last)
        at = last.length
        last.chunks.append(text)
        last.length += len(text)
        self._text += len(text)
        return PartChange(self.job_id, self.first + len(self.parts) - 1, at, text)

    def _add(self, part: TextPart | ToolStep, tool_id: str = "") -> PartChange:
        number = self.first + len(self.parts)
        self.parts.append(part)
        if tool_id:
            self._at[tool_id] = number
        self._text += part.length if isinstance(part, TextPart) else 0
        while len(self.parts) > MOST_PARTS or (self._text > MOST_TEXT and len(self.parts) > 1):
            self._forget_oldest()
        return PartChange(self.job_id, number)

    def _forget_oldest(self) -> None:
        oldest = self.parts.pop(0)
        self.first += 1
        if isinstance(oldest, TextPart):
            self._text -= oldest.length
        else:
            self._at.pop(oldest.tool_id, None)

    def _change_tool(self, tool_id: str, **fields: Any) -> PartChange | None:
        number = self._at.get(tool_id, -1)
        step = self.part(number)
        if not isinstance(step, ToolStep):
            return None
        said = {name: value for name, value in fields.items() if value != ""}
        self.parts[number - self.first] = msgspec.structs.replace(step, **said)
        return PartChange(self.job_id, number)


def _cut_input(given: Mapping[str, Any]) -> dict[str, Any]:
    """The values by which a tool is named: short texts, and lists of them."""
    return {key: _cut_value(value) for key, value in list(given.items())[:_MOST_VALUES]}


def _cut_value(value: Any) -> Any:
    match value:
        case str():
            return value[:_LONGEST_VALUE]
        case list() | tuple():
            return [_cut_value(one) for one in value[:_MOST_VALUES]]  # pyright: ignore[reportUnknownVariableType]
        case dict():
            return {str(k): _cut_value(v) for k, v in list(value.items())[:_MOST_VALUES]}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
        case _:
            return value
