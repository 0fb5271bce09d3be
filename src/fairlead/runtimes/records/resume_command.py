"""How a person runs an agent's program in a terminal as Fairlead runs it: with the same records. Runs nothing."""

import os
import pwd
from collections.abc import Iterable, Mapping
from pathlib import Path

from fairlead.core.agent_sessions import ResumeCommand


def make_resume_command(
    directory: str, argv: tuple[str, ...], environment: Mapping[str, str], variables: Iterable[str]
) -> ResumeCommand:
    """`variables` are those that say where the program keeps its records. Where agents run as another user, so must
    this: its records are that user's."""
    chosen = {name: environment[name] for name in variables if environment.get(name)}
    owner = _owner_of(environment.get("HOME", ""))
    prefix = ("sudo", "-H", "-u", owner, "--") if owner else ()
    return ResumeCommand(directory, (*prefix, *argv), chosen)


def _owner_of(home: str) -> str:
    """The name of the user whose home this is; empty for our own."""
    try:
        uid = Path(home).stat().st_uid if home else os.geteuid()
        return "" if uid == os.geteuid() else pwd.getpwuid(uid).pw_name
    except (OSError, KeyError):
        return ""
