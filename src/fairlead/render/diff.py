"""A change shortened for a question: what changes is kept, what is left out is said. Applies nothing.

Context goes first, then the ends of long lines, then changed lines from the middle of the change outwards.
"""

import difflib
from collections.abc import Sequence
from typing import Final

from fairlead.render.graphemes import shortened
from fairlead.render.neutral import code_block, visible_lines
from fairlead.render.words import say

_LONGEST_LINE: Final = 160
_CONTEXT: Final = (3, 1, 0)
_MOST_COMPARED: Final = 2000  # lines; beyond it the comparison would take seconds
_NOTE_ROOM: Final = 60


def diff_of(old: str, new: str, path: str = "") -> str:
    """The unified diff from `old` to `new`, without the file names where there is no path."""
    before, after = old.splitlines(), new.splitlines()
    head = _same(before, after)
    tail = _same(before[head:][::-1], after[head:][::-1])
    cut_before, cut_after = len(before) - tail, len(after) - tail
    if cut_before + cut_after - 2 * head <= _MOST_COMPARED:
        lines = list(difflib.unified_diff(before, after, path, path, lineterm=""))
    else:
        removed = [f"-{line}" for line in before[head:cut_before]]
        added = [f"+{line}" for line in after[head:cut_after]]
        where = f"@@ -{head + 1},{len(removed)} +{head + 1},{len(added)} @@"
        lines = [f"--- {path}", f"+++ {path}", where, *removed, *added]
    return "\n".join(lines if path else lines[2:])


def _same(before: Sequence[str], after: Sequence[str]) -> int:
    """How many lines both begin with."""
    pairs = zip(before, after, strict=False)
    return next((count for count, (one, other) in enumerate(pairs) if one != other), min(len(before), len(after)))


def shorten_diff(diff: str, limit: int, *, lang: str = "en") -> str:
    """`diff` in at most `limit` characters; control and direction marks in it are made visible."""
    text = visible_lines(diff).rstrip("\n")
    if len(text) <= limit:
        return text
    lines = text.split("\n")
    for context in _CONTEXT:
        kept = _with_context(lines, context, lang)
        if _length(kept) <= limit:
            return "\n".join(kept)
    kept = [shortened(line, _LONGEST_LINE) for line in _with_context(lines, 0, lang)]
    if _length(kept) <= limit:
        return "\n".join(kept)
    return _head_and_tail(kept, limit, lang)


def diff_block(diff: str, limit: int, *, lang: str = "en") -> str:
    """`diff` as a code block of at most `limit` characters that its content cannot break out of."""
    room = limit
    while True:
        block = code_block(shorten_diff(diff, room, lang=lang), "diff")
        if len(block) <= limit or room == 0:
            return block
        room = max(room - (len(block) - limit), 0)


def _length(lines: Sequence[str]) -> int:
    return sum(len(line) + 1 for line in lines) - 1


def _is_unchanged(line: str) -> bool:
    return not line or line.startswith(" ")


def _with_context(lines: Sequence[str], context: int, lang: str) -> list[str]:
    """The lines, with `context` unchanged ones on each side of a change; runs of others as one note."""
    near = {
        number
        for index, line in enumerate(lines)
        if not _is_unchanged(line) and not line.startswith("@@")
        for number in range(index - context, index + context + 1)
    }
    kept: list[str] = []
    left_out = 0
    for index, line in enumerate(lines):
        if _is_unchanged(line) and index not in near:
            left_out += 1
            continue
        if left_out:
            kept.append(say(lang, "shortened.unchanged", count=left_out))
            left_out = 0
        kept.append(line)
    return [*kept, say(lang, "shortened.unchanged", count=left_out)] if left_out else kept


def _head_and_tail(lines: Sequence[str], limit: int, lang: str) -> str:
    """Two thirds of the room for the beginning, one for the end, and between them what is missing."""
    room = max(limit - _NOTE_ROOM, 0)
    head = _how_many(lines, room * 2 // 3)
    used = _length(lines[:head]) + 1 if head else 0
    tail = _how_many(lines[head:][::-1], room - used - 1)
    missing = lines[head : len(lines) - tail]
    note = _left_out(missing, lang)
    shown = "\n".join([*lines[:head], note, *lines[len(lines) - tail :]])
    return shown if len(shown) <= limit else shortened(note, limit)


def _how_many(lines: Sequence[str], room: int) -> int:
    for count, line in enumerate(lines):
        room -= len(line) + 1
        if room < 0:
            return count
    return len(lines)


def _left_out(lines: Sequence[str], lang: str) -> str:
    added = sum(1 for line in lines if line.startswith("+") and not line.startswith("+++ "))
    removed = sum(1 for line in lines if line.startswith("-") and not line.startswith("--- "))
    return say(lang, "shortened.changed", count=added + removed, added=added, removed=removed)


def shorten_text(text: str, limit: int, *, lang: str = "en") -> str:
    """A command or other plain text in `limit` characters: its beginning, and how much more there is."""
    shown = visible_lines(text)
    if len(shown) <= limit:
        return shown
    kept = shortened(shown, max(limit - _NOTE_ROOM, 0)).removesuffix("…")
    return shortened(f"{kept}\n{say(lang, 'shortened.characters', count=len(shown) - len(kept))}", limit)
