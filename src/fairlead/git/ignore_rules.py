"""The rules of ignoring that stand outside of a project's files: the repository's own (`info/exclude`), the person's
for all repositories (`core.excludesFile`), and `.gitignore` above a project that is a part of a repository.

No snapshot of the files holds them, so each one notes them. Asks no git.
"""

import hashlib
from pathlib import Path
from typing import Final

from fairlead.git.project_repository import ProjectRepository

RULES_NAME: Final = ".gitignore"
EXCLUDE: Final = "info/exclude"
PERSONS: Final = "core.excludesFile"
_LONGEST: Final = 32 * 1024
_DIGEST: Final = b"# too long to be noted; sha256 "

Rules = tuple[tuple[str, bytes], ...]
"""For each place its lines, without comments. Places with no rules are not named."""
_Look = tuple[int, int, int] | None


class IgnoreRules:
    """Reads each file again only when its times say that it changed."""

    def __init__(self, repository: ProjectRepository) -> None:
        self._files = _list_files(repository)
        self._read: dict[str, tuple[_Look, bytes]] = {}

    def read(self, name: str) -> bytes:
        """Whole, with comments; empty where there is none, or it cannot be read."""
        path = self._files.get(name)
        if path is None:
            return b""
        look = _look_at(path)
        known = self._read.get(name)
        if known is None or known[0] != look:
            known = self._read[name] = look, b"" if look is None else _read(path)
        return known[1]

    def note(self) -> Rules:
        noted = ((name, _shorten(self.read(name))) for name in self._files)
        return tuple((name, text) for name, text in noted if text)


def is_whole(rules: Rules) -> bool:
    """Whether they can be laid out again: a list that was too long is noted by its digest."""
    return not any(text.startswith(_DIGEST) for _, text in rules)


def _list_files(repository: ProjectRepository) -> dict[str, Path]:
    files = {EXCLUDE: Path(repository.common_dir, "info", "exclude")} if repository.common_dir else {}
    if repository.excludes_file:
        files[PERSONS] = Path(repository.excludes_file)
    above = Path(repository.prefix).parents if repository.prefix else ()
    return files | {str(at / RULES_NAME): Path(repository.root, at, RULES_NAME) for at in above}


def _look_at(path: Path) -> _Look:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes() if path.is_file() else b""
    except OSError:
        return b""  # it excludes nothing


def _shorten(text: bytes) -> bytes:
    lines = b"\n".join(line for line in text.split(b"\n") if line and not line.startswith(b"#"))
    return lines if len(lines) <= _LONGEST else _DIGEST + hashlib.sha256(lines).hexdigest().encode()
