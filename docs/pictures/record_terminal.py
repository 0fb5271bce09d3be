"""Draws docs/pictures/terminal.svg: a conversation with the real Claude Code, typed into a real terminal (tmux).

Run it as `.venv/bin/python docs/pictures/record_terminal.py` where tmux is installed; look at the picture before you
commit it. The model is a server on loopback. The script uses a home directory of its own and leaves nothing behind.
"""  # noqa: INP001 - a script, not a package

import asyncio
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).parents[2]))  # `tests` and `loopback_discord` are not installed

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text
from staged_run import FIRST_PROMPT, SECOND_PROMPT, first_answer, make_project, offer_pytest, second_answer

from tests.agents.environment import agent_environment
from tests.agents.model_server import ModelServer

HERE: Final = Path(__file__).parent
FAIRLEAD: Final = Path(sys.executable).parent / "fairlead"
WIDTH: Final = 96
PROMPT: Final = "\N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK} "
PATIENCE_SEC: Final = 60

# What is typed, and what must then be on the screen before the next is typed. The picture shows the last question.
TALK: Final = (
    (FIRST_PROMPT, ("Allow once",)),
    ("y", ("Shall I run it?",)),
    (SECOND_PROMPT, ("pytest -q", "with any arguments")),
)
LAST_ANSWER: Final = ("1", ("not committed",))
DULL: Final = "484f58 ff7b72 3fb950 d29922 58a6ff bc8cff 39c5cf b1bac4"
BRIGHT: Final = "6e7681 ffa198 56d364 e3b341 79c0ff d2a8ff 56d4dd ffffff"


def colours(names: str) -> list[tuple[int, int, int]]:
    return [(int(n[:2], 16), int(n[2:4], 16), int(n[4:], 16)) for n in names.split()]


THEME: Final = TerminalTheme(colours("161b22")[0], colours("c9d1d9")[0], colours(DULL), colours(BRIGHT))


class Terminal:
    def __init__(self, home: Path, settings: dict[str, str]) -> None:
        self._tmux = ("tmux", "-S", str(home / "tmux"), "-f", "/dev/null")
        look = {"TERM": "screen-256color", "LANG": "C.UTF-8", "FAIRLEAD_HTTP_PORT": "0"}
        environment = ("env", "-i", *(f"{name}={value}" for name, value in (settings | look).items()))
        where = ("-x", str(WIDTH), "-y", "70", "-c", str(home / "shop"))
        self._run("new-session", "-d", *where, *environment, str(FAIRLEAD), "chat")

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


def type_all(home: Path, settings: dict[str, str]) -> str:
    terminal = Terminal(home, settings)
    try:
        terminal.wait_for("Ctrl-D leaves")
        for typed, awaited in TALK:
            if len(typed) > 1:
                terminal.wait_for_prompt()
            terminal.type(typed)
            terminal.wait_for(*awaited)
        shown = terminal.screen(colours=True).rstrip()
        terminal.type(LAST_ANSWER[0])
        terminal.wait_for(*LAST_ANSWER[1])
        terminal.wait_for_prompt()
        return shown
    finally:
        terminal.close()


def wait_until_fairlead_ended(home: Path) -> None:
    """The Fairlead behind a chat ends some seconds after the chat; the address stands for as long as it runs."""
    address = home / ".local/state/fairlead/state/http-address"
    until = time.monotonic() + PATIENCE_SEC
    while address.exists() and time.monotonic() < until:
        time.sleep(0.1)


async def record(home: Path) -> str:
    project = home / "shop"
    make_project(project)
    offer_pytest(home)
    async with ModelServer() as server:
        server.script(*first_answer(project), *second_answer())
        settings = agent_environment("claude", home, server) | {"PROJECTS": f'["{project}"]'}
        shown = await asyncio.to_thread(type_all, home, settings)
        await asyncio.to_thread(wait_until_fairlead_ended, home)
        return shown


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="fairlead-") as home:
        shown = asyncio.run(record(Path(home)))
    console = Console(record=True, width=WIDTH, file=Path("/dev/null").open("w"))  # noqa: SIM115 - for as long as we live
    console.print(Text.from_ansi(shown))
    picture = console.export_svg(title="fairlead chat", theme=THEME, unique_id="terminal")
    # The fonts that rich names would be fetched from the network by whoever looks at the picture.
    picture = re.sub(r"\s*@font-face \{.*?\}", "", picture, flags=re.DOTALL)
    picture = re.sub(r"\s*<!-- Generated .*?-->", "", picture)
    (HERE / "terminal.svg").write_text(picture.rstrip() + "\n")


if __name__ == "__main__":
    main()
