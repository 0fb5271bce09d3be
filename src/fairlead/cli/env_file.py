"""Edits the settings file line by line: only the given settings change, and all other lines stay as they are."""

import re
from collections.abc import Mapping
from pathlib import Path

from fairlead.errors import Code, error
from fairlead.kit.files import read_if_there, replace_durably

_ASSIGNMENT = re.compile(r"\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=")


def with_values(text: str, values: Mapping[str, str]) -> str:
    """`text` with these settings: each in the place where it stood, or at the end; an empty one only where it stood."""
    left = dict(values)
    lines: list[str] = []
    for line in text.removesuffix("\n").split("\n") if text else ():
        found = _ASSIGNMENT.match(line)
        if found is None or found[1] not in values:
            lines.append(line)
        elif found[1] in left:
            lines.append(f"{found[1]}={left.pop(found[1])}")
    return "\n".join([*lines, *(f"{name}={value}" for name, value in left.items() if value)]) + "\n"


def write_env(path: Path, values: Mapping[str, str]) -> None:
    """Readable by nobody else: a token stands in it. Raises E_CONFIG, and what was there stays."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        before = (read_if_there(path) or b"").decode()
        replace_durably(path.resolve(), with_values(before, values).encode())  # a link stays a link
    except (OSError, UnicodeDecodeError) as fault:
        raise error(
            Code.E_CONFIG,
            f"{path.absolute()} cannot be written: {fault}.",
            next_step="Nothing was changed. Fix that, then run `fairlead init` again.",
        ) from fault
