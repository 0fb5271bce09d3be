"""Plans which files go back to an earlier snapshot, and which have been changed since by somebody else. Writes no file.

A step goes from the end of a turn to its start. A path that the turn changed goes back if it still is as the turn left
it; if it is as it was before the turn, there is nothing to do; anything else is a conflict, and then nothing is done.
A path of which no snapshot says how it was before or is now, because it is ignored for example, is left as it is, and
named.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from fairlead.git.command import GitCalls
from fairlead.git.private_repository import PrivateRepository
from fairlead.git.snapshot_gaps import Entries, find_doubtful
from fairlead.git.snapshot_notes import make_message, read_notes
from fairlead.git.tree_entries import ABSENT, Entry, list_entries
from fairlead.git.tree_files import WorkFiles, find_obstacles
from fairlead.git.tree_status import FileLimits

_INDEX: Final = "undo-index"
_LARGEST: Final = FileLimits().largest


class PlannedFiles(msgspec.Struct, frozen=True, kw_only=True):
    """`after` is the commit of the files as they should be; `conflicts` and `left` are paths from the root of the work
    tree."""

    after: str = ""
    conflicts: tuple[str, ...] = ()
    left: tuple[str, ...] = ()


def plan_files(
    calls: GitCalls, repository: PrivateRepository, present: str, steps: Sequence[tuple[str, str]], label: str
) -> PlannedFiles:
    """`present` is a snapshot of the files as they are now. Without an `after`, nothing is to be done."""
    root = repository.repository.root
    files = WorkFiles.of(repository.repository)
    found: dict[str, Entry] = {}
    wanted: dict[str, Entry] = {}
    conflicts: set[str] = set()
    left: dict[str, Entry] = {}
    for end, start in steps:
        changed = list_entries(calls, repository, start, end)
        since = list_entries(calls, repository, end, present)
        doubtful = find_doubtful(calls, repository, start, end, changed)
        doubtful |= find_doubtful(calls, repository, end, present, since) & changed.keys()
        doubtful |= _find_left_out(files, since) & changed.keys()
        doubtful = {path for path in doubtful if os.path.lexists(Path(root, path))}  # else there is nothing to lose
        left |= {path: changed[path][0] for path in doubtful}
        for path, (was, left_as) in changed.items():
            if path in doubtful:
                continue
            present_entry = found.setdefault(path, since[path][1] if path in since else left_as)
            now = wanted.get(path, present_entry)
            if now in {left_as, was}:
                wanted[path] = was
            else:
                conflicts.add(path)
    wanted = {path: entry for path, entry in wanted.items() if entry != found[path]}
    if not conflicts:
        conflicts.update(find_obstacles(root, wanted))
    if conflicts:
        return PlannedFiles(conflicts=tuple(sorted(conflicts)))
    after = _commit(calls, repository, present, wanted, label) if wanted else ""
    named = sorted(path for path, was in left.items() if not _stands(files, Path(root, path), path, was))
    return PlannedFiles(after=after, left=tuple(named))


def _find_left_out(files: WorkFiles, since: Entries) -> set[str]:
    """What the present snapshot lacks although it is there. An undo may have written files that are ignored since, and
    its commit holds them without a note of it."""
    return {path for path, (_, now) in since.items() if now == ABSENT and files.has_file(path)}


def _stands(files: WorkFiles, at: Path, path: str, wanted: Entry) -> bool:
    """Whether this is what stands there already. A file that is too large to be in a snapshot is not read."""
    try:
        return wanted != ABSENT and at.lstat().st_size <= _LARGEST and files.is_like(files.find(path), wanted)
    except OSError:
        return False


def _commit(calls: GitCalls, repository: PrivateRepository, present: str, wanted: dict[str, Entry], label: str) -> str:
    """The present files with those that go back, in an index of their own. What goes is removed first: a directory may
    stand where a file was."""
    # What is stored elsewhere must not be on a ref of the project's repository.
    place = repository.place_with_index(_INDEX)
    index = repository.directory / _INDEX
    index.unlink(missing_ok=True)
    calls.run(["read-tree", present], place=place)
    ordered = sorted(wanted.items(), key=lambda item: item[1] != ABSENT)
    nothing = "0" * len(present)
    lines = (
        f"{entry.mode} {nothing if entry == ABSENT else entry.name}\t".encode() + os.fsencode(path) + b"\0"
        for path, entry in ordered
    )
    calls.run(["update-index", "-z", "--index-info"], place=place, stdin=b"".join(lines))
    tree = calls.run(["write-tree"], place=place).line
    index.unlink(missing_ok=True)
    (notes,) = read_notes(calls, repository, [present])
    return calls.run(["commit-tree", tree], place=place, stdin=make_message(label, notes)).line
