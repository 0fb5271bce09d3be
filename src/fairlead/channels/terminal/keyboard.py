"""Single keys while a turn runs: no echo, no Enter needed, Ctrl-C is a key like any other. Knows no key's meaning."""

import os
import signal
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Final

from prompt_toolkit.input import Input
from prompt_toolkit.keys import Keys

_NAMED: Final[dict[str, str]] = {
    Keys.ControlC: "ctrl-c",
    Keys.ControlD: "ctrl-d",
    Keys.ControlZ: "ctrl-z",
    Keys.ControlU: "ctrl-u",
    Keys.ControlM: "enter",
    Keys.ControlJ: "enter",
    Keys.ControlH: "backspace",
}
KEY_NAMES: Final = frozenset(_NAMED.values())
"""Every other key is a character, or the text of a paste."""


class Keyboard:
    """`with keyboard.listening(heard):` calls `heard` with each key; outside of it the line editor has the keys."""

    def __init__(self, source: Input) -> None:
        self.source = source

    @contextmanager
    def listening(self, heard: Callable[[str], None]) -> Generator[None]:
        def read() -> None:
            for press in self.source.read_keys():
                for key in _keys_in(press.key, press.data):
                    heard(key)

        with self.source.raw_mode(), self.source.attach(read):
            yield

    def suspend(self) -> None:
        """Give the terminal back to the shell, as Ctrl-Z does in every program; returns when the shell goes on."""
        with self.source.cooked_mode():
            os.kill(os.getpid(), signal.SIGTSTP)


def _keys_in(key: str, data: str) -> list[str]:
    if key in _NAMED:
        return [_NAMED[key]]
    if key == Keys.BracketedPaste:
        text = data.replace("\r\n", "\n").replace("\r", "\n")
        pasted = "".join(char for char in text if char == "\n" or char.isprintable())
        return [pasted] if pasted else []
    return [data] if len(data) == 1 and data.isprintable() else []
