"""The directory that a person stands in: which directory is the project there, and whether agents belong in it.

Looks at directories and asks nobody. A directory that is everybody's first mistake (the root of the disk, the home
directory, Fairlead's own source code) has a `caution`: it becomes a project only if a person says so.
"""

from pathlib import Path
from typing import Final, Literal

import msgspec

Caution = Literal["", "home", "above_home", "own_code"]

CAUTION_WORDS: Final[dict[Caution, str]] = {
    "home": "terminal.caution_home",
    "above_home": "terminal.caution_above_home",
    "own_code": "terminal.caution_own_code",
}

_OWN_CODE: Final = ("pyproject.toml", "src/fairlead/__init__.py")


class WorkingDirectory(msgspec.Struct, frozen=True):
    """`root` is the directory that would become the project: the repository around `path`, else `path` itself."""

    path: str
    root: str
    caution: Caution = ""


def find_working_directory(directory: str, home: str) -> WorkingDirectory:
    here = Path(directory).resolve()
    repository = next((p for p in (here, *here.parents) if (p / ".git").exists()), here)
    root = here if caution_about(str(repository), home) in {"home", "above_home"} else repository
    return WorkingDirectory(str(here), str(root), caution_about(str(here), home))


def caution_about(directory: str, home: str) -> Caution:
    """Why nobody should let agents work in this directory without a thought."""
    here, at_home = Path(directory).resolve(), Path(home).resolve()
    if here == at_home:
        return "home"
    if here in at_home.parents or here == Path(here.anchor):
        return "above_home"
    is_own = any(all((p / name).is_file() for name in _OWN_CODE) for p in (here, *here.parents))
    return "own_code" if is_own else ""


def is_inside(path: str, directory: str) -> bool:
    return Path(path).is_relative_to(directory)
