"""What a snapshot does not hold although it may have been there: files that were too large, could not be read or were
in a repository of their own, and files that were ignored then. That such a path is in one snapshot and not in the other
says nothing about who made or removed it.

A commit names the paths that it leaves out. What was ignored is found by the rules of then, those that it holds and
those that it notes; but a path of which it notes that the person's git tracks it would be in it."""

import tempfile
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Final

from fairlead.git.command import GitCalls, GitPlace
from fairlead.git.file_names import join_names, split_names
from fairlead.git.ignore_rules import EXCLUDE, PERSONS, RULES_NAME, Rules, is_whole
from fairlead.git.private_repository import PrivateRepository, SnapshotNotes
from fairlead.git.snapshot_notes import read_notes, read_objects
from fairlead.git.tracked_files import is_named
from fairlead.git.tree_entries import ABSENT, Entry

_FILE_MODES: Final = ("100644", "100755")

Entries = Mapping[str, tuple[Entry, Entry]]


def find_doubtful(calls: GitCalls, repository: PrivateRepository, old: str, new: str, entries: Entries) -> set[str]:
    """Of the paths that differ, those that one of the two commits may lack only because it leaves them out: nobody
    knows what stood there then."""
    one_sided = {path: pair for path, pair in entries.items() if ABSENT in pair}
    if not one_sided:
        return set()
    was, now = read_notes(calls, repository, [old, new])
    found = {path for path, pair in one_sided.items() if _is_left_out(path, pair, was.gaps, now.gaps)}
    came = {path for path, (before, _) in one_sided.items() if before == ABSENT}
    went = one_sided.keys() - came
    if leave_out_the_same(was, now, entries):
        return found
    if _have_same_rules(was, now, entries) and is_named(was.tracked) and is_named(now.tracked):
        return found | came & (now.tracked - was.tracked) | went & (was.tracked - now.tracked)
    found |= _find_ignored(calls, repository, old, was, came - was.tracked)
    return found | _find_ignored(calls, repository, new, now, went - now.tracked)


def leave_out_the_same(was: SnapshotNotes, now: SnapshotNotes, paths: Collection[str]) -> bool:
    """Whether what is ignored in one is ignored in the other. `paths` are those that differ between the two."""
    return was.tracked == now.tracked and _have_same_rules(was, now, paths)


def _have_same_rules(was: SnapshotNotes, now: SnapshotNotes, paths: Collection[str]) -> bool:
    is_noted_same = was.rules == now.rules or was.rules is None or now.rules is None
    return is_noted_same and not any(path.rpartition("/")[2] == RULES_NAME for path in paths)


def _is_left_out(path: str, pair: tuple[Entry, Entry], old_gaps: frozenset[str], new_gaps: frozenset[str]) -> bool:
    before, after = pair
    return (before == ABSENT and _is_in(path, old_gaps)) or (after == ABSENT and _is_in(path, new_gaps))


def _is_in(path: str, gaps: frozenset[str]) -> bool:
    if not gaps:
        return False
    above = [str(directory) for directory in Path(path).parents[:-1]]
    return any(name in gaps or f"{name}/" in gaps for name in (path, *above))


def _find_ignored(
    calls: GitCalls, repository: PrivateRepository, commit: str, notes: SnapshotNotes, paths: Collection[str]
) -> set[str]:
    """Those that were ignored by the rules of this commit, which are laid out in directories of their own: a work tree
    without other files, and a repository without anything."""
    rules = repository.rules.note() if notes.rules is None else notes.rules
    if not paths:
        return set()
    if not is_whole(rules):
        return set(paths)
    with tempfile.TemporaryDirectory(prefix="fairlead-rules-") as directory:
        tree, own = Path(directory, "tree"), Path(directory, "git")
        _lay_out_files(calls, repository, commit, tree)
        persons = _lay_out_rules(rules, tree, own)
        place = GitPlace(
            directory=str(tree),
            variables={
                "GIT_DIR": str(own),
                "GIT_WORK_TREE": str(tree),
                "GIT_LITERAL_PATHSPECS": "0",  # check-ignore knows no literal ones
            },
            config=(*repository.repository.followed, ("core.bare", "false"), ("core.excludesFile", str(persons))),
        )
        asked = join_names([f"./{path}" for path in paths])
        out = calls.run(["check-ignore", "--no-index", "-z", "--stdin"], place=place, stdin=asked, codes=(0, 1)).stdout
    return {name.removeprefix("./") for name in split_names(out)}


def _lay_out_files(calls: GitCalls, repository: PrivateRepository, commit: str, tree: Path) -> None:
    """Each `.gitignore` of the commit."""
    tree.mkdir()
    listed = calls.run(["ls-tree", "-r", "-z", commit], place=repository.reading_place).stdout
    rules: dict[str, str] = {}
    for entry in split_names(listed):
        about, _, path = entry.partition("\t")
        mode, _, name = about.split(" ")
        if path.rpartition("/")[2] == RULES_NAME and mode in _FILE_MODES:
            rules[path] = name
    for path, data in zip(rules, read_objects(calls, repository, list(rules.values())), strict=True):
        _write_below(tree, path, data)


def _lay_out_rules(rules: Rules, tree: Path, own: Path) -> Path:
    """Returns where the person's own are, which count least."""
    for needed in ("objects", "refs", "info"):
        (own / needed).mkdir(parents=True)
    (own / "HEAD").write_text("ref: refs/heads/none\n")
    persons = own / "persons"
    places = {EXCLUDE: own / EXCLUDE, PERSONS: persons}
    for name, text in rules:
        path = places.get(name, tree / name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text + b"\n")
    return persons


def _write_below(directory: Path, path: str, data: bytes) -> None:
    target = directory / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(data)
