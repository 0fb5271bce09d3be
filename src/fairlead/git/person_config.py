"""The few settings of the person's own git that a checkout needs: line endings, what is ignored, filters such as LFS.

The person's configuration is the person's, and no agent's that is separated can write it. Filters are taken from here
alone, and only where agents are not separated: a filter such as git-lfs reads the repository's configuration and runs
what stands there, which a separated agent could have written.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from fairlead.git.command import GitCalls, GitPlace

_TEXT_KEYS: Final = frozenset({"core.autocrlf", "core.eol", "core.excludesfile"})
_IDENTITY: Final = {"user.name": "GIT_COMMITTER_NAME", "user.email": "GIT_COMMITTER_EMAIL"}

OWN_CONFIG: Final = (
    ("worktree.useRelativePaths", "false"),
    ("worktree.guessRemote", "false"),
    ("rebase.autoStash", "false"),
    ("rebase.updateRefs", "false"),
    ("merge.autoStash", "false"),
    ("rerere.enabled", "false"),
)
"""What a worktree needs to be made and merged in the same way everywhere."""


class PersonConfig(msgspec.Struct, frozen=True, kw_only=True):
    """`config` goes behind that of the repository. `committer` are variables that name who commits; empty where the
    person has not said. `variables` are what filters need."""

    config: tuple[tuple[str, str], ...] = OWN_CONFIG
    committer: Mapping[str, str] = {}
    variables: Mapping[str, str] = {}


NO_PERSON: Final = PersonConfig()


def read_person_config(calls: GitCalls, environment: Mapping[str, str], *, with_filters: bool) -> PersonConfig:
    home = environment.get("HOME", "")
    if not home:
        return PersonConfig()
    own = Path(environment.get("XDG_CONFIG_HOME") or Path(home) / ".config") / "git"
    files = (own / "config", Path(environment.get("GIT_CONFIG_GLOBAL") or Path(home) / ".gitconfig"))
    said: dict[str, str] = {}
    for file in files:
        said.update(_read(calls, file, home))
    kept = [(key, value) for key, value in said.items() if key in _TEXT_KEYS or (with_filters and _is_filter(key))]
    kept = [(key, _expand(value, home) if key == "core.excludesfile" else value) for key, value in kept]
    if "core.excludesfile" not in said and (own / "ignore").is_file():
        kept.append(("core.excludesfile", str(own / "ignore")))
    return PersonConfig(
        config=(*OWN_CONFIG, *kept),
        committer={name: said[key] for key, name in _IDENTITY.items() if said.get(key)},
        variables={"HOME": home} if with_filters else {},
    )


def _is_filter(key: str) -> bool:
    return key.startswith("filter.")


def _expand(path: str, home: str) -> str:
    return f"{home}{path[1:]}" if path.startswith("~/") else path


def _read(calls: GitCalls, file: Path, home: str) -> dict[str, str]:
    if not file.is_file():
        return {}
    place = GitPlace(directory="/", variables={"HOME": home})
    listed = calls.run(["config", "--file", str(file), "--includes", "-z", "--list"], place=place, codes=(0, 1, 128))
    pairs = (entry.partition("\n") for entry in os.fsdecode(listed.stdout).split("\0") if entry)
    return {key: value for key, _, value in pairs}
