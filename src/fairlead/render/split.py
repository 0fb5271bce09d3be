"""Long Markdown answers in messages that a chat takes. Knows lengths and code blocks, not where they go.

1. A piece measures at most `limit`. A text that fits and whose code blocks are closed goes as it is.
2. Cuts are made, in this order of liking: in front of a code block that fits whole into the next piece, at a
   blank line, at a line end, at a space, between two visible characters.
3. A code block that is cut is closed and opened again with its language: each piece is balanced by itself.
4. Nothing is lost but fence lines and blank space at cuts; nothing else is changed. No piece is empty.
5. The work is linear in the text, whatever its shape.
"""

import msgspec

from fairlead.render.fences import (
    MAX_INDENT,
    MAX_MARK,
    Fence,
    Line,
    Role,
    is_balanced,
    mark_start,
    quote_prefix,
    scan,
    step,
)
from fairlead.render.line_cut import Measure, cut_at

SMALLEST_LIMIT = 200  # leaves more than half a piece for text, however long the fences
_CLOSING_AT_MOST = MAX_INDENT + MAX_MARK + 1


def count_code_points(text: str) -> int:
    """The count by which Discord's API refuses a message: an emoji of four joined parts counts seven. Discord's web
    client counts UTF-16 units instead, which the API does not."""
    return len(text)


class TextPiece(msgspec.Struct, frozen=True):
    """One message, and which lines of the text (from 0) it holds."""

    text: str
    first: int
    last: int


def split_lines(text: str, limit: int, measure: Measure = count_code_points) -> list[TextPiece]:
    """`text` in messages of at most `limit`, none blank. `measure` is additive, and at least 1 per character."""
    if limit < SMALLEST_LIMIT:
        raise ValueError(f"A message limit of {limit} leaves no room for text. Give at least {SMALLEST_LIMIT}.")
    text = text.replace("\r\n", "\n")
    if not text.strip():
        return []
    lines = text.split("\n")
    if measure(text) <= limit and is_balanced(text):
        return [TextPiece(text, 0, len(lines) - 1)]
    builder = _Builder(limit, measure, _whole_blocks(lines, limit, measure))
    for number, line in enumerate(lines):
        builder.add(number, line)
    return builder.finish()


def _whole_blocks(lines: list[str], limit: int, measure: Measure) -> frozenset[int]:
    """The numbers of the lines that open a code block which fits into one piece."""
    found: set[int] = set()
    start, size = 0, 0
    for number, line in enumerate(scan(lines)):
        if line.before is None and line.after is not None:
            start, size = number, -1
        if line.before is not None or line.after is not None:
            size += measure(line.text) + 1
        if line.before is not None and line.after is None and size <= limit:
            found.add(start)
    return frozenset(found)


class _PlacedLine(msgspec.Struct, frozen=True):
    line: Line
    number: int
    size: int


