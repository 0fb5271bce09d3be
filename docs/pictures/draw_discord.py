"""Draws messages of a Discord thread as an SVG in the look of Discord's phone app. It draws only what it is given.

Every piece of text is given its width, so that the picture is the same whatever font the viewer has.
"""  # noqa: INP001 - a script's neighbour, not a package

import re
import time
from typing import Any, Final
from xml.sax.saxutils import escape

from loopback_discord import Message

WIDTH: Final = 390
LEFT: Final = 58
RIGHT: Final = WIDTH - 14
TEXT_SIZE: Final = 14
SMALL_SIZE: Final = 11.5
LINE: Final = 20
CODE_WIDTH: Final = 0.6
SANS: Final = "'gg sans','Noto Sans','Liberation Sans',Helvetica,Arial,sans-serif"
MONO: Final = "'Liberation Mono','DejaVu Sans Mono',Menlo,Consolas,monospace"
PAGE, BLOCK, TEXT, DIM, LINK, CHIP = "#313338", "#2b2d31", "#dbdee1", "#949ba4", "#c9cdfb", "#3c4270"
BUTTONS: Final = {1: "#5865f2", 2: "#4e5058", 3: "#248046", 4: "#da373c"}
AVATARS: Final = {True: ("#23a55a", "F"), False: ("#5865f2", "A")}

# Thousandths of the font size for the printable ASCII characters, from the space on, as Helvetica and Arial have them.
ADVANCES: Final = (
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278, 556, 556, 556, 556, 556, 556,
    556, 556, 556, 556, 278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667,
    556, 833, 722, 778, 667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469, 556, 333, 556,
    556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556, 556, 556, 333, 500, 278, 556, 500, 722,
    500, 500, 500, 334, 260, 334, 584,
)  # fmt: skip
WIDER: Final = {"\N{MIDDLE DOT}": 278, "\N{HORIZONTAL ELLIPSIS}": 1000, "\N{LEFTWARDS ARROW}": 1000}
INLINE: Final = re.compile(r"(`[^`]+`|\*\*[^*]+\*\*|<@\d+>|<t:\d+:R>)")


def width_of(text: str, size: float, *, mono: bool = False, bold: bool = False) -> float:
    if mono:
        return len(text) * CODE_WIDTH * size
    units = [ADVANCES[ord(c) - 32] if " " <= c <= "~" else 1300 if ord(c) > 0x2300 else WIDER.get(c, 556) for c in text]
    return sum(units) * size / 1000 * (1.06 if bold else 1)


