"""A diff in the terminal: coloured, and in a pager where it is longer than the screen. Knows no server."""

import asyncio
import os
import shlex
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from typing import Final

from rich.console import Console
from rich.text import Text

from fairlead.render.safe_text import visible_lines

_STYLES: Final = (
    (("+++", "---"), "bold"),
    (("diff ", "index ", "new file", "deleted file", "similarity", "rename ", "old mode", "new mode"), "bold"),
    (("@@",), "cyan"),
    (("+",), "green"),
    (("-",), "red"),
)
_MOST_LINES: Final = 20_000
_PAGER: Final = "less"
_PAGER_OPTIONS: Final = "FRX"  # colours as they are; end by itself if all fits; leave the text on the screen
_LEFT: Final = 6
"""Lines of the screen that the list of files and the prompt need."""


def colour_diff(diff: str) -> Text:
    """What is in the files is data: it neither moves the cursor nor colours anything."""
    lines = visible_lines(diff).splitlines()
    text = Text()
    for line in lines[:_MOST_LINES]:
        text.append(f"{line}\n", _style_of(line))
    if len(lines) > _MOST_LINES:
        text.append("…\n", "dim")
    return text


def _style_of(line: str) -> str:
    return next((style for heads, style in _STYLES if line.startswith(heads)), "")


def print_diff(console: Console, head: Iterable[str], diff: str) -> None:
    """All of it, to the screen itself."""
    for line in head:
        console.print(Text(visible_lines(line)))
    console.print(colour_diff(diff), end="")


async def show_diff(console: Console, head: list[str], diff: str) -> None:
    """In the person's pager if it does not fit; nothing else may read their keys meanwhile."""
    pager = find_pager(os.environ)
    is_long = diff.count("\n") + len(head) > console.height - _LEFT
    if not pager or not is_long or not console.is_terminal or console.is_dumb_terminal:
        print_diff(console, head, diff)
        return
    with console.capture() as captured:
        print_diff(console, head, diff)
    await asyncio.to_thread(_page, pager, captured.get())


def find_pager(environment: Mapping[str, str]) -> list[str]:
    """What PAGER names, or less; nothing if there is neither. `PAGER=` or `cat` means none."""
    named = environment.get("PAGER", _PAGER)
    words = shlex.split(named) if named.strip() else []
    if not words or words == ["cat"] or shutil.which(words[0], path=environment.get("PATH", "")) is None:
        return []
    return words


def _page(pager: list[str], text: str) -> None:
    env = {"LESS": _PAGER_OPTIONS, **os.environ}
    subprocess.run(pager, input=text.encode(), env=env, check=False)
