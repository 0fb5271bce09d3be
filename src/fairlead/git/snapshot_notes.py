"""What the commit of a snapshot says below its label: the paths that it leaves out, the rules of ignoring that stand
outside of its files, and the paths that the person's git tracks although rules ignore them. Names are quoted: a
commit's message is text, and the name of a file need not be."""

import os
from collections.abc import Sequence
from typing import Final
from urllib.parse import quote_from_bytes, unquote_to_bytes

from fairlead.git.command import GitCalls, GitFailed
from fairlead.git.ignore_rules import Rules
from fairlead.git.private_repository import PrivateRepository, SnapshotNotes

_GAPS: Final = "Not stored:"
_RULES: Final = "Ignored besides:"
_TRACKED: Final = "Tracked though ignored:"
_READABLE: Final = "/!#$&'()+,:;=@[]~"


def make_message(label: str, notes: SnapshotNotes) -> bytes:
    parts = [label]
    if notes.gaps:
        parts.append(_list_paths(_GAPS, notes.gaps))
    if notes.rules is not None:
        quoted = (tuple(quote_from_bytes(part, safe=_READABLE) for part in (os.fsencode(n), t)) for n, t in notes.rules)
        parts.append("\n".join([_RULES, *(f"{name} {text}" for name, text in quoted)]))
    if notes.tracked:
        parts.append(_list_paths(_TRACKED, notes.tracked))
    return ("\n\n".join(parts) + "\n").encode()


def _list_paths(head: str, paths: frozenset[str]) -> str:
    named = (quote_from_bytes(os.fsencode(path), safe=f" {_READABLE}") for path in sorted(paths))
    return "\n".join([head, *named])


def read_notes(calls: GitCalls, repository: PrivateRepository, commits: Sequence[str]) -> list[SnapshotNotes]:
    return [_read_message(data) for data in read_objects(calls, repository, commits)]


def _read_message(commit: bytes) -> SnapshotNotes:
    gaps: frozenset[str] = frozenset()
    tracked: frozenset[str] = frozenset()
    rules: Rules | None = None
    for part in commit.removesuffix(b"\n").split(b"\n\n")[2:]:
        head, *lines = part.split(b"\n")
        if head == _GAPS.encode():
            gaps = _read_paths(lines)
        elif head == _TRACKED.encode():
            tracked = _read_paths(lines)
        elif head == _RULES.encode():
            pairs = (line.split(b" ") for line in lines)
            rules = tuple((os.fsdecode(unquote_to_bytes(name)), unquote_to_bytes(text)) for name, text in pairs)
    return SnapshotNotes(gaps, rules, tracked)


def _read_paths(lines: list[bytes]) -> frozenset[str]:
    return frozenset(os.fsdecode(unquote_to_bytes(line)) for line in lines)


def read_objects(calls: GitCalls, repository: PrivateRepository, names: Sequence[str]) -> list[bytes]:
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
