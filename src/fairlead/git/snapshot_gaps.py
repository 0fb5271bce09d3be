"""What a snapshot does not hold although it may have been there: files that were too large, could not be read or were
in a repository of their own, and files that were ignored then. That such a path is in one snapshot and not in the other
says nothing about who made or removed it.

A commit names, below its label, the paths that it leaves out; what was ignored is found by the rules that it holds."""

import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final
from urllib.parse import quote_from_bytes, unquote_to_bytes

import msgspec

from fairlead.git.command import GitCalls, GitFailed
from fairlead.git.file_names import join_names, split_names
from fairlead.git.private_repository import PrivateRepository
from fairlead.git.tree_entries import ABSENT, Entry

_HEAD: Final = "Not stored:"
_READABLE: Final = " /!#$&'()+,:;=@[]~"
_RULES: Final = ".gitignore"
_FILE_MODES: Final = ("100644", "100755")


def make_message(label: str, uncovered: Iterable[str]) -> bytes:
    named = [quote_from_bytes(os.fsencode(path), safe=_READABLE) for path in sorted(uncovered)]
    return "\n".join([label, "", _HEAD, *named, ""] if named else [label, ""]).encode()


def read_gaps(calls: GitCalls, repository: PrivateRepository, commits: Sequence[str]) -> list[frozenset[str]]:
    """For each commit the paths that it leaves out, from the work tree's root. A directory stands for what is in it."""
    return [_read_message(data) for data in _read_objects(calls, repository, commits)]


def _read_message(commit: bytes) -> frozenset[str]:
    _, _, message = commit.partition(b"\n\n")
    _, _, listed = message.partition(f"\n\n{_HEAD}\n".encode())
    return frozenset(os.fsdecode(unquote_to_bytes(line)) for line in listed.split(b"\n") if line)


def _read_objects(calls: GitCalls, repository: PrivateRepository, names: Sequence[str]) -> list[bytes]:
    asked = "".join(f"{name}\n" for name in names).encode()
    out = calls.run(["cat-file", "--batch"], place=repository.reading_place, stdin=asked).stdout
    found: list[bytes] = []
    at = 0
    for _ in names:
        end = out.index(b"\n", at)
        if out[at:end].endswith(b" missing"):
            raise GitFailed(["cat-file"], 1, "bad object: it is missing")
        size = int(out[at:end].rsplit(b" ", 1)[1])
        found.append(out[end + 1 : end + 1 + size])
        at = end + 1 + size + 1
    return found


def find_doubtful(
    calls: GitCalls, repository: PrivateRepository, old: str, new: str, entries: Mapping[str, tuple[Entry, Entry]]
) -> set[str]:
    """Of the paths that differ, those that one of the two commits may lack only because it leaves them out: nobody
    knows what stood there then."""
    one_sided = {path: pair for path, pair in entries.items() if ABSENT in pair}
    if not one_sided:
        return set()
    gaps = read_gaps(calls, repository, [old, new])
    found = {path for path, pair in one_sided.items() if is_doubtful(path, pair, *gaps)}
    if any(path.rpartition("/")[2] == _RULES for path in entries):
        came = [path for path, (before, _) in one_sided.items() if before == ABSENT]
        found |= _find_ignored(calls, repository, old, came)
    return found


def is_doubtful(path: str, pair: tuple[Entry, Entry], old_gaps: frozenset[str], new_gaps: frozenset[str]) -> bool:
    before, after = pair
    return (before == ABSENT and _is_in(path, old_gaps)) or (after == ABSENT and _is_in(path, new_gaps))


def _is_in(path: str, gaps: frozenset[str]) -> bool:
    if not gaps:
        return False
    above = [str(directory) for directory in Path(path).parents[:-1]]
    return any(name in gaps or f"{name}/" in gaps for name in (path, *above))


def _find_ignored(calls: GitCalls, repository: PrivateRepository, commit: str, paths: list[str]) -> set[str]:
    """Those that were ignored by the rules of this commit, which are laid out in a directory of their own."""
    if not paths:
        return set()
    with tempfile.TemporaryDirectory(prefix="fairlead-rules-") as directory:
        _lay_out_rules(calls, repository, commit, Path(directory))
        place = repository.place
        own = {"GIT_WORK_TREE": directory, "GIT_LITERAL_PATHSPECS": "0"}  # check-ignore knows no literal ones
        place = msgspec.structs.replace(place, directory=directory, variables={**place.variables, **own})
        asked = join_names([f"./{path}" for path in paths])
        out = calls.run(["check-ignore", "--no-index", "-z", "--stdin"], place=place, stdin=asked, codes=(0, 1)).stdout
    return {name.removeprefix("./") for name in split_names(out)}


def _lay_out_rules(calls: GitCalls, repository: PrivateRepository, commit: str, directory: Path) -> None:
    listed = calls.run(["ls-tree", "-r", "-z", commit], place=repository.reading_place).stdout
    rules: dict[str, str] = {}
    for entry in split_names(listed):
        about, _, path = entry.partition("\t")
        mode, _, name = about.split(" ")
        if path.rpartition("/")[2] == _RULES and mode in _FILE_MODES:
            rules[path] = name
    for path, data in zip(rules, _read_objects(calls, repository, list(rules.values())), strict=True):
        _write_below(directory, path, data)
    for path in _rules_above(repository):
        _write_below(directory, path, Path(repository.repository.root, path).read_bytes())


def _rules_above(repository: PrivateRepository) -> list[str]:
    """A project that is a part of a repository has no snapshot of the rules above it."""
    prefix = repository.repository.prefix
    above = Path(prefix).parents if prefix else ()
    paths = [str(directory / _RULES) for directory in above]
    return [path for path in paths if Path(repository.repository.root, path).is_file()]


def _write_below(directory: Path, path: str, data: bytes) -> None:
    target = directory / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(data)
