"""Where a text may be cut without tearing a visible character, and how wide it is. Knows no Markdown.

A small reading of Unicode's rules for grapheme clusters, enough that emoji (joined, flagged, toned, tagged),
combining marks, Hangul, Indic conjuncts and Thai vowels stay whole. It errs on the side of not cutting.
"""

import unicodedata
from collections.abc import Iterator

ELLIPSIS = "…"
_ZWJ = "\u200d"
_EXTENDING = frozenset("\u200c\u200d\u0e33\u0eb3\uff9e\uff9f")  # Cf, Lo and Lm by category, yet they attach
_VIRAMA = 9  # the combining class of the sign that joins two Indic consonants


def _is_flag_letter(char: str) -> bool:
    return "\U0001f1e6" <= char <= "\U0001f1ff"


def is_attached(char: str) -> bool:
    """Does `char` always belong to the character before it?"""
    if char < "\u0300":
        return False
    return (
        char in _EXTENDING
        or unicodedata.category(char)[0] == "M"
        or "\U0001f3fb" <= char <= "\U0001f3ff"  # skin tones
        or "\U000e0020" <= char <= "\U000e007f"  # tags: the flags of England, Scotland and Wales
    )


def _hangul(char: str) -> str:
    if "\u1100" <= char <= "\u115f" or "\ua960" <= char <= "\ua97c":
        return "L"
    if "\u1160" <= char <= "\u11a7" or "\ud7b0" <= char <= "\ud7c6":
        return "V"
    if "\u11a8" <= char <= "\u11ff" or "\ud7cb" <= char <= "\ud7fb":
        return "T"
    if "\uac00" <= char <= "\ud7a3":
        return "LV" if (ord(char) - 0xAC00) % 28 == 0 else "LVT"
    return ""


_HANGUL_JOINS = {"L": {"L", "V", "LV", "LVT"}, "V": {"V", "T"}, "LV": {"V", "T"}, "T": {"T"}, "LVT": {"T"}}


def _is_joined(text: str, index: int, start: int) -> bool:
    """Do the characters on both sides of `index` belong together? `start` is a known edge before it."""
    before, after = text[index - 1], text[index]
    if before < "\u0300" and after < "\u0300":
        return before == "\r" and after == "\n"
    if is_attached(after):
        return before not in "\r\n"
    if before == _ZWJ:
        return not after.isspace()
    if _is_flag_letter(after) and _is_flag_letter(before):
        return _flag_letters_before(text, index, start) % 2 == 1
    if unicodedata.combining(before) == _VIRAMA:
        return after.isalpha()
    return _hangul(after) in _HANGUL_JOINS.get(_hangul(before), ())


def _flag_letters_before(text: str, index: int, start: int) -> int:
    count = 0
    while index - count > start and _is_flag_letter(text[index - count - 1]):
        count += 1
    return count


def edge_at_or_before(text: str, index: int, start: int = 0) -> int:
    """The last place in (`start`, `index`] where `text` may be cut; `index` if one character fills it all."""
    if index >= len(text):
        return len(text)
    edge = index
    while edge > start and _is_joined(text, edge, start):
        edge -= 1
    return edge if edge > start else index


def clusters(text: str) -> Iterator[str]:
    start = 0
    for index in range(1, len(text)):
        if not _is_joined(text, index, start):
            yield text[start:index]
            start = index
    if text:
        yield text[start:]


def display_width(text: str) -> int:
    """Columns of a fixed-width font: wide East Asian characters and emoji take two, marks take none."""
    if text.isascii():
        return len(text)
    return sum(_cluster_width(cluster) for cluster in clusters(text))


def _cluster_width(cluster: str) -> int:
    first = cluster[0]
    if len(cluster) > 1 and ("\ufe0f" in cluster or _is_flag_letter(first)):
        return 2
    if unicodedata.category(first)[0] == "M" or first in "\u200b\u200c\u200d\ufeff":
        return 0
    return 2 if unicodedata.east_asian_width(first) in {"W", "F"} else 1


def shorten(text: str, limit: int) -> str:
    """`text` in at most `limit` characters, the last of them an ellipsis if anything is missing."""
    if len(text) <= limit:
        return text
    if limit <= 0:
        return ""
    kept = edge_at_or_before(text, limit - 1) if limit > 1 else 0
    return text[:kept].rstrip() + ELLIPSIS
