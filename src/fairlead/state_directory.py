"""The state directory: one process at a time may use it, and what is said where it cannot be used. Reads no state."""

import os
import stat
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from fairlead import __version__
from fairlead.errors import Code, FairleadError, error
from fairlead.kit.files import NO_ROOM, AlreadyLocked, Lock, lock_file, make_private_directory

LOCK_NAME: Final = "lock"
ADDRESS_NAME: Final = "http-address"
AGENTS_NAME: Final = "agents"
JOINED_NAME: Final = "joined.json"
"""In the directory of a runner: which Fairlead it has joined, and its key."""


def take_lock(state_dir: Path, note: str = "") -> Lock:
    """Only one process writes here. Raises E_STATE_LOCKED with the holder's name."""
    try:
        make_private_directory(state_dir)
        _refuse_shared_directory(state_dir)
        return lock_file(state_dir / LOCK_NAME, f"fairlead {__version__} {note}".rstrip())
    except AlreadyLocked as held:
        who = f"process {held.pid} ({held.note})" if held.pid else "another process"
        raise error(
            Code.E_STATE_LOCKED,
            f"{state_dir} is in use by {who}.",
            next_step="Stop it, connect to it with `fairlead chat`, or set another STATE_DIR.",
        ) from None
    except OSError as fault:
        if fault.errno in NO_ROOM:
            raise disk_full(fault, state_dir) from fault
        raise error(
            Code.E_CONFIG,
            f"STATE_DIR {state_dir} cannot be written: {fault.strerror or fault}.",
            next_step="Set STATE_DIR to a directory that you can write.",
        ) from fault


def _refuse_shared_directory(state_dir: Path) -> None:
    """A user who may write here may replace the journal, the token and the permissions of every project."""
    found = state_dir.stat()
    mode = stat.S_IMODE(found.st_mode)
    if mode & 0o022:
        why, fix = f"others may write to it (its mode is {mode:04o})", f"Run: chmod 700 {state_dir}"
    elif found.st_uid not in {0, os.geteuid()}:
        why, fix = f"it belongs to another user ({found.st_uid})", f"Run: chown {os.geteuid()} {state_dir}"
    else:
        return
    raise error(Code.E_CONFIG, f"STATE_DIR {state_dir} is not used, because {why}.", next_step=fix)


@contextmanager
def explain_unusable_state(state_dir: Path) -> Generator[None]:
    try:
        yield
    except OSError as fault:
        if fault.errno in NO_ROOM:
            raise disk_full(fault, state_dir) from fault
        raise error(
            Code.E_CONFIG,
            f"{fault.filename or state_dir} cannot be used: {fault.strerror or fault}.",
            next_step="Make it readable and writable for this user, with space on its disk, and start again.",
        ) from fault


@contextmanager
def explain_full_disk(state_dir: Path) -> Generator[None]:
    """A start writes many small files; whichever of them finds no room, the reason is the same."""
    try:
        yield
    except OSError as fault:
        if fault.errno not in NO_ROOM:
            raise
        raise disk_full(fault, state_dir) from fault


def disk_full(fault: OSError, path: Path) -> FairleadError:
    return error(
        Code.E_DISK_FULL,
        f"There is not enough disk space to start: {fault.filename or path}: {fault.strerror or fault}.",
        next_step="Free some space on that disk; the start then continues by itself. No accepted message is lost.",
    )
