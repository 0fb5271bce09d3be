"""Where a line too long for one message is cut. Knows code blocks only by the marks that it avoids."""

from collections.abc import Callable

from fairlead.render.graphemes import edge_at_or_before, is_attached

_BREAKS = " \t\u3000。、\uff0c\uff01\uff1f\uff1b\uff1a"  # spaces, and the full-width , ! ? ; :
_FENCE_CHARS = "`~"

Measure = Callable[[str], int]


def cut_at(text: str, offset: int, room: int, measure: Measure) -> int:
    """Where the part of `text` from `offset` on ends that measures at most `room`.

    Looks at no more than `room` characters, so cutting a line of any length is linear in it.
    """
    end = offset + _longest(text, offset, room, measure)
    if end == len(text):
        return end
    floor = offset + (end - offset) // 2
    return _after_a_break(text, floor, end) or _between_characters(text, offset, floor, end)


def _longest(text: str, offset: int, room: int, measure: Measure) -> int:
    """How many characters from `offset` on measure at most `room`; every character measures at least one."""
    window = text[offset : offset + room]
    if measure(window) <= room:
        return len(window)
    low, high = 1, len(window)
    while low < high:
        middle = (low + high + 1) // 2
        if measure(window[:middle]) <= room:
            low = middle
        else:
            high = middle - 1
    return low


def _after_a_break(text: str, floor: int, end: int) -> int:
    """The last place in (`floor`, `end`] behind a space or a CJK stop; 0 if there is none."""
    while True:
        at = max(text.rfind(char, floor, end) for char in _BREAKS)
        if at < 0:
            return 0
        if text[at + 1] not in _FENCE_CHARS and not is_attached(text[at + 1]):
            return at + 1
        end = at


def _between_characters(text: str, offset: int, floor: int, end: int) -> int:
    at = end
    while at > floor and (text[at] in _FENCE_CHARS or text[at - 1] in _FENCE_CHARS):
        at -= 1  # half a run of backticks would read as a fence of its own
    return edge_at_or_before(text, at if at > floor else end, offset)
