"""What stands at a path in a snapshot: a mode and the name of the bytes. Opens no file."""

import os
from typing import Final, NamedTuple

from fairlead.git.command import GitCalls
from fairlead.git.private_repository import PrivateRepository

_ENTRIES: Final = ("diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", "--no-commit-id")
LINK: Final = "120000"
PROGRAM: Final = "100755"
PLAIN: Final = "100644"


class Entry(NamedTuple):
    """`name` is git's name of the bytes, or of a link's target."""

    mode: str
    name: str


ABSENT: Final = Entry("0", "0" * 40)


def list_entries(
    calls: GitCalls, repository: PrivateRepository, before: str, after: str
) -> dict[str, tuple[Entry, Entry]]:
    """Every path that differs, with what stands there in one and in the other; from the root of the work tree."""
    out = calls.run([*_ENTRIES, before, after], place=repository.reading_place).stdout
    fields = out.split(b"\0")
    found: dict[str, tuple[Entry, Entry]] = {}
    for about, path in zip(fields[0::2], fields[1::2], strict=False):
        old_mode, new_mode, old, new, _ = about.decode().removeprefix(":").split(" ")
        found[os.fsdecode(path)] = _entry(old_mode, old), _entry(new_mode, new)
    return found


def _entry(mode: str, name: str) -> Entry:
    return ABSENT if mode == "000000" else Entry(mode, name)
