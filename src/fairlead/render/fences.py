"""Which lines of a Markdown text open and close code blocks. Knows nothing of lengths, chats or tables.

Read as CommonMark reads it, with what chats forgive: any indentation, a fence behind a list mark or in a
quote, and an opening fence at the end of a line of text ("Output: ```").
"""

import re
from collections.abc import Iterable, Iterator
from enum import Enum

import msgspec

MAX_INDENT = 24
MAX_MARK = 12
MAX_LANGUAGE = 24

_PREFIX = re.compile(r"(?:[ \t]|>|[-*+](?=[ \t])|\d{1,9}[.)](?=[ \t]))*")
_MARK = re.compile(r"`{3,}|~{3,}")
_OPENING_AT_END = re.compile(r"(?<!`)(`{3,12})([\w+#.\-]{0,24})$")
_LIST_MARK = re.compile(r"[^\s>]")
_LOOK = MAX_INDENT + MAX_MARK + 2  # no fence reaches further into its line; keeps the matching short on huge lines


class Fence(msgspec.Struct, frozen=True):
    """An open code block: all that is needed to close it and to open it again elsewhere."""

    indent: str
    mark: str
    language: str = ""

    @property
    def depth(self) -> int:
        return self.indent.count(">")

    @property
    def opening(self) -> str:
        return f"{self.indent}{self.mark}{self.language}"

    @property
    def closing(self) -> str:
        return f"{self.indent}{self.mark}"


class Role(Enum):
    TEXT = "text"
    OPENING = "opening"
    CLOSING = "closing"


class Line(msgspec.Struct, frozen=True):
    """One line and the code block that is open before and after it."""

    text: str
    role: Role = Role.TEXT
    before: Fence | None = None
    after: Fence | None = None

    @property
    def is_blank(self) -> bool:
        return self.role is Role.TEXT and not self.text.strip()


def _find_mark(text: str) -> tuple[str, str, int] | None:
    """Prefix, fence mark and where the mark ends, if the line begins with one."""
    look = text[:_LOOK]
    prefix = _PREFIX.match(look)
    at = prefix.end() if prefix else 0
    mark = _MARK.match(look, at)
    if mark is None or at > MAX_INDENT or len(mark[0]) > MAX_MARK:
        return None
    return look[:at], mark[0], mark.end()


def mark_start(text: str) -> int:
    """Where the fence mark stands in a line that begins with one."""
    found = _find_mark(text)
    return len(found[0]) if found else 0


def opening_of(text: str) -> Fence | None:
    """The code block that this line opens, if no other is open."""
    found = _find_mark(text)
    if found is None:
        return _opening_behind_text(text)
    prefix, mark, end = found
    if mark[0] == "`" and text.find("`", end) >= 0:
        return None  # ```code``` on one line is inline code
    return Fence(_LIST_MARK.sub(" ", prefix), mark, _language(text[end : end + 200]))


def _opening_behind_text(text: str) -> Fence | None:
    line = text.rstrip()
    tail = line[-(MAX_MARK + MAX_LANGUAGE + 1) :]
    found = _OPENING_AT_END.search(tail)
    if found is None or line.find("```") != len(line) - len(found[0]):
        return None
    return Fence(quote_prefix(text), found[1], found[2])


def _language(info: str) -> str:
    words = info.split(maxsplit=1)
    return words[0] if words and len(words[0]) <= MAX_LANGUAGE else ""


def quote_prefix(text: str) -> str:
    """The quote marks that a line begins with, to be repeated if the line goes on elsewhere."""
    found = re.match(r"(?:[ \t]{0,3}>[ \t]?){1,12}", text[:_LOOK])
    return found[0] if found and len(found[0]) <= MAX_INDENT else ""


def closes(text: str, fence: Fence) -> bool:
    found = _find_mark(text)
    if found is None:
        return False
    prefix, mark, end = found
    return (
        mark[0] == fence.mark[0]
        and len(mark) >= len(fence.mark)
        and prefix.count(">") == fence.depth
        and not prefix.strip(" \t>")
        and not text[end:].strip()
    )


def _leaves_the_quote(text: str, fence: Fence) -> bool:
    prefix = _PREFIX.match(text[:_LOOK])
    return fence.depth > 0 and (prefix[0].count(">") if prefix else 0) < fence.depth


def step(state: Fence | None, text: str) -> Line:
    """`text` as the next line after `state`."""
    if "```" not in text and "~~~" not in text and (state is None or state.depth == 0):
        return Line(text, Role.TEXT, state, state)
    if state is not None and _leaves_the_quote(text, state):
        state = None  # the end of a quote ends the code block in it
    if state is not None:
        if closes(text, state):
            return Line(text, Role.CLOSING, state, None)
        return Line(text, Role.TEXT, state, state)
    opened = opening_of(text)
    if opened is None:
        return Line(text)
    alone = _find_mark(text) is not None
    return Line(text, Role.OPENING if alone else Role.TEXT, None, opened)


def scan(lines: Iterable[str]) -> Iterator[Line]:
    state: Fence | None = None
    for text in lines:
        line = step(state, text)
        yield line
        state = line.after


def is_balanced(text: str) -> bool:
    """Is every code block that is opened in `text` closed by a line of its own?"""
    state: Fence | None = None
    for line in scan(text.split("\n")):
        if state is not None and line.before is None:
            return False
        state = line.after
    return state is None
