"""What an installer made in its directory, before it is moved to its place."""

from collections.abc import Mapping
from pathlib import Path

import msgspec


class Built(msgspec.Struct, frozen=True, kw_only=True):
    """`program` is below the directory. `keep` is what the next install of this release is made from."""

    version: str
    digest: str
    program: str
    arguments: tuple[str, ...] = ()
    env: Mapping[str, str] = {}
    keep: Mapping[str, bytes] = {}
    notes: tuple[str, ...] = ()


def rewrite_paths(directory: Path, old: Path, new: Path) -> None:
    """The scripts of a Python environment name their interpreter by its whole path, which a rename would break."""
    before, after = str(old).encode(), str(new).encode()
    for script in directory.iterdir():
        if script.is_symlink() or not script.is_file():
            continue
        content = script.read_bytes()
        if before in content and b"\0" not in content:
            script.write_bytes(content.replace(before, after))
