"""How agents are separated from the account that Fairlead runs under, as the settings ask for it, and whether it works.

Knows where each agent keeps its login. A separation that was asked for and cannot be had stops the start: it is never
left out quietly.
"""

import os
import pwd
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final, cast

from fairlead.errors import Code, FairleadError, error
from fairlead.kit.confinement import Bubblewrap, Confinement, confine, confine_children
from fairlead.kit.other_user import AnotherUser, SudoUser
from fairlead.settings import Settings
from fairlead.settings_file import find_settings_file

_LOGINS: Final = {
    "claude": (".claude", ".claude.json"),
    "codex": (".codex",),
    "gemini": (".gemini",),
    "goose": (".config/goose", ".local/share/goose", ".local/state/goose"),
    "opencode": (".config/opencode", ".local/share/opencode", ".local/state/opencode", ".cache/opencode"),
    "qwen": (".qwen",),
    "copilot": (".copilot",),
    "cursor": (".cursor", ".config/cursor"),
}
"""By a word in the name of the program: where it keeps its login and its memory, in the home directory."""

_PROBE_SEC: Final = 10.0
_SYSTEM_PROGRAMS: Final = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin:/run/wrappers/bin"

ShownTo = Callable[[str], list[Path]]


def make_confinements(settings: Settings, shown_to: ShownTo = lambda _mark: []) -> list[Confinement]:
    """`shown_to` leads from a process's mark to what its session has in the state directory: the files that were sent
    to it, its capability. Raises E_CONFIG."""
    user = _find_user(settings)
    home = Path(os.path.realpath(user.home if user is not None else Path.home()))
    made: list[Confinement] = []
    if settings.agent_sandbox == "bwrap":
        made.append(_make_sandbox(settings, home, shown_to))
    if user is not None:
        made.append(user)
    return made


def agents_environment(settings: Settings) -> Mapping[str, str]:
    """The environment from which agents get theirs: where they run as another user, their home is that user's, so that
    their logins and their records are looked for there."""
    try:
        account = pwd.getpwnam(settings.agent_user) if settings.agent_user else None
    except KeyError:
        account = None  # the start says so
    return os.environ if account is None else {**os.environ, "HOME": account.pw_dir}


def _find_user(settings: Settings) -> AnotherUser | None:
    if not settings.agent_user:
        return None
    try:
        user = AnotherUser(settings.agent_user)
    except KeyError:
        raise error(
            Code.E_CONFIG,
            f"FAIRLEAD_AGENT_USER: there is no user {settings.agent_user!r} on this machine.",
            next_step=f"Make one, for example with: useradd --create-home {settings.agent_user}",
        ) from None
    if user.uid == os.geteuid():
        raise error(Code.E_CONFIG, "FAIRLEAD_AGENT_USER is the user that Fairlead itself runs under.")
    if user.uid == 0:
        raise error(Code.E_CONFIG, "FAIRLEAD_AGENT_USER is root: agents would reach everything.")
    return user if os.geteuid() == 0 else _find_user_by_sudo(settings.agent_user)


def _find_user_by_sudo(name: str) -> SudoUser:
    program = shutil.which("sudo", path=_SYSTEM_PROGRAMS)
    if program is None or sys.platform != "linux":
        raise error(
            Code.E_CONFIG,
            "FAIRLEAD_AGENT_USER needs sudo, on Linux, or a Fairlead that runs as root.",
            next_step="Install sudo, or use FAIRLEAD_AGENT_SANDBOX=bwrap, which needs no rights.",
        )
    if not Path("/proc/1/stat").exists():
        raise error(
            Code.E_CONFIG,
            "FAIRLEAD_AGENT_USER: /proc hides the processes of other users (hidepid), so agents could not be ended.",
            next_step="Mount /proc without hidepid, run Fairlead as root, or use FAIRLEAD_AGENT_SANDBOX=bwrap.",
        )
    user = SudoUser(name, program)
    done = user.run("/bin/true")
    if done.returncode:
        said = " ".join(done.stderr.decode(errors="replace").split())[:300]
        raise error(
            Code.E_CONFIG,
            f"FAIRLEAD_AGENT_USER: sudo does not start programs as {name}: {said or done.returncode}.",
            next_step=f"Run `sudo visudo -f /etc/sudoers.d/fairlead` and add this line: {user.sudoers_line}",
        )
    return user


