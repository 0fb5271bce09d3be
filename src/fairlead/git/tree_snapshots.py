"""Takes snapshots of a project's files: real git, a private index, one commit without a parent. In a thread; the caller
holds the project's lock.

A commit without a parent holds nothing but its own files: when its ref goes, so does whatever no other snapshot has.
"""

import os
import time
from typing import Final

import msgspec

from fairlead.core.trees import TreeSnapshot, UncoveredPath
from fairlead.git.command import GitCalls, GitFailed
from fairlead.git.file_names import join_names, show_name
from fairlead.git.private_repository import LastSnapshot, PrivateRepository, SnapshotNotes
from fairlead.git.snapshot_notes import make_message, read_notes
from fairlead.git.tracked_files import note_tracked
from fairlead.git.tracked_status import read_tracked
from fairlead.git.tree_stamp import stamp_tree
from fairlead.git.tree_status import FileLimits, TreeStatus, read_status

_ATTEMPTS: Final = 3
"""Files may vanish, or become directories, between the look and the reading."""
_AT_ONCE: Final = 4000
"""So many files are read before the index is written: a snapshot that is ended has then not worked for nothing."""
_NAMED_UNCOVERED: Final = 20
_PRUNED: Final = "1.hour.ago"
"""A snapshot that was taken and is not kept yet must stay."""
OUR_REFS: Final = "refs/fairlead"
FEW_ENTRIES: Final = 100
QUICK_SEC: Final = 0.005
"""A tree with so few entries that were looked at in so short a time may be looked at while people wait."""


class TooMuch(Exception):  # noqa: N818 - says what is wrong
    """There is more to store than a snapshot may."""


def take_snapshot(calls: GitCalls, repository: PrivateRepository, limits: FileLimits, message: str) -> TreeSnapshot:
    """Raises TooMuch, GitFailed, OSError. If the objects of the last snapshot are gone, every file is read again."""
    began = time.perf_counter()
    stamp = stamp_tree(repository)
    is_small = stamp is not None and len(stamp.looks) <= FEW_ENTRIES
    repository.is_quick = is_small and time.perf_counter() - began < QUICK_SEC
    same = repository.find_same(stamp)
    if same is not None:
        return same
    repository.follow_excludes()
    try:
        taken = _take(calls, repository, limits, message)
    except GitFailed as fault:
        if fault.is_disk_full:
            raise
        repository.forget_last()
        taken = _take(calls, repository, limits, message)
    repository.remember_stamp(stamp, taken)
    return taken


def find_unchanged(repository: PrivateRepository) -> TreeSnapshot | None:
    """The last snapshot, if the files are certainly still so. Runs no git, and is meant for trees that are small."""
    return repository.find_same(stamp_tree(repository))


def _take(calls: GitCalls, repository: PrivateRepository, limits: FileLimits, message: str) -> TreeSnapshot:
    last_notes = _read_last_notes(calls, repository)
    rules = repository.rules.note()
    status = _follow_files(calls, repository, limits)
    has_new_rules = status.has_new_rules or last_notes.rules != rules
    status = _follow_tracked(calls, repository, limits, status, has_new_rules=has_new_rules)
    tracked = note_tracked(repository.tracked.paths, last_notes.tracked, repository.repository.root)
    last, notes = repository.last, SnapshotNotes(frozenset(status.uncovered), rules, tracked)
    tree = last.tree if last is not None and status.is_clean else _write_tree(calls, repository)
    if last is None or last.tree != tree or last_notes != notes:
        last = LastSnapshot(_commit(calls, repository, tree, make_message(message, notes)), tree, notes)
        repository.remember(last)
    uncovered = sorted(status.uncovered.items())
    return TreeSnapshot(
        commit=last.commit,
        tree=last.tree,
        uncovered=tuple(UncoveredPath(show_name(path), reason) for path, reason in uncovered[:_NAMED_UNCOVERED]),
        uncovered_more=max(0, len(uncovered) - _NAMED_UNCOVERED),
    )


def _read_last_notes(calls: GitCalls, repository: PrivateRepository) -> SnapshotNotes:
    last = repository.last
    if last is None:
        return SnapshotNotes()
    if last.notes is not None:
        return last.notes
    (notes,) = read_notes(calls, repository, [last.commit])
    repository.last = msgspec.structs.replace(last, notes=notes)
    return notes


