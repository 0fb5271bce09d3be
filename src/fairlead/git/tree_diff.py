"""What changed between two snapshots, by one `git diff`. No external diff and no converter of the project runs."""

import os
import re
from collections.abc import Collection
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from fairlead.core.trees import ChangeKind, FileChange, TreeChanges
from fairlead.git.command import GitCalls, GitPlace
from fairlead.git.file_names import show_name
from fairlead.git.private_repository import PrivateRepository
from fairlead.git.snapshot_gaps import find_doubtful, leave_out_the_same
from fairlead.git.snapshot_notes import read_notes
from fairlead.git.tree_entries import list_entries

_DIFF: Final = (
    # `diff` is quicker than `diff-tree` by a tenth, and short names of objects take another one.
    *("diff", "-M", "-z", "--raw", "--full-index", "--no-ext-diff", "--no-textconv"),
    *("--ignore-submodules=none", "--submodule=short", "--no-color", "--src-prefix=a/", "--dst-prefix=b/"),
)
_KINDS: Final[dict[str, ChangeKind]] = {
    "A": "added",
    "M": "modified",
    "D": "deleted",
    "R": "renamed",
    "C": "copied",
    "T": "type changed",
}
_ONE_SIDED: Final = frozenset({"added", "deleted", "renamed", "copied"})
_MOST_LEFT_OUT: Final = 1000
MOST_DIFF: Final = 8 * 1024 * 1024
_HEAD: Final = b"\ndiff --git "
_OBJECTS: Final = re.compile(rb"^(index )([0-9a-f]{7})[0-9a-f]{33,57}\.\.([0-9a-f]{7})[0-9a-f]{33,57}", re.MULTILINE)

_Named = tuple[ChangeKind, str, str]
"""What happened to a file, the name that it had before a rename, and its name."""


class _Count(NamedTuple):
    added: int
    removed: int
    is_binary: bool


def list_changes(calls: GitCalls, repository: PrivateRepository, before: str, after: str) -> tuple[FileChange, ...]:
    """The files alone; paths from the project's directory. What one snapshot leaves out is no change."""
    files = _list(calls, repository, before, after)
    without = _find_left_out(calls, repository, before, after, files)
    return _list(calls, repository, before, after, without) if without else files


def show_changes(calls: GitCalls, repository: PrivateRepository, before: str, after: str) -> TreeChanges:
    """With the diff, cut at a line end if it is very long; the list of files is always whole."""
    shown = _show(calls, repository, before, after)
    without = _find_left_out(calls, repository, before, after, shown.files)
    return _show(calls, repository, before, after, without) if without else shown


def _find_left_out(
    calls: GitCalls, repository: PrivateRepository, before: str, after: str, files: tuple[FileChange, ...]
) -> tuple[str, ...]:
    """Of a file that grew too large, or that is ignored now, nobody may say that it was deleted."""
    if not any(file.kind in _ONE_SIDED for file in files):
        return ()
    was, now = read_notes(calls, repository, [before, after])
    if not was.gaps and not now.gaps and leave_out_the_same(was, now, [file.path for file in files]):
        return ()
    entries = list_entries(calls, repository, before, after)
    doubtful = find_doubtful(calls, repository, before, after, entries)
    return _join_directories(doubtful, entries.keys() - doubtful)


def _join_directories(paths: set[str], others: Collection[str]) -> tuple[str, ...]:
    """A directory instead of all the paths in it, where it holds none of the others: git takes only so many."""
    taken = {directory for path in others for directory in Path(path).parents}
    joined = (next((d for d in reversed(Path(path).parents[:-1]) if d not in taken), path) for path in paths)
    return tuple(sorted(set(map(str, joined))))


def _list(
    calls: GitCalls, repository: PrivateRepository, before: str, after: str, without: tuple[str, ...] = ()
) -> tuple[FileChange, ...]:
    arguments = [*_DIFF, "--numstat", *_below(repository), before, after, *_all_but(without)]
    return _read_files(calls.run(arguments, place=_place(repository)).stdout)


