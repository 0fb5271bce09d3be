"""Users of this machine for the length of a test, and a rule of sudo's that lets one become the other. Root's alone."""

import fcntl
import os
import pwd
import shutil
import subprocess
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_SYSTEM = "/usr/sbin:/sbin:/usr/bin:/bin"
_SUDOERS = Path("/etc/sudoers.d")
_SOURCES = Path(__file__).parents[2]


def find_system_program(name: str) -> str:
    return shutil.which(name, path=_SYSTEM) or ""


def can_make_users() -> bool:
    return os.geteuid() == 0 and bool(find_system_program("useradd"))


def can_make_sudo_rules() -> bool:
    return can_make_users() and bool(find_system_program("sudo")) and _SUDOERS.is_dir()


def name_user(kind: str) -> str:
    """A name that no other test of this machine has at the same time."""
    return f"fairlead-{kind}-{os.getpid()}"


def _change_users(program: str, *arguments: str) -> None:
    """One at a time: these programs fail where another one holds the list of users."""
    with Path("/tmp/fairlead-test-users.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        subprocess.run([find_system_program(program), *arguments], check=True, capture_output=True)


@contextmanager
def make_user(name: str) -> Generator[str]:
    _change_users("useradd", "--create-home", name)
    try:
        yield name
    finally:
        _change_users("userdel", "--force", "--remove", name)


@contextmanager
def make_sudo_rule(owner: str, agents: str, log: Path) -> Generator[None]:
    """As the documents tell people to write it, and a log of all that sudo would write into the system's."""
    rule = _SUDOERS / f"{owner}-to-{agents}"
    rule.write_text(f"Defaults:{owner} logfile={log}\n{owner} ALL=({agents}) NOPASSWD: ALL\n")
    rule.chmod(0o440)
    try:
        yield
    finally:
        rule.unlink()


def as_user(name: str) -> dict[str, Any]:
    """The arguments of subprocess.Popen."""
    account = pwd.getpwnam(name)
    return {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": [], "cwd": "/"}


def environment_of(name: str) -> dict[str, str]:
    """What Python needs to run this very source as that user."""
    packages = [path for path in sys.path if path.endswith("site-packages")]
    return {
        "PATH": "/usr/bin:/bin",
        "HOME": pwd.getpwnam(name).pw_dir,
        "PYTHONPATH": os.pathsep.join((str(_SOURCES / "src"), str(_SOURCES), *packages)),
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def find_python_for(name: str) -> str | None:
    """A Python of our own version that this user can run, with everything that Fairlead needs."""
    for program in _candidates():
        try:
            probe = subprocess.run(
                [program, "-c", "import sys, fairlead.app; print(*sys.version_info[:2])"],
                env=environment_of(name),
                capture_output=True,
                text=True,
                check=False,
                **as_user(name),
            )
        except OSError:
            continue
        if probe.stdout.split() == [str(number) for number in sys.version_info[:2]]:
            return program
    return None


def _candidates() -> Iterator[str]:
    yield sys.executable
    yield from (path for name in ("python3", "python") if (path := find_system_program(name)))