def _follow_tracked(
    calls: GitCalls, repository: PrivateRepository, limits: FileLimits, status: TreeStatus, *, has_new_rules: bool
) -> TreeStatus:
    """Of what is ignored, the index holds what the person's index has. Git ignores only what its index does not have;
    ours has all that was not ignored by earlier rules."""
    found = read_tracked(calls, repository, limits, status, has_new_rules=has_new_rules)
    _check_size(status.new_bytes + found.new_bytes, limits)
    if not found.is_clean:
        _update_index(calls, repository, found)
    uncovered = status.uncovered | found.uncovered
    return msgspec.structs.replace(status, uncovered=uncovered, is_clean=status.is_clean and found.is_clean)


def _write_tree(calls: GitCalls, repository: PrivateRepository) -> str:
    return calls.run(["write-tree"], place=repository.place).line


def _commit(calls: GitCalls, repository: PrivateRepository, tree: str, message: bytes) -> str:
    return calls.run(["commit-tree", tree], place=repository.place, stdin=message).line


def _follow_files(calls: GitCalls, repository: PrivateRepository, limits: FileLimits) -> TreeStatus:
    """The index holds what the work tree has. Returns what differed."""
    for attempt in range(_ATTEMPTS):
        status = read_status(calls, repository, limits)
        _check_size(status.new_bytes, limits)
        try:
            _update_index(calls, repository, status)
        except GitFailed as fault:
            if fault.is_disk_full or attempt == _ATTEMPTS - 1:
                raise
        else:
            return status
    raise AssertionError("the last attempt returns or raises")


def _check_size(new_bytes: int, limits: FileLimits) -> None:
    if new_bytes > limits.most_new:
        raise TooMuch(f"{new_bytes // (1024 * 1024)} MB of files are new")


def _update_index(calls: GitCalls, repository: PrivateRepository, status: TreeStatus) -> None:
    place, tracked = repository.place, repository.tracked
    held, tracked.held = tracked.held, None  # nobody knows, if git is ended before all is done
    if status.dropped:
        calls.run(["update-index", "-z", "--force-remove", "--stdin"], place=place, stdin=join_names(status.dropped))
    for first in range(0, len(status.stored), _AT_ONCE):
        names = join_names(status.stored[first : first + _AT_ONCE])
        calls.run(["update-index", "-z", "--add", "--remove", "--replace", "--stdin"], place=place, stdin=names)
    repository.cache.count_stored(len(status.stored))
    if held is not None:
        tracked.held = held.difference(status.dropped) | tracked.find_present(repository.repository.root, status.stored)


def keep(calls: GitCalls, repository: PrivateRepository, refs: dict[str, str]) -> None:
    """Put commits on refs, all or none. Until then, nothing keeps git from removing them in some weeks."""
    lines = (b"update " + os.fsencode(ref) + b"\0" + commit.encode() + b"\0\0" for ref, commit in refs.items())
    calls.run(["update-ref", "-z", "--stdin"], place=repository.refs_place, stdin=b"".join(lines))


def find_commits(calls: GitCalls, repository: PrivateRepository, refs: dict[str, str]) -> dict[str, str]:
    """Those whose commits are there."""
    asked = "".join(f"{commit}\n" for commit in refs.values()).encode()
    told = calls.run(["cat-file", "--batch-check"], place=repository.refs_place, stdin=asked).line.splitlines()
    found = zip(refs.items(), told, strict=True)
    return {ref: commit for (ref, commit), line in found if line == f"{commit} commit {line.rpartition(' ')[2]}"}


def list_refs(calls: GitCalls, repository: PrivateRepository, below: str) -> dict[str, str]:
    """Our refs, and the commits that they are on."""
    asked = ["for-each-ref", "--format=%(objectname) %(refname)", below]
    lines = calls.run(asked, place=repository.refs_place).line.splitlines()
    return {ref: commit for commit, _, ref in (line.partition(" ") for line in lines)}


def forget(calls: GitCalls, repository: PrivateRepository, refs: list[str]) -> None:
    lines = (b"delete " + os.fsencode(ref) + b"\0\0" for ref in refs)
    calls.run(["update-ref", "-z", "--stdin"], place=repository.refs_place, stdin=b"".join(lines))
    if repository.stores_here:
        calls.run(["gc", "-q", f"--prune={_PRUNED}"], place=repository.refs_place)


def measure(calls: GitCalls, repository: PrivateRepository, refs: list[str]) -> int:
    """The bytes in the project's repository that are there for our refs alone."""
    if repository.stores_here or not refs:
        return 0
    ours = [f"--glob={OUR_REFS}/*", "--not", f"--exclude={OUR_REFS}/*", "--all"]
    asked = ["rev-list", "--objects-edge-aggressive", "--disk-usage", *ours]
    # It names the commits at the edge first.
    return int(calls.run(asked, place=repository.refs_place).line.splitlines()[-1])
