"""Looks at paths on the disk. Registered projects are real paths: links and `..` are resolved once, here."""

import asyncio
import os
from pathlib import Path

from fairlead.core.decide.projects import DirectoryFacts
from fairlead.core.machines.places import machine_of
from fairlead.errors import Code, error
from fairlead.kit.path_completion import files_below
from fairlead.kit.similar_names import find_similar


class RealDirectories:
    """`state_dir` cannot be reached from any project: an agent that works there could rewrite all that is known."""

    def __init__(self, state_dir: Path) -> None:
        self._state_dir = Path(os.path.realpath(state_dir))

    def inspect(self, path: str) -> DirectoryFacts:
        given = path.strip()
        if not given or "\x00" in given:
            return DirectoryFacts(given, "", "The path is empty.")
        expanded = os.path.expanduser(given)  # noqa: PTH111 - pathlib's raises for a user who is not there
        if not Path(expanded).is_absolute():
            return DirectoryFacts(given, "", f"{given} is not an absolute path.")
        real = os.path.realpath(expanded)
        problem = _problem(Path(real), given) or self._find_conflict(Path(real), given)
        return DirectoryFacts(str(Path(expanded)), real, problem)

    async def look(self, path: str) -> DirectoryFacts:
        machine = machine_of(path)
        if machine:
            raise error(Code.E_MACHINE_NOT_FOUND, f"There is no machine {machine}: other machines are turned off.")
        return self.inspect(path)

    def _find_conflict(self, real: Path, given: str) -> str:
        state = self._state_dir
        if real == Path(real.root):
            return (
                f"{given} is the root directory. A project is a directory that an agent may work in; name one below it."
            )
        if state.is_relative_to(real):
            held = "is" if real == state else "holds"
            return (
                f"{given} {held} Fairlead's own state directory, {state}, which no agent may work in. "
                "Name a directory beside it, or set another STATE_DIR."
            )
        if real.is_relative_to(state):
            return f"{given} is inside Fairlead's own state directory, {state}, which no agent may work in."
        return ""

    def problem_at(self, real_path: str) -> str:
        """Looked at before every turn, so it looks at the file system once where all is well: what opens as a directory
        and can be listed is one."""
        is_fine = os.access(f"{real_path}/.", os.R_OK | os.X_OK) and not self._is_near_state(real_path)
        return "" if is_fine else self.inspect(real_path).problem

    def _is_near_state(self, real_path: str) -> bool:
        """Whether one of the two holds the other. Both are real paths."""
        here, state = f"{real_path.rstrip('/')}/", f"{self._state_dir}/"
        return here.startswith(state) or state.startswith(here)

    def real_path(self, path: str) -> str:
        return os.path.realpath(path)

    async def files_below(self, path: str, typed: str) -> list[str]:
        return await asyncio.to_thread(self._files_below, path, typed)

    @staticmethod
    def _files_below(path: str, typed: str) -> list[str]:
        try:
            leads_out = not Path(path, typed.rpartition("/")[0]).resolve().is_relative_to(path)  # by `..`, or a link
        except (OSError, ValueError):  # a name that no file can have
            return []
        return [] if leads_out else files_below(path, typed)

    def subdirectories(self, path: str) -> list[str]:
        root = Path(path).expanduser()
        return sorted(str(p) for p in root.iterdir() if p.is_dir() and not p.name.startswith("."))


def _problem(real: Path, given: str) -> str:
    # os.path returns False for a name that is too long for the file system; pathlib raises
    if os.path.isdir(real):  # noqa: PTH112
        return "" if os.access(real, os.R_OK | os.X_OK) else f"{given} cannot be entered: permission denied."
    if os.path.exists(real):  # noqa: PTH110
        return f"{given} is not a directory."
    return f"{given} does not exist.{_hint(real)}"


def _hint(real: Path) -> str:
    try:
        names = [p.name for p in real.parent.iterdir() if p.is_dir()]
    except OSError:
        return ""
    near = find_similar(real.name, names)
    return f" Did you mean {real.parent / near[0]}?" if near else ""
