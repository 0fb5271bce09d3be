"""Killing a family of processes, a child and all that it started, until none is left. Synchronous; knows no pipes.

A family is found in four ways, since each alone has a hole: the mark in the environment (lost by `env -i`),
the group (left by setsid), the tree (left when a parent dies), and memory of who was found in it before.
"""

import os
import signal
import time
from collections.abc import Callable

import msgspec

from fairlead.kit.other_user import other_users
from fairlead.kit.process_table import (
    ProcessEntry,
    ProcessTable,
    descendants,
    system_table,
    validate_mark,
)

PAUSE = 0.01  # between two looks: a killed process needs a moment to be gone
SWEEP_LIMIT = 10.0


class SweptProcess(msgspec.Struct, frozen=True):
    """A process that had to be killed; it survived if we may not signal it, or if it is stuck in the kernel."""

    pid: int
    command: str
    mark: str | None
    survived: bool = False


class Family:
    """Which processes belong together, remembered from look to look. Never this process itself."""

    def __init__(
        self,
        is_ours: Callable[[str], bool],
        *,
        root: tuple[int, str] | None = None,
        table: ProcessTable | None = None,
    ) -> None:
        self._is_ours = is_ours
        self._root = root
        self._table = table or system_table()
        self._known: set[tuple[int, str]] = set() if root is None else {root}

    def look(self) -> list[ProcessEntry]:
        """The members that live now. Take a look before each signal: it may cut the tree."""
        return self._visit_members(lambda _: None)

    def send(self, number: signal.Signals) -> list[ProcessEntry]:
        """Signal every member in the moment it is met, since a moment later it may have forked."""
        return self._visit_members(lambda member: self._send_to(member, number))

    def send_to_group(self, number: signal.Signals) -> None:
        """Only the root's own process group, as a terminal does; all others keep on."""
        for member in self.look():
            if self._root is not None and member.group == self._root[0]:
                self._send_to(member, number)

    def _visit_members(self, visit: Callable[[ProcessEntry], None]) -> list[ProcessEntry]:
        met: list[ProcessEntry] = []
        others: list[ProcessEntry] = []
        for process in self._table.scan():
            if process.pid == os.getpid():
                continue  # so that no process below this one counts as a member
            if self._is_member(process):
                visit(process)
                met.append(process)
            else:
                others.append(process)
        roots = [member.pid for member in met]
        below = descendants(roots, [*met, *others])
        for process in others:
            if process.pid in below:
                visit(process)
                met.append(process)
        self._known.update(member.identity for member in met)
        return met

    def _is_member(self, process: ProcessEntry) -> bool:
        if process.mark is not None and self._is_ours(process.mark):
            return True
        return process.identity in self._known or self._is_in_root_group(process)

    def _is_in_root_group(self, process: ProcessEntry) -> bool:
        """The kernel gives a pid to nobody else while a group bears its number; a leader that is not our
        root shows that the group has ended and the number is somebody else's now."""
        if self._root is None or process.group != self._root[0]:
            return False
        return self._table.start_time(self._root[0]) in {None, self._root[1]}

    def _send_to(self, process: ProcessEntry, number: signal.Signals) -> None:
        try:
            _signal_exactly(process, number, self._table)
        except PermissionError:
            for user in other_users():
                user.send_signal(process.pid, number)
        except ProcessLookupError:
            return  # it is gone; the next look tells


def _signal_exactly(process: ProcessEntry, number: signal.Signals, table: ProcessTable) -> None:
    """Signal that process, never another one that has got its pid since."""
    handle = _hold(process.pid)
    try:
        # Checked while the handle is held: it goes on meaning the process that was checked.
        if table.start_time(process.pid) != process.started:
            return
        if handle is None:
            os.kill(process.pid, number)
        else:
            signal.pidfd_send_signal(handle, number)
    finally:
        if handle is not None:
            os.close(handle)


def _hold(pid: int) -> int | None:
    """A handle on a process, None where the system has none (macOS, old kernels, some sandboxes)."""
    try:
        return os.pidfd_open(pid)
    except ProcessLookupError:
        raise
    except (OSError, AttributeError):
        return None


def kill_until_gone(family: Family, *, limit: float) -> tuple[SweptProcess, ...]:
    """SIGSTOP all, then SIGKILL all and look again, until two looks in a row find nobody or the time is up.

    The first look only stops them. Killing cuts the tree, and an agent whose command is killed a moment before the
    agent itself would go on to its next command. Two, because a process that is just forking or in exec can escape one.
    """
    deadline = time.monotonic() + limit
    struck: dict[tuple[int, str], ProcessEntry] = {}
    left = family.send(signal.SIGSTOP)
    quiet = 0 if left else 1
    while quiet < 2 and time.monotonic() < deadline:
        left = family.send(signal.SIGKILL)
        struck.update((member.identity, member) for member in left)
        quiet = 0 if left else quiet + 1
        time.sleep(PAUSE)
    survivors = {member.identity for member in left}
    return tuple(
        SweptProcess(member.pid, member.command, member.mark, survived=identity in survivors)
        for identity, member in struck.items()
    )


def sweep(mark_prefix: str, *, limit: float = SWEEP_LIMIT) -> list[SweptProcess]:
    """Kill every process whose mark starts with `mark_prefix`, and all below them, except this process.

    Reaches what this user may look at and signal, and gives what was found.
    """
    validate_mark(mark_prefix)  # an empty prefix would mean everybody's
    family = Family(lambda mark: mark.startswith(mark_prefix))
    return list(kill_until_gone(family, limit=limit))
