"""Snapshots of work trees and what changed between two of them, as facts. Knows no git and no file.

A path is text that people can read: bytes that are no text are written as `\\xff`, so such a name cannot be opened."""

from typing import Literal

import msgspec

from fairlead.core.ids import JobId

UncoveredReason = Literal["too large", "nested repository", "unreadable", "special file"]
ChangeKind = Literal["added", "modified", "deleted", "renamed", "copied", "type changed"]
Moment = Literal["start", "end"]
UndoneParts = Literal["both", "files", "talk"]
"""What is undone of a turn: what it changed in the files, what the agent remembers of it, or both."""


class UncoveredPath(msgspec.Struct, frozen=True, gc=False):
    """What a snapshot does not hold, so that nobody can tell whether it changed, and nothing brings it back."""

    path: str
    reason: UncoveredReason


class TreeSnapshot(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """The files of a work tree at one moment: `commit` is git's name for them. Two snapshots with the same `tree` hold
    the same files. `uncovered` names the first paths that it does not hold, `uncovered_more` counts the others."""

    commit: str
    tree: str
    uncovered: tuple[UncoveredPath, ...] = ()
    uncovered_more: int = 0


class FileChange(msgspec.Struct, frozen=True, omit_defaults=True, gc=False, kw_only=True):
    """One file between two snapshots. `added` and `removed` count lines; a binary file has none."""

    path: str
    kind: ChangeKind
    old_path: str = ""
    added: int = 0
    removed: int = 0
    is_binary: bool = False


class ChangeSummary(msgspec.Struct, frozen=True, omit_defaults=True, gc=False, kw_only=True):
    """What changed, in short: the first files, and how many there are in all."""

    files: tuple[FileChange, ...] = ()
    total: int = 0
    added: int = 0
    removed: int = 0


class TreeChanges(msgspec.Struct, frozen=True, omit_defaults=True, gc=False, kw_only=True):
    """What changed, in full. `diff` is a unified diff; `is_cut` says that it was too long and ends early."""

    files: tuple[FileChange, ...] = ()
    diff: str = ""
    is_cut: bool = False


class UndoPlan(msgspec.Struct, frozen=True, kw_only=True):
    """`before` is a snapshot of the files as they are; `after` is a commit of the files as they would be, empty if
    nothing would change. `conflicts` are paths that somebody has changed since: with one of them nothing is done.
    `left` are paths that stay, because no snapshot says how they were."""

    before: TreeSnapshot
    after: str = ""
    files: tuple[FileChange, ...] = ()
    conflicts: tuple[str, ...] = ()
    left: tuple[str, ...] = ()


class UndoNotice(msgspec.Struct, frozen=True, omit_defaults=True, gc=False, kw_only=True):
    """What a start says of an undo or redo that it found half done: the person who asked has had no reply. With a
    `code`, why it could not be finished; with `is_open` besides, it can still be."""

    undo_id: str
    person: str
    job_ids: tuple[JobId, ...]
    what: UndoneParts = "both"
    is_redo: bool = False
    total: int = 0
    is_set_back: bool = False
    left: tuple[str, ...] = ()
    code: str = ""
    is_open: bool = False


def do_overlap(one: str, other: str) -> bool:
    """Whether a file may be in both directories: they are the same, or one is a part of the other."""
    return f"{one}/".startswith(f"{other}/") or f"{other}/".startswith(f"{one}/")


def summarise(files: tuple[FileChange, ...], most: int) -> ChangeSummary:
    return ChangeSummary(
        files=files[:most],
        total=len(files),
        added=sum(file.added for file in files),
        removed=sum(file.removed for file in files),
    )
