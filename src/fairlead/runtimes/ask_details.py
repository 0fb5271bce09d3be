"""The details of a permission request that every runtime shows alike. Pure."""

import hashlib
import shlex
from collections.abc import Mapping
from typing import Any, Final

DETAIL: Final = 20_000
COMMAND_KEYS: Final = ("command", "cmd")
_DIRECTORY_KEYS: Final = ("cwd", "workdir", "directory", "dir_path", "working_directory", "workingDirectory")
_HARMLESS_KEYS: Final = frozenset(
    {"description", "timeout", "timeout_ms", "run_in_background", "is_background", "title"}
)
_SHELLS: Final = frozenset({"sh", "bash", "zsh"})


def cut_if_long(words: str) -> str:
    """Words that are cut carry the hash of the whole: a rule for them must not cover others that begin like them."""
    if len(words) <= DETAIL:
        return words
    digest = hashlib.sha256(words.encode(errors="replace")).hexdigest()
    return f"{words[:DETAIL]}\n[cut here: {len(words)} characters in all, sha256 {digest}]"


def shell_command(given: Mapping[str, Any]) -> str:
    """What a shell would run. Empty where the call has arguments that may change what the command does."""
    asked = next((given[key] for key in COMMAND_KEYS if given.get(key)), None)
    others = {key for key, value in given.items() if value} - _HARMLESS_KEYS - {*COMMAND_KEYS, *_DIRECTORY_KEYS}
    if others or sum(bool(given.get(key)) for key in COMMAND_KEYS) > 1:
        return ""
    match asked:
        case str():
            return asked
        case [str(shell), "-c" | "-lc", str(script)] if shell.rpartition("/")[2] in _SHELLS:
            return script
        case [*words]:
            return shlex.join(str(word) for word in words)
        case _:
            return ""


def shell_directory(given: Mapping[str, Any]) -> str:
    """Where the call says that it would run; empty where it says nothing."""
    return next((str(given[key]) for key in _DIRECTORY_KEYS if given.get(key)), "")