class Drawing:
    """Grows downwards; `y` is where the next thing begins."""

    def __init__(self, names: dict[int, str], now: float) -> None:
        self.names = names
        self.now = now
        self.y = 0.0
        self.parts: list[str] = []

    def box(self, x: float, y: float, width: float, height: float, *, fill: str, radius: float = 4) -> None:
        self.parts.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="{radius}" fill="{fill}"/>'
        )

    def write(self, x: float, y: float, text: str, *, size: float = TEXT_SIZE, fill: str = TEXT, **look: bool) -> float:
        """Writes at this baseline; returns where the text ends."""
        mono, bold = look.get("mono", False), look.get("bold", False)
        wide = width_of(text, size, mono=mono, bold=bold)
        shown = escape(text).replace(" ", "\N{NO-BREAK SPACE}")
        weight = ' font-weight="600"' if bold else ""
        self.parts.append(
            f'<text x="{x:.1f}" y="{y:.1f}" font-family="{MONO if mono else SANS}" font-size="{size}" fill="{fill}"'
            f'{weight} textLength="{wide:.1f}" lengthAdjust="spacingAndGlyphs">{shown}</text>'
        )
        return x + wide

    # messages

    def message(self, message: Message, replied_to: Message | None) -> None:
        self.y += 14
        if replied_to is not None:
            self._reference(replied_to)
        colour, letter = AVATARS[message.author.bot]
        self.parts.append(f'<circle cx="30" cy="{self.y + 18:.1f}" r="17" fill="{colour}"/>')
        self.write(25, self.y + 23.5, letter, size=16, fill="#ffffff", bold=True)
        self._head(message)
        self._content(message.content)
        for row in message.components:
            self._buttons(row["components"])
        if message.reactions:
            self._reactions(list(message.reactions))

    def _reference(self, replied_to: Message) -> None:
        self.parts.append(
            f'<path d="M30 {self.y + 13:.1f} v-5 q0 -4 4 -4 h18" fill="none" stroke="#5c5e66" stroke-width="2"/>'
        )
        x = self.write(LEFT, self.y + 9, f"@{self._name(replied_to.author.id)} ", size=12, fill=TEXT)
        self.write(x, self.y + 9, replied_to.content, size=12, fill=DIM)
        self.y += 18

    def _head(self, message: Message) -> None:
        x = self.write(LEFT, self.y + 13, self._name(message.author.id), size=15, fill="#f2f3f5", bold=True) + 6
        if message.author.bot:
            self.box(x, self.y + 1, 28, 15, fill="#5865f2", radius=3)
            x = self.write(x + 4, self.y + 12, "APP", size=9.5, fill="#ffffff", bold=True) + 10
        self.write(x, self.y + 13, time.strftime("%H:%M", time.localtime(message.created_at)), size=11, fill=DIM)
        self.y += 20

    def _name(self, person: int) -> str:
        return self.names[person]

    # text

    def _content(self, content: str) -> None:
        for place, piece in enumerate(re.split(r"```(?:\w*\n)?(.*?)\n?```\n?", content, flags=re.DOTALL)):
            if place % 2:
                self._code(piece.split("\n"))
            elif piece.strip("\n"):
                for line in piece.strip("\n").split("\n"):
                    self._line(line)

    def _line(self, line: str) -> None:
        small = line.startswith("-# ")
        size, colour = (SMALL_SIZE, DIM) if small else (TEXT_SIZE, TEXT)
        if not line:
            self.y += LINE / 2
            return
        x: float = LEFT
        for word, look in self._words(line.removeprefix("-# ")):
            written = size - 1.5 if look.get("mono") else size
            wide = width_of(word.rstrip(), written, **look)
            if x + wide > RIGHT:
                x = LEFT
                self.y += LINE
            x = self._word(x, word, written, look, colour)
        self.y += LINE - (3 if small else 0)

    def _word(self, x: float, word: str, size: float, look: dict[str, bool], colour: str) -> float:
        if look.get("mono"):
            self.box(x, self.y + 2, width_of(word, size, mono=True), LINE - 3, fill=BLOCK, radius=3)
        elif word.startswith("@"):
            self.box(x - 1, self.y + 1, width_of(word.rstrip(), size) + 2, LINE - 2, fill=CHIP, radius=3)
            colour = LINK
        return self.write(x, self.y + 15, word, size=size, fill=colour, **look)

    def _words(self, line: str) -> list[tuple[str, dict[str, bool]]]:
        """What can stand on a line of its own, each with its look. Code is not broken."""
        words: list[tuple[str, dict[str, bool]]] = []
        for piece in filter(None, INLINE.split(line)):
            if piece.startswith("`"):
                words.append((piece.strip("`"), {"mono": True}))
            elif piece.startswith("**"):
                words += [(word, {"bold": True}) for word in re.findall(r"\S+\s*", piece.strip("*"))]
            elif piece.startswith("<@"):
                words.append(("@" + self._name(int(piece[2:-1])), {}))
            elif piece.startswith("<t:"):
                minutes = round((int(piece[3:-3]) - self.now) / 60)
                words.append((f"in {minutes} minutes", {}))
            else:
                words += [(word, {}) for word in re.findall(r"\s*\S+\s*|\s+", piece)]
        return words

    def _code(self, lines: list[str]) -> None:
        longest = max(width_of(line, 12, mono=True) for line in lines)
        if longest > RIGHT - LEFT - 16:
            raise SystemExit(f"A line of code is too wide for the picture: {max(lines, key=len)}")
        self.box(LEFT, self.y + 3, RIGHT - LEFT, len(lines) * 17 + 12, fill=BLOCK)
        for place, line in enumerate(lines):
            colour = {"+": "#7ce38b", "-": "#ff9492", "@": "#8fb8ff"}.get(line[:1], TEXT)
            self.write(LEFT + 8, self.y + 21 + place * 17, line, size=12, fill=colour, mono=True)
        self.y += len(lines) * 17 + 20

    # what can be tapped

    def _buttons(self, row: list[dict[str, Any]]) -> None:
        x: float = LEFT
        self.y += 4
        for button in row:
            wide = width_of(button["label"], 13, bold=True) + 22
            if x + wide > RIGHT:
                x = LEFT
                self.y += 38
            self.box(x, self.y, wide, 32, fill=BUTTONS[button["style"]], radius=8)
            self.write(x + 11, self.y + 20.5, button["label"], size=13, fill="#ffffff", bold=True)
            x += wide + 8
        self.y += 36

    def _reactions(self, marks: list[str]) -> None:
        for place, mark in enumerate(marks):
            x = LEFT + place * 50
            self.box(x, self.y + 3, 44, 24, fill=BLOCK, radius=8)
            self.write(x + 7, self.y + 19.5, mark, size=13)
            self.write(x + 29, self.y + 19.5, "1", size=12, fill=DIM, bold=True)
        self.y += 30


def draw_thread(title: str, channel: str, messages: list[Message], names: dict[int, str], now: float) -> str:
    drawing = Drawing(names, now)
    drawing.write(14, 24, "\N{LEFTWARDS ARROW}", size=18, fill=DIM)
    drawing.write(LEFT - 16, 21, title, size=14.5, fill="#f2f3f5", bold=True)
    drawing.write(LEFT - 16, 37, f"#{channel}", size=11, fill=DIM)
    drawing.parts.append(f'<path d="M0 48.5 H{WIDTH}" stroke="#26282c"/>')
    drawing.y = 48
    by_id = {message.id: message for message in messages}
    for message in messages:
        drawing.message(message, by_id.get(message.reference[1]) if message.reference else None)
    height = drawing.y + 16
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height:.0f}" '
        f'viewBox="0 0 {WIDTH} {height:.0f}">\n'
        f'<rect width="{WIDTH}" height="{height:.0f}" rx="10" fill="{PAGE}"/>\n'
        + "\n".join(drawing.parts)
        + "\n</svg>\n"
    )