def check_giving(user: AnotherUser, directory: Path) -> None:
    """Whether files can be given to that user where `directory` lies. Raises E_CONFIG."""
    with tempfile.TemporaryDirectory(dir=directory, prefix=".given-") as given:
        try:
            user.give(Path(given))
        except OSError as fault:
            raise error(
                Code.E_CONFIG,
                f"FAIRLEAD_AGENT_USER: files in {directory} cannot be given to {user.name}: {fault.strerror}.",
                next_step="Put STATE_DIR on a file system with access control lists, or run Fairlead as root.",
            ) from fault


def _make_sandbox(settings: Settings, home: Path, shown_to: ShownTo) -> Bubblewrap:
    program = shutil.which("bwrap")
    if program is None:
        raise error(
            Code.E_CONFIG,
            "FAIRLEAD_AGENT_SANDBOX is bwrap, and bwrap is not installed.",
            next_step="Install bubblewrap (Debian: apt install bubblewrap), or leave the setting empty.",
        )
    extra = tuple(Path(path).expanduser() for path in settings.agent_sandbox_paths)

    def list_shown(argv: Sequence[str], mark: str) -> list[Path]:
        return [*login_paths(argv, home), *extra, *shown_to(mark)]

    hidden = (settings.state_dir, settings.runner_dir, settings.log_dir, find_settings_file().path, Path.cwd() / ".env")
    return Bubblewrap(program, home=home, hidden=hidden, shown=list_shown, readable=_find_own_files())


def _find_own_files() -> tuple[Path, ...]:
    """Fairlead itself: the agent starts `fairlead mcp` in its sandbox. Secrets stand elsewhere."""
    package = Path(__file__).resolve().parents[2]
    return tuple(dict.fromkeys(Path(path) for path in (sys.prefix, sys.base_prefix, str(package))))


def login_paths(argv: Sequence[str], home: Path) -> list[Path]:
    """The logins of the agents that the command line names, and of no other."""
    names = " ".join(Path(word).name for word in argv[:4])
    return [home / path for word, paths in _LOGINS.items() if word in names for path in paths]


def check_separation(settings: Settings) -> tuple[str, str]:
    """What is on, and what is wrong with it, empty where nothing is: a child looks whether it can read the token."""
    names = [f"user {settings.agent_user}"] * bool(settings.agent_user)
    names += [f"sandbox {settings.agent_sandbox}"] * bool(settings.agent_sandbox)
    if not names:
        return "none", ""
    try:
        with confine_children(make_confinements(settings)):
            projects = [*settings.projects, *([settings.project_root] if settings.project_root else [])]
            return " and ".join(names), _probe(settings.state_dir) or _probe_projects(map(str, projects))
    except FairleadError as problem:
        return " and ".join(names), f"{problem.message} {problem.next_step or ''}".rstrip()


def _probe(state_dir: Path) -> str:
    script = 'test -z "$(ls -A "$1" 2>/dev/null)" || exit 9'  # in a sandbox it is there, and empty
    code, said = _run_confined(script, str(state_dir), cwd=Path("/"))
    if code == 9:
        return f"An agent could still see what is in {state_dir}."
    return "" if code == 0 else f"The sandbox does not start: {said}"


def _probe_projects(projects: Iterable[str]) -> str:
    """A user of their own may not be let into the projects."""
    for project in projects:
        if Path(project).is_dir() and _run_confined('test -r "$1" && test -x "$1"', project, cwd=Path(project))[0]:
            return f"Agents cannot enter the project {project}: give their user the right to read and write it."
    return ""


def _run_confined(script: str, argument: str, *, cwd: Path) -> tuple[int, str]:
    argv = ("/bin/sh", "-c", script, "probe", argument)
    launch = confine(argv, {"PATH": "/usr/bin:/bin"}, cwd=cwd, mark="fairlead-check:probe")
    try:
        done = cast("Callable[..., subprocess.CompletedProcess[bytes]]", subprocess.run)(
            launch.argv,
            input=launch.preamble,
            env=launch.env,
            cwd=cwd,
            capture_output=True,
            timeout=_PROBE_SEC,
            check=False,
            **launch.identity(),
        )
    except (OSError, subprocess.SubprocessError) as fault:
        return 126, f"{fault}."
    return done.returncode, done.stderr.decode(errors="replace").strip()[:300]
