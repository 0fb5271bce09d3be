"""Another account of this machine, under which children run. Knows no agent.

Root becomes that user by itself. Anybody else goes through sudo, which makes three things harder:

1. sudo takes most of the environment away, and what it is told to keep it writes into the system's log, values
   included. So nothing goes through sudo: a shell that already runs as the other user reads environment and command
   from its standard input, and then becomes the program, whose standard input begins behind them.
2. The environment of such processes, where their marks stand, is closed to us: the other user reads it out.
3. We may not signal them: the other user does. sudo itself belongs to root, and leaves when its program has ended.
"""

import errno
import os
import pwd
import re
import shlex
import signal
import stat
import struct
import subprocess
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from fairlead.kit.confinement import OTHERS_DOORS, ChildLaunch, current_confinements, find_named_paths

_SUDO_SEC: Final = 10.0
_SYSTEM_PATH: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ENVIRON_FILE: Final = re.compile(rb"/proc/(\d+)/environ:(.*)", re.DOTALL)
_SOCKET_FILE: Final = re.compile(r"/proc/(\d+)/fd/\d+")

_LAUNCHER: Final = """\
n=$1 s=
while [ "$n" -gt 0 ] && IFS= read -r l; do
n=$((n-1)) s="$s$l
"
done
[ "$n" -eq 0 ] || exit 125
eval "$s"
"""
"""Reads as many lines as it is told, byte by byte as POSIX demands of `read`, and runs them. Fewer lines mean that who
wrote them is gone: then nothing is run."""

_ACL_NAME: Final = "system.posix_acl_access"
_DEFAULT_ACL_NAME: Final = "system.posix_acl_default"
_ACL_VERSION: Final = 2
_NOBODY: Final = 0xFFFFFFFF
_USER_OBJ, _USER, _GROUP_OBJ, _MASK, _OTHER = 0x01, 0x02, 0x04, 0x10, 0x20


class AnotherUser:
    """A user that root becomes by itself."""

    def __init__(self, name: str) -> None:
        """Raises KeyError where there is no such user."""
        self._account = pwd.getpwnam(name)

    @property
    def name(self) -> str:
        return self._account.pw_name

    @property
    def uid(self) -> int:
        return self._account.pw_uid

    @property
    def home(self) -> Path:
        return Path(self._account.pw_dir)

    def confine(self, launch: ChildLaunch, *, cwd: Path, mark: str) -> ChildLaunch:  # noqa: ARG002 - the protocol's names
        self._give_temporary_files(launch.argv[1:])
        account = self._account
        return msgspec.structs.replace(
            launch,
            env=self._own_environment(launch.env),
            user=account.pw_uid,
            group=account.pw_gid,
            groups=tuple(os.getgrouplist(account.pw_name, account.pw_gid)),
        )

    def give(self, target: Path | int) -> None:
        """Let the user read and write a file or a directory, named by its path or its descriptor. Raises OSError."""
        account = self._account
        if isinstance(target, int):
            os.chown(target, account.pw_uid, account.pw_gid)
        else:
            os.chown(target, account.pw_uid, account.pw_gid, follow_symlinks=False)

    def share_directory(self, directory: Path) -> None:
        """Before files are made in it: the user may work here, and so may we."""
        self.give(directory)

    def share_tree(self, directory: Path) -> None:
        """After we made files in it. No link is followed."""
        for parent, directories, files in os.walk(directory):
            for name in (*directories, *files):
                self.give(Path(parent) / name)
        self.give(directory)

    def remove_tree(self, directory: Path) -> None:
        """What only this user may remove. Raises PermissionError where it is still there."""
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(directory))

    def read_environments(self, variable: str) -> dict[int, bytes]:  # noqa: ARG002 - the name of the other way's
        """For each process of this user that has it the entry `NAME=value`, as far as we cannot see it ourselves."""
        return {}

    def send_signal(self, pid: int, number: signal.Signals) -> None:
        """Signal a process of this user that we may not signal ourselves."""

    def find_socket_holder(self, inode: int) -> int | None:  # noqa: ARG002 - the name of the other way's
        """A process of this user that has a socket open which we cannot see ourselves."""
        return None

    def _own_environment(self, env: Mapping[str, str]) -> dict[str, str]:
        name = self._account.pw_name
        kept = {key: value for key, value in env.items() if key not in OTHERS_DOORS and not key.startswith("XDG_")}
        kept.pop("TMPDIR", None)
        return kept | {"HOME": self._account.pw_dir, "USER": name, "LOGNAME": name}

    def _give_temporary_files(self, arguments: Iterable[str]) -> None:
        """Files that were made for this very start, such as a policy, are readable by their maker alone."""
        temporary = Path(os.path.realpath(tempfile.gettempdir()))
        for path in find_named_paths(arguments):
            directory = path.parent
            is_made_here = directory.parent == temporary and directory.name.startswith("fairlead-")
            if is_made_here and path.is_file() and not path.is_symlink() and _is_ours_alone(directory):
                self.give(path)
                self.give(directory)


def _is_ours_alone(directory: Path) -> bool:
    """Whether nobody else can have put something in there since it was made."""
    found = directory.lstat()
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o077


