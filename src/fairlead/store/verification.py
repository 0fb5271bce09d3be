"""Checks every rule of a journal without changing a byte: lines, snapshot, index, and the account of its messages.

The journal is read in blocks, so that checking a large one takes no more memory than its live state."""

from dataclasses import asdict
from pathlib import Path

import msgspec

from fairlead.core.fold import replay
from fairlead.core.state import Account, State, as_data
from fairlead.errors import FairleadError
from fairlead.kit.files import Disk
from fairlead.render.errors import error_sentence, error_text
from fairlead.store.journal import JOURNAL_NAME, SNAPSHOT_NAME
from fairlead.store.name_index import INDEX_NAME, agrees_with_journal, load_index
from fairlead.store.reader import Position, decode_strictly, find_finished_end, read_lines
from fairlead.store.snapshot import SnapshotUnusable, load_snapshot


class Verdict(msgspec.Struct, frozen=True):
    ok: bool
    lines: tuple[str, ...]


def verify(directory: Path, disk: Disk) -> Verdict:
    path = directory / JOURNAL_NAME
    if not disk.exists(path):
        return Verdict(ok=True, lines=(f"{path}: there is no journal yet.",))
    size = disk.size_of(path)
    end = find_finished_end(disk, path, size)
    state = State()
    try:
        position = read_lines(disk, path, Position(), end, lambda lines: replay(state, lines), decode=decode_strictly)
    except FairleadError as broken:
        return Verdict(ok=False, lines=(error_sentence(broken),))
    said = [f"{path}: {position.seq} lines, numbered without a gap, every checksum right."]
    if end < size:
        said.append(
            f"The last {size - end} bytes are not finished (being written, or torn): the next start cuts them off."
        )
    snapshot_ok = _check_snapshot(directory, disk, state, said)
    index_ok = _check_index(directory, disk, end, said)
    account_ok = _check_account(state, said)
    return Verdict(ok=snapshot_ok and index_ok and account_ok, lines=tuple(said))


def _check_snapshot(directory: Path, disk: Disk, state: State, said: list[str]) -> bool:
    """Snapshot and the journal after it must give the same state as the journal alone."""
    path, journal = directory / SNAPSHOT_NAME, directory / JOURNAL_NAME
    try:
        loaded = load_snapshot(path, journal, disk)
    except SnapshotUnusable as why:
        said.append(f"{path} will not be used: {why}. The journal alone is enough.")
        return True
    if loaded is None:
        said.append(f"{path}: there is none; the journal alone is enough.")
        return True
    end = find_finished_end(disk, journal, disk.size_of(journal))
    try:
        read_lines(disk, journal, loaded.position, end, lambda lines: replay(loaded.state, lines))
    except FairleadError as broken:
        said.append(f"{path}: what follows it cannot be read. {error_text(broken).what}")
        return False
    same = loaded.state.seq != state.seq or as_data(loaded.state) == as_data(state)
    covers = f"covers {loaded.position.seq} lines"
    said.append(f"{path}: {covers} and agrees." if same else f"{path}: {covers} and DISAGREES with the journal.")
    return same


def _check_index(directory: Path, disk: Disk, end: int, said: list[str]) -> bool:
    """Every run of the index must have the names that its blocks of the journal hold."""
    path, journal = directory / INDEX_NAME, directory / JOURNAL_NAME
    index = load_index(path, journal, disk, end)
    if not index.runs:
        said.append(f"{path}: there is none; the daemon makes it from the journal.")
        return True
    try:
        same = all(agrees_with_journal(run, journal, disk) for run in index.runs)
    except OSError as fault:  # a daemon that runs may be replacing it at this very moment
        said.append(f"{path}: it could not be read to its end ({fault}).")
        return True
    covers = f"covers {index.end} of {end} bytes"
    said.append(f"{path}: {covers} and agrees." if same else f"{path}: {covers} and DISAGREES with the journal.")
    return same


def _check_account(state: State, said: list[str]) -> bool:
    """Everything received has ended in one way, or is still live; nothing is counted twice."""
    account, live = state.account, state.live_counts()
    total = account.settled_total + sum(live.values())
    parts = (
        " + ".join(f"{count} {name}" for name, count in {**_count_outcomes(account), **live}.items() if count) or "0"
    )
    adds_up = account.received == total
    said.append(f"The account {'adds up' if adds_up else 'DOES NOT ADD UP'}: {account.received} received = {parts}.")
    return adds_up


def _count_outcomes(account: Account) -> dict[str, int]:
    return {name: count for name, count in asdict(account).items() if name != "received"}
