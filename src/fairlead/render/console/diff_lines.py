"""A unified diff of git as files, hunks and numbered lines, and their text in colours. Pure; the text is data: what
hides or turns text around is shown by its number."""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import groupby
from typing import Any, Final, Literal

import msgspec

from fairlead.core.trees import FileChange
from fairlead.render.console.markup import Html, join
from fairlead.render.safe_text import visible_lines

MOST_LINES: Final = 4000
"""So many lines of a diff are shown; the whole is a file to read."""
_LONGEST_LINE: Final = 2000
_MOST_COLOURED: Final = 40_000
"""Characters of one file. Colours are a help; without them the text is the same."""
_HUNK: Final = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@ ?(.*)")
_FILE_START: Final = "diff --git "
_MODE: Final = re.compile(r"(?:old|new) mode \d+|new file mode (?!100644)\d+")

LineKind = Literal["same", "added", "removed"]
_KINDS: Final[dict[str, LineKind]] = {" ": "same", "+": "added", "-": "removed"}


class DiffLine(msgspec.Struct, frozen=True, gc=False):
    """`old` and `new` are its numbers in the file before and after; 0 where it is not there."""

    kind: LineKind
    old: int
    new: int
    text: str

    @property
    def quotation(self) -> str:
        """As the diff has it, with its sign."""
        sign = next(sign for sign, kind in _KINDS.items() if kind == self.kind)
        return f"{sign}{self.text}"


class Hunk(msgspec.Struct, frozen=True):
    """Lines that follow each other; `place` is what git says of where they are, a function's name say."""

    place: str
    lines: tuple[DiffLine, ...]


class FileDiff(msgspec.Struct, frozen=True, kw_only=True):
    """`modes` are git's lines about a changed mode. `left_out` counts lines that are not shown."""

    change: FileChange
    hunks: tuple[Hunk, ...] = ()
    modes: tuple[str, ...] = ()
    left_out: int = 0
    is_missing: bool = False
    """The diff ended before it."""


def read_diff(files: Sequence[FileChange], diff: str, most: int = MOST_LINES) -> tuple[FileDiff, ...]:
    """Git tells the files in the order of its list; one whose type changed is told as two."""
    sections = _split_sections(diff)
    found: list[FileDiff] = []
    room = most
    for change in files:
        wanted = 2 if change.kind == "type changed" else 1
        mine = [section for _ in range(wanted) if (section := next(sections, None)) is not None]
        hunks: list[Hunk] = []
        left_out = 0
        for hunk in (hunk for section in mine for hunk in _read_hunks(section)):
            shown = hunk.lines[:room]
            left_out += len(hunk.lines) - len(shown)
            room -= len(shown)
            if shown:
                hunks.append(Hunk(hunk.place, shown))
        modes = tuple(line for section in mine for line in section[:8] if _MODE.fullmatch(line))
        found.append(
            FileDiff(
                change=change,
                hunks=tuple(_without_returns(hunks)),
                modes=modes,
                left_out=left_out,
                is_missing=not mine,
            )
        )
    return tuple(found)


def _split_sections(diff: str) -> Iterator[list[str]]:
    """The lines of each file. Lines are split at newlines alone: a file may hold every other separator."""
    section: list[str] = []
    for line in diff.split("\n"):
        if line.startswith(_FILE_START):
            if section:
                yield section
            section = []
        section.append(line)
    if section and section[0].startswith(_FILE_START):
        yield section


def _read_hunks(section: Sequence[str]) -> Iterator[Hunk]:
    at = 0
    while at < len(section):
        found = _HUNK.fullmatch(section[at])
        at += 1
        if found is None:
            continue
        old, new = int(found[1]), int(found[3])
        lines: list[DiffLine] = []
        while at < len(section) and section[at][:1] in {*_KINDS, "\\"}:
            kind = _KINDS.get(section[at][:1])
            if kind is not None:
                is_old, is_new = kind != "added", kind != "removed"
                lines.append(DiffLine(kind, old if is_old else 0, new if is_new else 0, section[at][1:]))
                old, new = old + is_old, new + is_new
            at += 1
        yield Hunk(found[5], tuple(lines))


def _without_returns(hunks: Sequence[Hunk]) -> Iterable[Hunk]:
    """A carriage return at the end of every line says nothing; at some of them, it is what changed."""
    if not all(line.text.endswith("\r") for hunk in hunks for line in hunk.lines):
        return hunks
    return [
        Hunk(h.place, tuple(DiffLine(line.kind, line.old, line.new, line.text[:-1]) for line in h.lines)) for h in hunks
    ]


def group_lines(hunk: Hunk) -> Iterator[tuple[bool, list[tuple[int, DiffLine]]]]:
    """Runs of unchanged lines, and runs of removed and added ones, each line with its place in the hunk."""
    for is_same, run in groupby(enumerate(hunk.lines), key=lambda one: one[1].kind == "same"):
        yield is_same, list(run)


# --- colours


def colour_hunk(hunk: Hunk, path: str) -> list[Html]:
    """The text of each line. What was there before and what is there now are coloured each as a text of its own."""
    shown = [_cut_line(line.text) for line in hunk.lines]
    lexer = _lexer_for(_ending_of(path)) if sum(map(len, shown)) <= _MOST_COLOURED else None
    if lexer is None:
        return [join(text) for text in shown]
    coloured: list[Html] = [Html("")] * len(shown)
    for left_out in ("added", "removed"):
        places = [n for n, line in enumerate(hunk.lines) if line.kind != left_out]
        for place, html in zip(places, _colour([shown[n] for n in places], lexer), strict=False):
            coloured[place] = html
    return coloured


def _cut_line(text: str) -> str:
    return visible_lines(text if len(text) <= _LONGEST_LINE else f"{text[:_LONGEST_LINE]} …")


def _ending_of(path: str) -> str:
    name = path.rpartition("/")[2]
    return name if "." not in name else f"x.{name.rpartition('.')[2]}"


@lru_cache(64)
def _lexer_for(name: str) -> Any:
    """None if there are no colours for such a file. Only the ending is looked at: a name is somebody else's text."""
    from pygments.lexers import find_lexer_class_for_filename  # noqa: PLC0415 - on first use
    from pygments.lexers.special import TextLexer  # noqa: PLC0415 - on first use

    found: Any = find_lexer_class_for_filename(name) if len(name) < 40 else None  # pyright: ignore[reportUnknownVariableType]
    return None if found is TextLexer else found


def _colour(texts: Sequence[str], lexer: Any) -> list[Html]:
    from pygments import highlight  # noqa: PLC0415 - on first use
    from pygments.formatters.html import HtmlFormatter  # noqa: PLC0415 - on first use

    formatter: Any = HtmlFormatter(nowrap=True, classprefix="t-")  # pyright: ignore[reportUnknownVariableType]
    html: str = highlight("".join(f"{text}\n" for text in texts), lexer(stripnl=False, ensurenl=True), formatter)
    lines = html.removesuffix("\n").split("\n")
    if len(lines) != len(texts):  # a lexer that counts lines in another way
        return [join(text) for text in texts]
    return [Html(line) for line in lines]
