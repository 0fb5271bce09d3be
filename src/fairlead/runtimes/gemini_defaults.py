"""What every Gemini that Fairlead starts begins with, below the person's own settings. Knows no runtime.

Gemini's system defaults have the lowest precedence: the person's own settings win. Where the machine has system
defaults of its own, they hold. Gemini takes such a file only if it and every directory above it belong to root and
nobody else may write them; in every other installation it would only warn about the file, so it is not named there.
"""

import stat
import sys
from pathlib import Path
from typing import Final

_VARIABLE: Final = "GEMINI_CLI_SYSTEM_DEFAULTS_PATH"
_MACHINE_DEFAULTS: Final = (
    Path("/etc/gemini-cli/system-defaults.json"),
    Path("/Library/Application Support/GeminiCli/system-defaults.json"),
)


def keep_sessions() -> dict[str, str]:
    """The variable that turns off Gemini's tidying. A starting gemini deletes every session file of its project that
    has no message yet, also one that another gemini has just begun, and two sessions of one project start at once
    here."""
    return _defaults_in("gemini-system-defaults.json")


def tool_defaults() -> dict[str, str]:
    """The same with Fairlead's own tools. Gemini takes such a server from a settings file alone; the file is the same
    for all, and Gemini puts the variables' values in."""
    defaults = _defaults_in("gemini-tool-defaults.json")
    return {**defaults, "FAIRLEAD_MCP_PYTHON": sys.executable} if defaults else {}


def check_quietly() -> dict[str, str]:
    """For a self-check, which no person has asked for: it keeps sessions too, sends no usage statistics, and updates
    nothing."""
    return _defaults_in("gemini-check-defaults.json")


def _defaults_in(name: str) -> dict[str, str]:
    path = Path(__file__).with_name(name)
    if any(machine.exists() for machine in _MACHINE_DEFAULTS) or not is_taken_by_gemini(path):
        return {}
    return {_VARIABLE: str(path)}


def is_taken_by_gemini(path: Path) -> bool:
    return all(map(_only_root_may_write, (path, *path.parents, *path.resolve().parents)))


def _only_root_may_write(path: Path) -> bool:
    found = path.stat()
    return found.st_uid == 0 and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH) and path.lstat().st_uid == 0
