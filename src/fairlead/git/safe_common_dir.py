"""A repository as our git sees it: its objects and refs, and a configuration that nobody but us writes.

An agent that is separated can write its project's `.git/config` and `.git/info/attributes` at any moment, also between
a look at them and the command that follows. So a command that checks out, merges or compares files never reads them:
it gets another common directory, which links to everything in the real one but those, and has a configuration of a few
harmless keys. Git has known repositories that are linked together like this for long (`git-new-workdir`).
"""

import os
import shutil
import tempfile
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from fairlead.git.command import GitCalls, GitPlace

_NOT_LINKED: Final = frozenset({"config", "config.lock", "config.worktree", "hooks", "info", "description", "branches"})
_MADE_IF_MISSING: Final = ("logs", "worktrees")
_KEPT_KEYS: Final = frozenset(
    (
        *("core.repositoryformatversion", "core.filemode", "core.symlinks", "core.ignorecase", "core.autocrlf"),
        *("core.precomposeunicode", "core.eol", "core.sharedrepository", "core.logallrefupdates"),
        *("core.sparsecheckout", "core.sparsecheckoutcone", "extensions.objectformat", "extensions.refstorage"),
        *("extensions.compatobjectformat", "index.version", "merge.conflictstyle", "diff.algorithm"),
    )
)
"""What says how files and objects are stored. None of them names a program or a file."""


@contextmanager
def safe_common_dir(calls: GitCalls, common_dir: str, git_dir: str) -> Generator[str]:
    """The path of such a directory, for GIT_COMMON_DIR, while the block lasts."""
    made = tempfile.mkdtemp(prefix="fairlead-git-")
    try:
        real, safe = Path(common_dir), Path(made)
        for name in _MADE_IF_MISSING:
            (real / name).mkdir(exist_ok=True)
        # packed-refs may only come into being: git writes through the link.
        for name in {*os.listdir(real), "packed-refs"} - _NOT_LINKED:  # noqa: PTH208 - names
            (safe / name).symlink_to(real / name)
        (safe / "info").mkdir()
        (safe / "info" / "exclude").symlink_to(real / "info" / "exclude")
        _write_config(calls, safe / "config", (real / "config", Path(git_dir) / "config.worktree"))
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _write_config(calls: GitCalls, target: Path, sources: Iterable[Path]) -> None:
    kept: dict[str, str] = {"core.bare": "false"}
    place = GitPlace(directory="/")
    for source in sources:
        # Without --includes: what another file says is not asked for.
        arguments = ["config", "--file", str(source), "--no-includes", "-z", "--list"]
        listed = os.fsdecode(calls.run(arguments, place=place, codes=(0, 1, 128)).stdout)
        pairs = (entry.partition("\n") for entry in listed.split("\0") if entry)
        kept.update({key: value for key, _, value in pairs if key in _KEPT_KEYS})
    lines = [f"[{key.partition('.')[0]}]\n\t{key.partition('.')[2]} = {_quote(value)}\n" for key, value in kept.items()]
    target.write_text("".join(lines), encoding="utf-8", errors="surrogateescape")


def _quote(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
