"""A CLI's self-check: is it there, which version, logged in as far as its files tell. Asks no model anything."""

import asyncio
import re
from collections.abc import Mapping
from pathlib import Path

import msgspec

from fairlead.kit.framing import LineTooLong
from fairlead.kit.processes import AT_ONCE, OwnedProcess
from fairlead.ports import RuntimeHealth
from fairlead.runtimes.cli_turn import START_FAULTS, start_failure

PATIENCE = 20.0
_VERSION = re.compile(r"(\d+)\.(\d+)\.(\d+)")

Version = tuple[int, int, int]


class KnownGood(msgspec.Struct, frozen=True):
    """Fairlead was tried with versions from `first` to `last`; older ones do not work, newer ones are only untried."""

    first: Version
    last: Version


class Login(msgspec.Struct, frozen=True):
    """Any of these variables or files means that somebody logged in once. Files are relative to the home directory."""

    variables: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    how: str = ""


def version_in(said: str) -> Version | None:
    found = _VERSION.search(said)
    return None if found is None else (int(found[1]), int(found[2]), int(found[3]))


def judge_version(program: str, said: str, good: KnownGood, login_note: str) -> RuntimeHealth:
    version = version_in(said)
    notes = [login_note] if login_note else []
    if version is None:
        return RuntimeHealth(
            ok=False, program=program, notes=(f"`{program} --version` names no version: {said[:100]!r}.", *notes)
        )
    shown = _write_version(version)
    if version < good.first:
        old = f"{program} {shown} is older than {_write_version(good.first)}, the oldest version that works. Update it."
        return RuntimeHealth(ok=False, program=program, version=shown, notes=(old, *notes))
    if version > good.last:
        notes.insert(0, f"{program} {shown} is newer than {_write_version(good.last)}, the newest tested version.")
    return RuntimeHealth(ok=True, program=program, version=shown, notes=tuple(notes), needs_login=bool(login_note))


def describe_untried(said: str, good: KnownGood) -> str:
    """That an agent which answers has a version that was never tried; empty for one that was, and for no version."""
    version = version_in(said)
    if version is None or good.first <= version <= good.last:
        return ""
    if version < good.first:
        first = _write_version(good.first)
        return f"{_write_version(version)} is older than {first}, the oldest tested version. Update it."
    return f"{_write_version(version)} is newer than {_write_version(good.last)}, the newest tested version."


def login_note(login: Login, env: Mapping[str, str]) -> str:
    home = Path(env.get("HOME", "/"))
    if any(env.get(name) for name in login.variables) or any(may_exist(home / name) for name in login.files):
        return ""
    return f"No login was found. {login.how}"


def may_exist(path: Path) -> bool:
    """False only where it is certain: the home of another user may be closed to us."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True


async def check_program(
    program: str, env: Mapping[str, str], *, mark: str, good: KnownGood, login: Login
) -> RuntimeHealth:
    try:
        async with asyncio.timeout(PATIENCE):
            async with OwnedProcess.spawn(
                (program, "--version"), cwd=Path("/"), env=env, mark=mark, stdin="empty", grace=AT_ONCE
            ) as process:
                said = [line.decode(errors="replace") async for line in process.lines()]
    except TimeoutError:
        return RuntimeHealth(
            ok=False, program=program, notes=(f"`{program} --version` did not end within {PATIENCE:.0f} s.",)
        )
    except LineTooLong as fault:
        return RuntimeHealth(ok=False, program=program, notes=(str(fault),))
    except START_FAULTS as fault:
        return RuntimeHealth(ok=False, program=program, notes=(start_failure(fault).message,))
    return judge_version(program, "\n".join(said), good, login_note(login, env))


def _write_version(version: Version) -> str:
    return ".".join(str(number) for number in version)
