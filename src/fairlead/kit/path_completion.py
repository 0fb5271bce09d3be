"""Files and directories whose path begins with what a person has typed of it."""

from pathlib import Path
from typing import Final

MOST_FILES: Final = 50


def files_below(directory: str, typed: str) -> list[str]:
    """Files and directories whose path, relative to `directory`, begins with what is typed. Hidden ones only if their
    dot is typed."""
    if not directory or typed.startswith(("/", "~")):
        return []
    before, _, begun = typed.rpartition("/")
    start = Path(directory, before)
    try:
        found = sorted(start.iterdir())
    except OSError:
        return []
    fitting = [p for p in found if p.name.startswith(begun) and (begun.startswith(".") or not p.name.startswith("."))]
    return [f"{p.relative_to(directory)}{'/' if p.is_dir() else ''}" for p in fitting[:MOST_FILES]]
