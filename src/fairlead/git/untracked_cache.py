"""When a look at the files may use git's untracked cache, which tells from a directory's own times that it holds no new
files: a third of the time of a look at many files.

1. It misses what does not change the times of the directory in which it is: a directory that cannot be opened is named
   only the first time, and one that becomes a repository, or is one no more, is taken for what it was. Where a look
   finds any of these, the next one does without the cache.
2. Git compares whole seconds. A file that comes in the second in which its directory was read would never be seen, once
   the index is written in a later second. So the index is dated back to before the look that filled the cache: git then
   reads every directory again that changed since, and every file.
3. The cache is made again now and then, and after many files were stored, so that little has changed since. What an
   earlier process left is not used.
"""

import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from fairlead.git.command import GitCalls, GitOutput, GitPlace

_LOOKS: Final = 16
"""So many looks, and the cache is made again. Git then also keeps what it learnt about files that were only touched."""
_MANY_STORED: Final = 300
_MARGIN_NS: Final = 2_000_000_000
"""The disk's own clock may be some moments behind."""
_WITHOUT: Final = (("core.untrackedCache", "false"),)
_READ_ONLY: Final = {"GIT_OPTIONAL_LOCKS": "0"}


class UntrackedCache:
    """Of one index, at `index`."""

    def __init__(self, index: Path) -> None:
        self._index = index
        self._left = 0
        self._stored = 0
        self._filled_ns: int | None = None
        self.is_trusted = True

    def look(self, calls: GitCalls, arguments: list[str], place: GitPlace) -> GitOutput:
        """Runs `git status` at `place`, whose configuration has the cache on."""
        if self._left <= 0 or self._stored > _MANY_STORED:
            return self._look_without(calls, arguments, place)
        self._left -= 1
        if not self.is_trusted:
            return calls.run(arguments, place=_change(place, _READ_ONLY, _WITHOUT))
        if self._filled_ns is None:
            return self._fill(calls, arguments, place)
        with suppress(FileNotFoundError):
            os.utime(self._index, ns=(self._filled_ns, self._filled_ns))
        return calls.run(arguments, place=_change(place, _READ_ONLY))

    def count_stored(self, files: int) -> None:
        self._stored += files

    def _look_without(self, calls: GitCalls, arguments: list[str], place: GitPlace) -> GitOutput:
        """Git writes the index without the cache, if it was there."""
        self._left, self._stored, self._filled_ns = _LOOKS, 0, None
        return calls.run(arguments, place=_change(place, {}, _WITHOUT))

    def _fill(self, calls: GitCalls, arguments: list[str], place: GitPlace) -> GitOutput:
        began_ns, before = time.time_ns(), self._look_at_index()
        ran = calls.run(arguments, place=place)
        if self._look_at_index() != before:
            self._filled_ns = began_ns - _MARGIN_NS
        return ran

    def _look_at_index(self) -> tuple[int, int] | None:
        try:
            found = self._index.stat()
        except FileNotFoundError:
            return None
        return found.st_ino, found.st_mtime_ns


def _change(place: GitPlace, variables: dict[str, str], config: tuple[tuple[str, str], ...] = ()) -> GitPlace:
    return msgspec.structs.replace(place, variables={**place.variables, **variables}, config=(*place.config, *config))