class SudoUser(AnotherUser):
    """A user that we become through sudo, which must let us without a password."""

    def __init__(self, name: str, sudo: str) -> None:
        super().__init__(name)
        self._sudo = sudo

    @property
    def sudoers_line(self) -> str:
        return f"{pwd.getpwuid(os.geteuid()).pw_name} ALL=({self.name}) NOPASSWD: ALL"

    def confine(self, launch: ChildLaunch, *, cwd: Path, mark: str) -> ChildLaunch:  # noqa: ARG002 - the protocol's names
        self._give_temporary_files(launch.argv[1:])
        preamble = _write_preamble(self._own_environment(launch.env), launch.argv)
        lines = str(preamble.count(b"\n"))
        shell = ("/usr/bin/env", "-i", "/bin/sh", "-c", _LAUNCHER, "fairlead", lines)
        return ChildLaunch(argv=(*self._as_user(), *shell), env={"PATH": _SYSTEM_PATH}, preamble=preamble)

    def give(self, target: Path | int) -> None:
        """By an access control list, since only root gives files away."""
        if isinstance(target, int):
            os.setxattr(target, _ACL_NAME, _write_acl(os.fstat(target).st_mode, self.uid))
        else:
            os.setxattr(target, _ACL_NAME, _write_acl(target.lstat().st_mode, self.uid), follow_symlinks=False)

    def share_directory(self, directory: Path) -> None:
        """By lists that all that is made below inherits, from either user: both may write and remove it."""
        acl = write_shared_acl((os.geteuid(), self.uid))
        for name in (_ACL_NAME, _DEFAULT_ACL_NAME):
            os.setxattr(directory, name, acl)

    def share_tree(self, directory: Path) -> None:
        """The lists of the directory were inherited."""

    def remove_tree(self, directory: Path) -> None:
        self.run("/bin/rm", "-rf", "--", str(directory))
        if directory.exists():
            super().remove_tree(directory)

    def read_environments(self, variable: str) -> dict[int, bytes]:
        script = f'exec grep -Hasz "^{variable}=" /proc/[0-9]*/environ'
        entries = self.run("/bin/sh", "-c", script).stdout.split(b"\0")
        found = [match for entry in entries if (match := _ENVIRON_FILE.fullmatch(entry))]
        return {int(match[1]): match[2] for match in found if _owner_of(int(match[1])) == self.uid}

    def send_signal(self, pid: int, number: signal.Signals) -> None:
        if _owner_of(pid) == self.uid:
            self.run("/bin/sh", "-c", 'kill -s "$1" "$2"', "kill", number.name.removeprefix("SIG"), str(pid))

    def find_socket_holder(self, inode: int) -> int | None:
        script = 'exec find /proc/[0-9]*/fd -lname "$1" 2>/dev/null'
        listed = self.run("/bin/sh", "-c", script, "find", f"socket:\\[{inode}\\]").stdout.decode(errors="replace")
        return next((int(match[1]) for line in listed.splitlines() if (match := _SOCKET_FILE.fullmatch(line))), None)

    def run(self, *argv: str) -> subprocess.CompletedProcess[bytes]:
        """A program of the system's as that user. Never raises: where sudo does not work, the exit code says so."""
        whole = (*self._as_user(), *argv)
        env = {"PATH": _SYSTEM_PATH, "LC_ALL": "C"}
        try:
            return subprocess.run(
                whole, stdin=subprocess.DEVNULL, env=env, cwd="/", capture_output=True, timeout=_SUDO_SEC, check=False
            )
        except (OSError, subprocess.SubprocessError) as fault:
            return subprocess.CompletedProcess(whole, 126, b"", str(fault).encode())

    def _as_user(self) -> tuple[str, ...]:
        return self._sudo, "-n", "-u", self.name, "--"


def other_users() -> list[AnotherUser]:
    """The users under whom children are started at present."""
    return [confinement for confinement in current_confinements() if isinstance(confinement, AnotherUser)]


def _write_preamble(env: Mapping[str, str], argv: Sequence[str]) -> bytes:
    """What a shell reads to become the program. A name that no shell can export (`BASH_FUNC_x%%`) is left out."""
    exports = [f"export {name}={shlex.quote(value)}" for name, value in env.items() if _VARIABLE.fullmatch(name)]
    return os.fsencode("\n".join((*exports, f"exec {shlex.join(argv)}", "")))


def _owner_of(pid: int) -> int | None:
    try:
        return Path(f"/proc/{pid}").stat().st_uid
    except OSError:
        return None


def _write_acl(mode: int, user: int) -> bytes:
    """Lets `user` do what the owner may, and nobody else anything."""
    rights = (mode >> 6) & 7
    entries = (
        (_USER_OBJ, rights, _NOBODY),
        (_USER, rights, user),
        (_GROUP_OBJ, 0, _NOBODY),
        (_MASK, rights, _NOBODY),
        (_OTHER, 0, _NOBODY),
    )
    return struct.pack("<I", _ACL_VERSION) + b"".join(struct.pack("<HHI", *entry) for entry in entries)


def write_shared_acl(users: Iterable[int]) -> bytes:
    """Lets each of these users do everything, and nobody else anything."""
    named = [(_USER, 7, user) for user in sorted(users)]
    entries = (
        (_USER_OBJ, 7, _NOBODY),
        *named,
        (_GROUP_OBJ, 0, _NOBODY),
        (_MASK, 7, _NOBODY),
        (_OTHER, 0, _NOBODY),
    )
    return struct.pack("<I", _ACL_VERSION) + b"".join(struct.pack("<HHI", *entry) for entry in entries)
