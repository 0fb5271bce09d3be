"""An answer as messages or, when those are too many, as head, tail and a file. Knows no channel, no disk."""

from typing import Final

import msgspec

from fairlead.render.fences import Line, scan
from fairlead.render.line_cut import Measure
from fairlead.render.split import SMALLEST_LIMIT, TextPiece, count_code_points, split_lines
from fairlead.render.words import say

ANSWER_FILE: Final = "answer.md"
_NOTE_ROOM: Final = 100


class Pieces(msgspec.Struct, frozen=True):
    """The messages in their order, and the whole text as a file if they do not hold all of it."""

    messages: tuple[str, ...]
    file: bytes | None = None


def plan_pieces(
    text: str, limit: int, max_pieces: int, *, measure: Measure = count_code_points, lang: str = "en"
) -> Pieces:
    """`text` in at most `max_pieces` messages (0: any number). A longer one is its head, its tail and a file with all
    of it: nobody reads five full messages before they open the file."""
    whole = split_lines(text, limit, measure)
    if max_pieces == 0 or len(whole) <= max_pieces:
        return Pieces(tuple(piece.text for piece in whole))
    file = text.encode(errors="replace")
    if max_pieces == 1:
        return Pieces((_in_one_message(text, limit, measure, lang),), file)
    head = split_lines(text, _at_least(limit - _NOTE_ROOM), measure)[0]
    tail = _tail(text, limit, measure, after=head.last)
    return Pieces((f"{head.text}\n{_note(text, [head], tail, lang)}", tail.text), file)


def _in_one_message(text: str, limit: int, measure: Measure, lang: str) -> str:
    half = (limit - _NOTE_ROOM) // 2
    head = split_lines(text, _at_least(half), measure)[0]
    if half < SMALLEST_LIMIT:  # too little room for both: the head alone
        nothing = TextPiece("", head.last, head.last)
        return f"{head.text}\n{_note(text, [head], nothing, lang)}"
    tail = _tail(text, half, measure, after=head.last)
    return f"{head.text}\n{_note(text, [head], tail, lang)}\n{tail.text}"


def _at_least(limit: int) -> int:
    return max(limit, SMALLEST_LIMIT)


def _tail(text: str, limit: int, measure: Measure, *, after: int) -> TextPiece:
    """As much of the end as one message holds, from a line behind `after` on."""
    lines = list(scan(text.replace("\r\n", "\n").rstrip().split("\n")))
    room, start = limit, len(lines)
    while start - 1 > after:
        cost = measure(lines[start - 1].text) + 1
        if cost + _fence_cost(lines[start - 1], measure) > room:
            break
        start, room = start - 1, room - cost
    opened = lines[start].before if start < len(lines) else None
    end = "\n".join(([opened.opening] if opened else []) + [line.text for line in lines[start:]])
    fitting = split_lines(end, limit, measure)
    if len(fitting) == 1:
        return TextPiece(fitting[0].text, start, len(lines) - 1)
    return split_lines(text, limit, measure)[-1]  # the last line alone is too long


def _fence_cost(line: Line, measure: Measure) -> int:
    return 2 * measure(line.before.opening) + 2 if line.before else 0


def _note(text: str, heads: list[TextPiece], tail: TextPiece, lang: str) -> str:
    """How much stands between head and tail."""
    lines = tail.first - heads[-1].last - 1
    if lines > 0:
        return say(lang, "shortened.more_lines", count=lines, file=ANSWER_FILE)
    shown = sum(len(piece.text) for piece in heads) + len(tail.text)
    return say(lang, "shortened.more_characters", count=max(len(text) - shown, 1), file=ANSWER_FILE)
