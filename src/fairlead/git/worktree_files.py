"""The directories of worktrees on disk: made for agents to work in, set aside whole, removed. Knows no repository."""

import os
import shutil
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Final

PASSABLE: Final = 0o711
PRIVATE: Final = 0o700
_ASIDE: Final = ".discarded"


class WorktreeFiles:
    """`prepare` lets agents that run as another user into an empty directory, `give` into all that git wrote since.
    `remove_theirs` removes what only they may remove."""

    def __init__(
        self,
        *,
        prepare: Callable[[Path], None] | None = None,
        give: Callable[[Path], None] | None = None,
        remove_theirs: Callable[[Path], None] | None = None,
    ) -> None:
        self._prepare = prepare
        self._give = give
        self._remove_theirs = remove_theirs

    def make(self, path: str) -> None:
        """An empty directory for a worktree. Who may not list the ones above it may pass through them."""
        target = Path(path)
        mode = PASSABLE if self._prepare is not None else PRIVATE
        for directory in (target.parent.parent, target.parent):
            if not directory.is_dir():
                directory.mkdir(parents=True)
                directory.chmod(mode)
        target.mkdir(mode=PRIVATE, exist_ok=True)
        if self._prepare is not None:
            self._prepare(target)

    def share(self, path: str) -> None:
        """After git wrote there."""
        if self._give is not None:
            self._give(Path(path))

    def set_aside(self, path: str) -> None:
        """In one step: the directory is whole before it, and gone after it."""
        self.remove_aside(path)
        Path(path).rename(f"{path}{_ASIDE}")

    def remove_aside(self, path: str) -> None:
        self.remove(f"{path}{_ASIDE}")

    def remove(self, path: str) -> None:
        if not os.path.lexists(path):
            return
        try:
            shutil.rmtree(path, onerror=_make_writable_and_retry)
        except PermissionError:
            if self._remove_theirs is None:
                raise
            self._remove_theirs(Path(path))


def _make_writable_and_retry(function: Callable[[str], object], path: str, _fault: object) -> None:
    """Build tools leave directories that nobody may write."""
    for place in (Path(path).parent, Path(path)):
        if place.is_dir() and not place.is_symlink():
            place.chmod(place.stat().st_mode | stat.S_IRWXU)
    if Path(path).is_dir() and not Path(path).is_symlink():
        shutil.rmtree(path)
    else:
        function(path)
