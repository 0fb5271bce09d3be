"""What separates a child from the account of its owner: a sandbox that shows it only some paths, another user, or both.

Knows no agent and no setting. Where a separation is asked for and cannot be had, nothing is started without it.
"""

import os
import shutil
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Protocol

import msgspec

SYSTEM_PATHS: Final = (
    *("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix"),
    *("/run/systemd/resolve", "/run/resolvconf"),
)
"""Where programs and their settings stand on a machine. Everybody on it may read them anyway."""

_TMP: Final = "/tmp"  # noqa: S108 - the sandbox's own, empty and seen by nobody else
OTHERS_DOORS: Final = ("SSH_AUTH_SOCK", "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR")
"""Variables that lead to services of the owner's account, which act for every process that reaches them."""


class ChildLaunch(msgspec.Struct, frozen=True, kw_only=True):
    """How a child is really started. `user` is None where it stays the same. `preamble` is what its standard input
    begins with, before anything that its owner writes."""

    argv: tuple[str, ...]
    env: dict[str, str]
    user: int | None = None
    group: int | None = None
    groups: tuple[int, ...] = ()
    preamble: bytes = b""

    def identity(self) -> dict[str, Any]:
        """The arguments of subprocess.Popen that change the user."""
        if self.user is None:
            return {}
        return {"user": self.user, "group": self.group, "extra_groups": list(self.groups)}


class Confinement(Protocol):
    def confine(self, launch: ChildLaunch, *, cwd: Path, mark: str) -> ChildLaunch:
        """The same program, separated. `launch.argv` begins with the file that runs."""
        ...


_current: list[Confinement] = []


@contextmanager
def confine_children(confinements: Sequence[Confinement]) -> Generator[None]:
    """While the block lasts, every child of this process is separated by all of these, the first one innermost."""
    before = _current[:]
    _current[:] = confinements
    try:
        yield
    finally:
        _current[:] = before


def current_confinements() -> tuple[Confinement, ...]:
    return tuple(_current)


def confine(argv: Sequence[str], env: Mapping[str, str], *, cwd: Path, mark: str) -> ChildLaunch:
    launch = ChildLaunch(argv=tuple(argv), env=dict(env))
    for confinement in _current:
        launch = confinement.confine(launch, cwd=cwd, mark=mark)
    return launch


class ShownPaths(Protocol):
    def __call__(self, argv: Sequence[str], mark: str) -> Iterable[Path]:
        """Paths that this program may write: its own login, the files that were sent to its session."""
        ...


class Bubblewrap:
    """A sandbox of the kernel's namespaces. The child sees the system's programs, its own program's files, its project
    and what `shown` names; an empty home and /tmp; its own processes. `hidden` is nowhere to be seen, even where it
    lies in something that is shown."""

    def __init__(
        self, program: str, *, home: Path, hidden: Iterable[Path], shown: ShownPaths, readable: Iterable[Path] = ()
    ) -> None:
        """`readable` are paths that every child may read."""
        self._readable = tuple(readable)
        self._program = program
        self._home = home
        self._hidden = tuple(Path(os.path.realpath(path)) for path in hidden)
        self._shown = shown

    def confine(self, launch: ChildLaunch, *, cwd: Path, mark: str) -> ChildLaunch:
        real_cwd = Path(os.path.realpath(cwd))
        arguments = [self._program, "--die-with-parent", "--unshare-pid", "--unshare-ipc", "--unshare-uts"]
        for path in SYSTEM_PATHS:
            arguments += ("--ro-bind-try", path, path)
        arguments += ("--proc", "/proc", "--dev", "/dev", "--tmpfs", _TMP, "--tmpfs", str(self._home))
        for path in (*self._find_program_files(launch), *self._readable):
            arguments += ("--ro-bind-try", str(path), str(path))
        if real_cwd != Path("/"):
            arguments += ("--bind", str(real_cwd), str(real_cwd))
        for path in find_named_paths(launch.argv[1:]):
            if not any(path.is_relative_to(hidden) for hidden in self._hidden):
                arguments += ("--bind" if path.is_dir() else "--ro-bind", str(path), str(path))
        shown = list(self._shown(launch.argv, mark))
        arguments += self._show([path for path in shown if not self._is_hidden(path)])
        arguments += self._hide()
        arguments += self._show([path for path in shown if self._is_hidden(path)])
        env = {name: value for name, value in launch.env.items() if name not in OTHERS_DOORS} | {"TMPDIR": _TMP}
        return msgspec.structs.replace(launch, argv=(*arguments, "--chdir", str(real_cwd), "--", *launch.argv), env=env)

    def _is_hidden(self, path: Path) -> bool:
        return any(path.is_relative_to(hidden) for hidden in self._hidden)

    @staticmethod
    def _show(paths: Iterable[Path]) -> list[str]:
        return [word for path in paths for word in ("--bind-try", str(path), str(path))]

    def _hide(self) -> list[str]:
        words: list[str] = []
        for path in self._hidden:
            if path.is_dir():
                words += ("--tmpfs", str(path))
            elif path.exists():
                words += ("--ro-bind", os.devnull, str(path))
        return words

    def _find_program_files(self, launch: ChildLaunch) -> list[Path]:
        program = Path(launch.argv[0])
        files = [program, Path(os.path.realpath(program)), *_find_interpreter(program, launch.env)]
        roots = dict.fromkeys(self._find_root(file) for file in files)
        return [root for root in roots if not any(root.is_relative_to(system) for system in SYSTEM_PATHS)]

    def _find_root(self, file: Path) -> Path:
        """The directory in which a program was installed: its libraries stand there too."""
        if "node_modules" in file.parts:
            root = Path(*file.parts[: file.parts.index("node_modules")])
        else:
            root = file.parent.parent if file.parent.name == "bin" else file.parent
        is_too_wide = any(secret.is_relative_to(root) for secret in (self._home, *self._hidden))
        return file.parent if is_too_wide else root


def _find_interpreter(program: Path, env: Mapping[str, str]) -> list[Path]:
    """The program that runs a script, named in the script's first line."""
    try:
        with program.open("rb") as file:
            first = file.readline(256)
    except OSError:
        return []
    if not first.startswith(b"#!"):
        return []
    words = first[2:].decode(errors="replace").split()
    names = [word for word in words if not word.startswith("-")]
    if len(names) > 1 and Path(names[0]).name == "env":
        names = names[1:]
    found = shutil.which(names[0], path=env.get("PATH", "")) if names else None
    return [] if found is None else [Path(found), Path(os.path.realpath(found))]


def find_named_paths(arguments: Iterable[str]) -> list[Path]:
    """Files and directories that a command line names: a policy, a picture, a directory to work in."""
    words = [word.partition("=")[2] if word.startswith("-") else word for word in arguments]
    return [Path(word) for word in words if word.startswith("/") and word != "/" and os.path.exists(word)]  # noqa: PTH110 - a word may be too long for a path
