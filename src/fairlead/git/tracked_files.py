"""The files that the person's own index has although rules ignore them: committed, or added with `git add -f`.

The index is the person's, and an agent can write it. It is only read, by our configuration and not by that of its
repository, and its names are believed only if they lead to a place below the work tree that is not git's or ours.
"""

import hashlib
import os
import stat
from collections.abc import Iterable
from typing import Final

from fairlead.git.command import GitCalls, GitFailed, GitPlace
from fairlead.git.file_names import split_names

LONGEST: Final = 32 * 1024
_DIGEST: Final = "// too many to be noted; sha256 "
"""No path begins like this."""
_NO_NAMES: Final = frozenset({"", ".", "..", ".git"})

_Look = tuple[int, int, int, int]
_NEVER: Final[_Look] = (-1, -1, -1, -1)


class TrackedFiles:
    """`index` is the person's; empty if there is none. `own` are directories below the root of the work tree that are
    no part of the project. `held` are the ignored files that our own index has; None if nobody knows."""

    def __init__(self, index: str, own: Iterable[str]) -> None:
        self.paths: frozenset[str] = frozenset()
        self.held: frozenset[str] | None = None
        self._index = index
        self._own = tuple(f"{directory}/" for directory in own)
        self._look: _Look | None = _NEVER

    def read(self, calls: GitCalls, place: GitPlace, prefix: str, *, has_new_rules: bool) -> None:
        """Git is asked only if the index or the rules changed. An index that cannot be read has no files."""
        look = _look_at(self._index)
        if look == self._look and not has_new_rules:
            return
        self._look = _NEVER
        try:
            found = list_ignored(calls, place, prefix) if look is not None else []
        except GitFailed:
            found = []
        self.paths = frozenset(path for path in found if self._is_of_project(path))
        self._look = look

    def find_present(self, root: str, stored: Iterable[str]) -> frozenset[str]:
        """Of what was stored, the files that are tracked though ignored. One that vanished meanwhile was not stored."""
        return frozenset(path for path in self.paths.intersection(stored) if os.path.lexists(f"{root}/{path}"))

    def _is_of_project(self, path: str) -> bool:
        return _NO_NAMES.isdisjoint(path.lower().split("/")) and not path.startswith(self._own)


def list_ignored(calls: GitCalls, place: GitPlace, prefix: str) -> list[str]:
    """What the index at `place` has although rules ignore it."""
    asked = ["ls-files", "-z", "--cached", "--ignored", "--exclude-standard", *(["--", prefix] if prefix else [])]
    return split_names(calls.run(asked, place=place).stdout)


def note_tracked(paths: frozenset[str], noted: frozenset[str], root: str) -> frozenset[str]:
    """What a snapshot notes of them: of a path in it that it does not hold, it is certain that nothing stands there.
    Whatever `noted`, the last snapshot's, has and is gone by now stays in it. A list that is too long is noted by its
    digest."""
    earlier = noted - paths if is_named(noted) else ()
    named = paths.union(path for path in earlier if not os.path.lexists(f"{root}/{path}"))
    joined = b"\0".join(sorted(map(os.fsencode, named)))
    return named if len(joined) <= LONGEST else frozenset({_DIGEST + hashlib.sha256(joined).hexdigest()})


def is_named(noted: frozenset[str]) -> bool:
    return not any(path.startswith(_DIGEST) for path in noted)


def _look_at(index: str) -> _Look | None:
    """None where there is none, or no file: git would wait for a pipe."""
    try:
        found = os.stat(index)  # noqa: PTH116 - before every turn, where a Path takes longer
    except OSError:
        return None
    is_file = stat.S_ISREG(found.st_mode)
    return (found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns) if is_file else None
