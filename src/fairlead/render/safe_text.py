"""Text from outside, made harmless to show: it must neither ping, format nor mislead. Knows no tool."""

import re
import unicodedata

from fairlead.render.graphemes import shorten

_INVISIBLE = frozenset({"Cc", "Cs", "Co", "Cn", "Zl", "Zp"})
_KEPT_FORMAT = frozenset("\u200c\u200d")  # they hold emoji and Indic letters together
_SPACES = re.compile(r"\s+")
_SAFE = re.compile(r"[\w\s./,;!?%+=&'\"{}$^-]*")
_UNDERSCORE = "_"
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\^_])")


def _is_harmful(char: str) -> bool:
    """Control characters, and those that turn the direction of text around or hide in it."""
    if char.isascii():
        return not char.isprintable()
    category = unicodedata.category(char)
    tag = "\U000e0020" <= char <= "\U000e007f"
    return category in _INVISIBLE or (category == "Cf" and char not in _KEPT_FORMAT and not tag)


def one_line(text: str, limit: int) -> str:
    """`text` on one line of at most `limit` characters, without anything that cannot be seen."""
    head = _SPACES.sub(" ", text[: limit * 4 + 200])
    return shorten("".join(char for char in head if not _is_harmful(char)).strip(), limit)


def visible_lines(text: str) -> str:
    """`text` with its lines and tabs kept, and what hides or misleads shown as its number: `<U+202E>`."""
    return "".join(
        char if char in "\n\t" or not _is_harmful(char) else f"<U+{ord(char):04X}>"
        for char in text.replace("\r\n", "\n")
    )


def last_lines(text: str, lines: int, characters: int) -> str:
    """The end of what a program printed: without the escapes that colour a terminal, and with each line cut, so that
    one long line does not hide the others."""
    plain = _ESCAPES.sub("", text).replace("\r\n", "\n").replace("\r", "\n")
    kept = [line.rstrip() for line in plain.splitlines() if line.strip()][-lines:]
    room = max(characters // max(len(kept), 1), 40)
    return "\n".join(shorten(line, room) for line in kept)[-characters:]


def quote_inline(text: str, limit: int) -> str:
    """One line that Markdown and mentions leave alone: plain where it is plain, else as inline code."""
    line = one_line(text, limit)
    if _SAFE.fullmatch(line) and _UNDERSCORE not in line and not line.startswith(("-", "+")):
        return line
    inside = one_line(line.replace("`", "'"), max(1, limit - 2))
    return f"`{inside}`" if inside else ""


def code_block(text: str, language: str = "") -> str:
    """`text` as a code block that it cannot break out of."""
    inside = visible_lines(text).replace("``", "`\u200b`")
    return f"```{language}\n{inside}\n```"