def _show(
    calls: GitCalls, repository: PrivateRepository, before: str, after: str, without: tuple[str, ...] = ()
) -> TreeChanges:
    """Lines are counted in the diff, because git would compare every file a second time for their number."""
    arguments = [*_DIFF, "--patch", *_below(repository), before, after, *_all_but(without)]
    ran = calls.run(arguments, place=_place(repository), most=MOST_DIFF)
    head, _, diff = ran.stdout.partition(b"\0\0")
    if ran.is_cut:
        diff = diff[: diff.rfind(b"\n") + 1]
    named = _read_names(os.fsdecode(head).split("\0"))
    counts = None if ran.is_cut else _count_lines(diff, named)
    files = _list(calls, repository, before, after, without) if counts is None else _make_changes(named, counts)
    return TreeChanges(files=files, diff=_text(diff), is_cut=ran.is_cut)


def _place(repository: PrivateRepository) -> GitPlace:
    """Where paths can be left out."""
    place = repository.reading_place
    return msgspec.structs.replace(place, variables={**place.variables, "GIT_LITERAL_PATHSPECS": "0"})


def _all_but(paths: tuple[str, ...]) -> list[str]:
    return ["--", ":/", *(f":(top,exclude,literal){path}" for path in paths[:_MOST_LEFT_OUT])] if paths else []


def _count_lines(diff: bytes, named: list[_Named]) -> list[_Count] | None:
    """For each file in its part of the diff. A file's own lines begin with a sign, so none looks like the head of a
    part. None if there are not as many parts as there must be."""
    parts = (b"\n" + diff).split(_HEAD)[1:]
    needed = sum(2 if kind == "type changed" else 1 for kind, _, _ in named)
    if len(parts) != needed:
        return None
    found = iter(map(_count_part, parts))
    return [_join(next(found), next(found)) if kind == "type changed" else next(found) for kind, _, _ in named]


def _count_part(part: bytes) -> _Count:
    head, _, lines = part.partition(b"\n@@ ")
    return _Count(lines.count(b"\n+"), lines.count(b"\n-"), is_binary=b"\nBinary files " in head)


def _below(repository: PrivateRepository) -> list[str]:
    prefix = repository.repository.prefix
    return [f"--relative={prefix}/"] if prefix else []


def _text(diff: bytes) -> str:
    """With names of objects as short as people know them; nothing but git reads them."""
    return _OBJECTS.sub(rb"\1\2..\3", diff).decode("utf-8", "backslashreplace")


def _join(removal: _Count, addition: _Count) -> _Count:
    """Of a file that became a link, or the other way round: git shows that as two."""
    is_binary = removal.is_binary or addition.is_binary
    return _Count(0 if is_binary else addition.added, 0 if is_binary else removal.removed, is_binary=is_binary)


def _read_files(out: bytes) -> tuple[FileChange, ...]:
    """Of `--raw --numstat -z`: first the raw entries, then as many counts, in the same order."""
    fields = os.fsdecode(out).split("\0")
    named = _read_names(fields)
    at = sum(3 if old else 2 for _, old, _ in named)
    counts: list[_Count] = []
    while len(counts) < len(named) and at < len(fields):
        added, removed, path = fields[at].split("\t", 2)
        is_binary = added == "-"
        counts.append(_Count(0 if is_binary else int(added), 0 if is_binary else int(removed), is_binary=is_binary))
        at += 1 if path else 3
    return _make_changes(named, counts)


def _read_names(fields: list[str]) -> list[_Named]:
    """Of `--raw -z`, at its beginning. A rename has two paths, each with its own NUL."""
    named: list[_Named] = []
    at = 0
    while at < len(fields) and fields[at].startswith(":"):
        letter = fields[at].rpartition(" ")[2][:1]
        is_pair = letter in {"R", "C"}
        old, new = fields[at + 1], fields[at + (2 if is_pair else 1)]
        named.append((_KINDS.get(letter, "modified"), old if is_pair else "", new))
        at += 3 if is_pair else 2
    return named


def _make_changes(named: list[_Named], counts: list[_Count]) -> tuple[FileChange, ...]:
    return tuple(
        FileChange(
            path=show_name(new),
            kind=kind,
            old_path=show_name(old),
            added=count.added,
            removed=count.removed,
            is_binary=count.is_binary,
        )
        for (kind, old, new), count in zip(named, counts, strict=True)
    )