class _Builder:
    """The piece that is being filled, and those that are finished."""

    def __init__(self, limit: int, measure: Measure, whole_blocks: frozenset[int]) -> None:
        self._limit = limit
        self._measure = measure
        self._whole_blocks = whole_blocks
        self._pieces: list[TextPiece] = []
        self._placed: list[_PlacedLine] = []
        self._size = 0
        self._state: Fence | None = None

    def add(self, number: int, text: str) -> None:
        if not self._placed and self._state is None and not text.strip():
            return
        line = step(self._state, text)
        if line.role is not Role.TEXT and self._measure(text) > self._limit // 4:
            line = _short_fence(line)
        size = self._measure(line.text)
        while not self._fits(line, size):
            too_long = size > self._limit - self._opening(line.before) - self._closing(line.after)
            if not self._placed or (too_long and self._room() >= self._limit // 4):
                self._spread_long_line(number, text)
                return
            self._flush(self._best_cut())
        self._place(line, number, size)

    def finish(self) -> list[TextPiece]:
        self._flush(len(self._placed))
        return self._pieces

    def _spread_long_line(self, number: int, text: str) -> None:
        """Fill piece after piece with a line that is too long for one."""
        offset, prefix = 0, ""
        while offset < len(text):
            room = self._room() - len(prefix)
            if self._placed and room < self._limit // 4:
                self._flush(self._best_cut())
                continue
            end, head = self._head(text, offset, room, prefix)
            self._place(head, number, self._measure(head.text))
            if end < len(text):
                self._flush(len(self._placed))
            offset, prefix = end, quote_prefix(text)

    def _head(self, text: str, offset: int, room: int, prefix: str) -> tuple[int, Line]:
        end = cut_at(text, offset, room, self._measure)
        head = step(self._state, prefix + text[offset:end])
        if head.role is not Role.TEXT:
            # Only the cut makes it read as a fence: cut through its mark instead.
            end = offset + mark_start(head.text) - len(prefix) + 2
        elif not self._fits(head, self._measure(head.text)):
            end = cut_at(text, offset, room - _CLOSING_AT_MOST, self._measure)
        return end, step(self._state, prefix + text[offset:end])

    def _opening(self, fence: Fence | None) -> int:
        return self._measure(fence.opening) + 1 if fence else 0

    def _closing(self, fence: Fence | None) -> int:
        return self._measure(fence.closing) + 1 if fence else 0

    def _room(self) -> int:
        """What is left for one more line that opens and closes nothing."""
        used = self._size + 1 if self._placed else self._opening(self._state)
        return self._limit - used - self._closing(self._state)

    def _ends_here(self, line: Line) -> Fence | None:
        """The code block of this piece that ends in front of `line` without a line that says so."""
        return self._state if self._placed and line.before is None else None

    def _fits(self, line: Line, size: int) -> bool:
        used = self._size + 1 if self._placed else self._opening(line.before)
        used += self._closing(self._ends_here(line))
        return used + size + self._closing(line.after) <= self._limit

    def _place(self, line: Line, number: int, size: int) -> None:
        if (ended := self._ends_here(line)) is not None:
            closing = Line(ended.closing, Role.CLOSING, ended, None)
            self._state = None
            self._place(closing, number, self._measure(closing.text))
        self._size += size + 1 if self._placed else self._opening(line.before) + size
        self._placed.append(_PlacedLine(line, number, size))
        self._state = line.after

    def _best_cut(self) -> int:
        """In front of which of the placed lines the next piece begins; the line after them does not fit."""
        count = len(self._placed)
        before = self._size
        blank = 0
        for index in range(count - 1, 0, -1):
            placed = self._placed[index]
            before -= placed.size + 1
            opens = placed.line.before is None and placed.line.after is not None
            if opens and self._state is not None and self._belongs_to_the_next(index, before):
                return index
            if not blank and placed.line.is_blank and before >= self._limit // 2:
                blank = index + 1
        return blank or count

    def _belongs_to_the_next(self, index: int, before: int) -> bool:
        """Is it better to move the open code block that begins at `index` than to cut it?"""
        if any(placed.line.after is None for placed in self._placed[index:]):
            return False  # not the block that is open at the end
        last_line = index == len(self._placed) - 1
        whole = self._placed[index].number in self._whole_blocks
        return last_line or whole or before >= self._limit * 3 // 4

    def _flush(self, cut: int) -> None:
        piece = _compose(self._placed[:cut])
        if piece is not None:
            self._pieces.append(piece)
        rest = self._placed[cut:]
        while rest and rest[0].line.is_blank and rest[0].line.before is None:
            rest.pop(0)
        self._placed, self._size = [], 0
        for placed in rest:
            self._size += placed.size + 1 if self._placed else self._opening(placed.line.before) + placed.size
            self._placed.append(placed)


def _short_fence(line: Line) -> Line:
    fence = line.after or line.before
    assert fence is not None
    text = fence.opening if line.role is Role.OPENING else fence.closing
    return msgspec.structs.replace(line, text=text)


def _compose(placed: list[_PlacedLine]) -> TextPiece | None:
    """The message made of these lines, balanced by itself; None if there is nothing in it to read."""
    lines = placed[1:] if placed and placed[0].line.role is Role.CLOSING else placed[:]
    while lines and lines[-1].line.is_blank and lines[-1].line.after is None:
        lines.pop()
    start = 0
    while start < len(lines) and lines[start].line.is_blank and lines[start].line.before is None:
        start += 1
    lines = lines[start:]
    if not any(item.line.role is Role.TEXT and not item.line.is_blank for item in lines):
        return None
    texts = [item.line.text for item in lines]
    if (opened := lines[0].line.before) is not None:
        texts.insert(0, opened.opening)
    if (left_open := lines[-1].line.after) is not None:
        texts.append(left_open.closing)
    return TextPiece("\n".join(texts), lines[0].number, lines[-1].number)
