"""Which git repository a project's directory belongs to, if any, and what of its configuration a snapshot must follow.

Only `git rev-parse`, `config` and `check-ignore` look into it. None of them runs a program that it names.
"""

import os
import re
from functools import lru_cache
from pathlib import Path
from typing import Final

import msgspec

from fairlead.git.command import GitCalls, GitPlace

SHA1: Final = "sha1"
_FOLLOWED: Final = (
    "core.filemode",
    "core.symlinks",
    "core.ignorecase",
    "core.precomposeunicode",
    "core.sharedrepository",
)
"""What the disk of the work tree can do, and who else may read the objects."""
_FOLLOWED_KEYS: Final = f"^({'|'.join(key.replace('.', '[.]') for key in _FOLLOWED)})$"

_TOLD: Final = re.compile(r"(?P<inside>\w+)\n(?P<git_dir>.*)\n(?P<format>sha\d+)\n(?P<common_dir>.*)", re.DOTALL)
"""The format stands between the two paths, which may hold line ends."""


class NoWorkTree(Exception):  # noqa: N818 - says what is wrong
    """The directory is a repository itself, or a part of one: it has no files of its own."""


class ProjectRepository(msgspec.Struct, frozen=True, kw_only=True):
    """`root` is the work tree in which the project is the directory `prefix`; empty if it is the whole of it.
    `common_dir` is the repository's own directory, shared by its worktrees; empty if the project is in none. `git_dir`
    is what it has for this work tree alone, such as the index."""

    project: str
    root: str
    prefix: str = ""
    common_dir: str = ""
    git_dir: str = ""
    object_format: str = SHA1
    followed: tuple[tuple[str, str], ...] = ()
    excludes_file: str = ""
    signature: tuple[tuple[int, int] | None, ...] = ()

    @property
    def objects(self) -> str:
        return f"{self.common_dir}/objects" if self.common_dir else ""

    @property
    def takes_objects(self) -> bool:
        """Whether snapshots can be stored in it. One that this user may only read is left alone."""
        places = (self.objects, f"{self.common_dir}/refs", self.common_dir)
        return bool(self.common_dir) and all(os.access(place, os.W_OK | os.X_OK) for place in places)


def find_repository(calls: GitCalls, project: str, home: str) -> ProjectRepository:
    """`home` is where the person's own configuration lies. Raises NoWorkTree, GitFailed."""
    signature = sign(project)
    place = GitPlace(directory=project)
    asked = ("--is-inside-work-tree", "--absolute-git-dir", "--show-object-format", "--git-common-dir")
    found = calls.run(["rev-parse", "--path-format=absolute", *asked], place=place, codes=(0, 128))
    if found.code:
        return ProjectRepository(
            project=project, root=project, excludes_file=_persons_excludes(calls, project, home), signature=signature
        )
    told = _TOLD.fullmatch(found.line)
    if told is None or told["inside"] != "true":
        raise NoWorkTree(f"{project} is the directory of a git repository, not of files")
    git_dir, object_format, common_dir = told.group("git_dir", "format", "common_dir")
    prefix = calls.run(["rev-parse", "--show-prefix"], place=place).line.removesuffix("/")
    root = project.removesuffix(f"/{prefix}") if prefix else project
    own = calls.run(
        ["config", "--type=path", "--get", "core.excludesFile"], place=_at_home(project, home), codes=(0, 1)
    )
    if prefix and _is_ignored(calls, root, prefix):
        # A repository that ignores this directory has nothing to do with it.
        git_dir, common_dir, root, prefix = "", "", project, ""
    return ProjectRepository(
        project=project,
        root=root,
        prefix=prefix,
        common_dir=common_dir,
        git_dir=git_dir,
        object_format=object_format if common_dir else SHA1,
        followed=_find_followed(calls, place),
        excludes_file=own.line or _persons_excludes(calls, project, home),
        signature=signature,
    )


def sign(project: str) -> tuple[tuple[int, int] | None, ...]:
    """Differs when a repository was made, removed or replaced at the project or above it."""
    return tuple(map(_identify, _list_repositories_above(project)))


@lru_cache(maxsize=256)
def _list_repositories_above(project: str) -> tuple[str, ...]:
    """Kept, because every turn asks for them, and to take paths apart takes longer than to look at them."""
    return tuple(str(directory / ".git") for directory in (Path(project), *Path(project).parents))


def _identify(path: str) -> tuple[int, int] | None:
    try:
        found = os.lstat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _is_ignored(calls: GitCalls, root: str, prefix: str) -> bool:
    asked = calls.run(
        ["check-ignore", "-q", "-z", "--stdin"],
        place=GitPlace(directory=root, variables={"GIT_LITERAL_PATHSPECS": "0"}),  # it knows no literal ones
        stdin=b"./" + os.fsencode(prefix) + b"\0",
        codes=(0, 1),
    )
    return asked.code == 0


def _find_followed(calls: GitCalls, place: GitPlace) -> tuple[tuple[str, str], ...]:
    found = calls.run(["config", "-z", "--get-regexp", _FOLLOWED_KEYS], place=place, codes=(0, 1))
    pairs = (entry.partition("\n") for entry in os.fsdecode(found.stdout).split("\0") if entry)
    return tuple((name, value or "true") for name, _, value in pairs)


def _at_home(directory: str, home: str) -> GitPlace:
    return GitPlace(directory=directory, variables={"HOME": home})


def _persons_excludes(calls: GitCalls, directory: str, home: str) -> str:
    """The ignore rules that the person has for all their repositories. They are read from the person's own files, which
    no confined agent can write."""
    settings = os.environ.get("XDG_CONFIG_HOME") or f"{home}/.config"
    for file in (f"{home}/.gitconfig", f"{settings}/git/config"):
        if Path(file).is_file():
            asked = ["config", "--file", file, "--includes", "--type=path", "--get", "core.excludesFile"]
            found = calls.run(asked, place=_at_home(directory, home), codes=(0, 1))
            if found.line:
                return found.line
    return f"{settings}/git/ignore"
