"""Draws docs/pictures/terminal.svg: a real talk with the built-in agent, typed into a real terminal (tmux).

Run it as `.venv/bin/python docs/pictures/record_terminal.py` where tmux is installed; look at the picture before you
commit it. It uses a home of its own and leaves nothing behind.
"""  # noqa: INP001 - a script, not a package

import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

HERE: Final = Path(__file__).parent
FAIRLEAD: Final = Path(sys.executable).parent / "fairlead"
WIDTH: Final = 96
PROMPT: Final = "\N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK} "
PATIENCE_SEC: Final = 20

# What is typed, and what must then be on the screen before the next is typed.
TALK: Final = (
    ("hello", ("hello",)),
    ("/ask rm -rf build", ("Allow once",)),
    ("y", ("allowed:",)),
    ("/question Which database? | SQLite | PostgreSQL", ("or your own words",)),
    ("1", ("is SQLite",)),
    ("/why job_{today}_0001", ("was fetched",)),
)
DULL: Final = "484f58 ff7b72 3fb950 d29922 58a6ff bc8cff 39c5cf b1bac4"
BRIGHT: Final = "6e7681 ffa198 56d364 e3b341 79c0ff d2a8ff 56d4dd ffffff"


def colours(names: str) -> list[tuple[int, int, int]]:
    return [(int(n[:2], 16), int(n[2:4], 16), int(n[4:], 16)) for n in names.split()]


THEME: Final = TerminalTheme(colours("161b22")[0], colours("c9d1d9")[0], colours(DULL), colours(BRIGHT))


class Terminal:
    def __init__(self, home: Path) -> None:
        self._tmux = ("tmux", "-S", str(home / "tmux"), "-f", "/dev/null")
        project = home / "shop"
        project.mkdir()
        environment = ("env", "-i", f"HOME={home}", "PATH=/usr/bin:/bin", "TERM=screen-256color", "LANG=C.UTF-8")
        where = ("-x", str(WIDTH), "-y", "60", "-c", str(project))
        self._run("new-session", "-d", *where, *environment, str(FAIRLEAD), "up")

    def _run(self, *words: str) -> str:
        return subprocess.run([*self._tmux, *words], check=True, capture_output=True, text=True).stdout

    def type(self, words: str) -> None:
        self._run("send-keys", "-l", words)
        if len(words) > 1:
            self._run("send-keys", "Enter")

    def screen(self, *, colours: bool = False) -> str:
        return self._run("capture-pane", "-p", *(("-e",) if colours else ()))

    def wait_for(self, *words: str) -> None:
        until = time.monotonic() + PATIENCE_SEC
        while not all(word in self.screen() for word in words):
            if time.monotonic() > until:
                raise SystemExit(f"{words} did not appear:\n{self.screen()}")
            time.sleep(0.1)

    def wait_for_prompt(self) -> None:
        until = time.monotonic() + PATIENCE_SEC
        while not self.screen().rstrip().endswith(PROMPT.strip()) and time.monotonic() < until:
            time.sleep(0.1)

    def close(self) -> None:
        self._run("kill-server")


def record(home: Path) -> str:
    terminal = Terminal(home)
    try:
        terminal.wait_for("Ctrl-D leaves")
        today = time.strftime("%Y%m%d", time.gmtime())
        for typed, awaited in TALK:
            if len(typed) > 1:
                terminal.wait_for_prompt()
            terminal.type(typed.format(today=today))
            terminal.wait_for(*awaited)
        terminal.wait_for_prompt()
        return terminal.screen(colours=True).rstrip()
    finally:
        terminal.close()


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="fairlead-") as home:
        shown = record(Path(home))
    console = Console(record=True, width=WIDTH, file=Path("/dev/null").open("w"))  # noqa: SIM115 - for as long as we live
    console.print(Text.from_ansi(shown))
    picture = console.export_svg(title="fairlead up", theme=THEME, unique_id="terminal")
    # The fonts that rich names would be fetched from the network by whoever looks at the picture.
    picture = re.sub(r"\s*@font-face \{.*?\}", "", picture, flags=re.DOTALL)
    picture = re.sub(r"\s*<!-- Generated .*?-->", "", picture)
    (HERE / "terminal.svg").write_text(picture.rstrip() + "\n")


if __name__ == "__main__":
    main()
