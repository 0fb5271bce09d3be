"""The list that `/help` shows: each command as it is typed, and what it does in the reader's language. Pure."""

from typing import Final

from fairlead.channels.terminal.commands import COMMANDS
from fairlead.render.words import say

_OWN: Final = {"/help": "terminal.help", "/quit": "terminal.quit"}
"""The commands that no other channel has."""
_LONG_USAGE: Final = 20


def help_lines(lang: str) -> list[str]:
    typed = {name: f"{name} {command.usage}".rstrip() for name, command in COMMANDS.items()}
    width = max(len(typed[name]) for name, command in COMMANDS.items() if len(command.usage) < _LONG_USAGE)
    return [f"{typed[name]:<{width}}  {say(lang, _key(name))}" for name in COMMANDS]


def _key(name: str) -> str:
    return _OWN.get(name) or f"command.{name.removeprefix('/').replace(' ', '.')}"
