"""Checks every rule of a journal without changing a byte: lines, snapshot, index, and the account of its messages.

The journal is read in blocks, so that checking a large one takes no more memory than its live state."""

from dataclasses import asdict
from pathlib import Path
from typing import Final

import msgspec

from fairlead.core.fold import replay
from fairlead.core.state import Account, State, as_data
from fairlead.errors import FairleadError
from fairlead.kit.files import Disk
from fairlead.render.errors import error_sentence, error_text
from fairlead.store.journal import JOURNAL_NAME, SNAPSHOT_NAME, explain_loss
from fairlead.store.name_index import INDEX_NAME, IndexSizes, LoadedIndex, agrees_with_journal, load_index
from fairlead.store.reader import STRICT, DamagedLine, Position, find_finished_end, read_lines
from fairlead.store.snapshot import JournalFellBehind, SnapshotUnusable, load_snapshot, read_snapshot_state
from fairlead.store.unsynced_tail import find_unsynced_tail, is_only_newline_wrong

_MADE_AGAIN: Final = "the next start creates it again."


class Verdict(msgspec.Struct, frozen=True):
    ok: bool
    lines: tuple[str, ...]


def verify(directory: Path, disk: Disk) -> Verdict:
    path = directory / JOURNAL_NAME
    size = disk.size_of(path) if disk.exists(path) else 0
    end = find_finished_end(disk, path, size) if size else 0
    loss = _find_loss(directory, disk, end)
    if loss:
        return Verdict(ok=False, lines=(loss,))
    if not disk.exists(path):
        return Verdict(ok=True, lines=(f"{path}: there is no journal yet.",))
    try:
        state, position = _read_all(path, disk, end)
        if is_only_newline_wrong(disk.read(path, end), position.chain):
            raise DamagedLine(path, position, "the newline at its end was changed after it was written.")
    except DamagedLine as broken:
        unsynced = find_unsynced_tail(disk, path, broken, _covered_seq(directory, disk))
        if unsynced is None:
            return Verdict(ok=False, lines=(error_sentence(broken),))
        end = unsynced
        state, position = _read_all(path, disk, end)
    said = [f"{path}: {position.seq} lines, numbered without a gap, every checksum right."]
    if end < size:
        said.append(
            f"The last {size - end} bytes are not finished (being written, or torn): the next start cuts them off."
        )
    snapshot_ok = _check_snapshot(directory, disk, state, end, said)
    index_ok = _check_index(directory, disk, end, said)
    account_ok = _check_account(state, said)
    return Verdict(ok=snapshot_ok and index_ok and account_ok, lines=tuple(said))


def _read_all(path: Path, disk: Disk, end: int) -> tuple[State, Position]:
    state = State()
    read = read_lines(disk, path, Position(), end, lambda lines: replay(state, lines), decoding=STRICT)
    return state, read


def _covered_seq(directory: Path, disk: Disk) -> int:
    snapshot = read_snapshot_state(directory / SNAPSHOT_NAME, disk)
    return 0 if snapshot is None else snapshot.seq


def _find_loss(directory: Path, disk: Disk, end: int) -> str:
    """What the snapshot proves to be missing from the journal; empty if nothing is."""
    try:
        load_snapshot(directory / SNAPSHOT_NAME, directory / JOURNAL_NAME, disk)
    except SnapshotUnusable:
        return ""  # the check of the snapshot says why
    except JournalFellBehind as loss:
        try:
            return error_sentence(explain_loss(directory, disk, end, loss))
        except FairleadError as broken:
            return error_sentence(broken)
    return ""


def _check_snapshot(directory: Path, disk: Disk, state: State, end: int, said: list[str]) -> bool:
    """Snapshot and the journal after it must give the same state as the journal alone."""
    path, journal = directory / SNAPSHOT_NAME, directory / JOURNAL_NAME
    try:
        loaded = load_snapshot(path, journal, disk)
    except (SnapshotUnusable, JournalFellBehind) as why:  # a daemon that runs may have replaced it since
        said.append(f"{path} will not be used: {why}. The journal alone is enough.")
        return True
    if loaded is None:
        said.append(f"{path}: it does not exist; the journal alone is enough.")
        return True
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
        said.append(f"{path}: {_why_no_index(index, end)}")
        return True
    try:
        same = all(agrees_with_journal(run, journal, disk) for run in index.runs)
    except OSError as fault:  # a daemon that runs may be replacing it at this very moment
        said.append(f"{path}: it could not be read to its end ({fault}).")
        return True
    covers = f"covers {index.end} of {end} bytes"
    if not same:
        said.append(f"{path}: {covers} and DISAGREES with the journal. Stop Fairlead and delete it: {_MADE_AGAIN}")
        return False
    others = f" {len(index.unusable)} other file(s) in it do not fit: the next start removes them."
    said.append(f"{path}: {covers} and agrees.{others if index.unusable else ''}")
    return True


def _why_no_index(index: LoadedIndex, journal_end: int) -> str:
    if index.unusable:
        return f"it does not fit the journal: {_MADE_AGAIN}"
    if journal_end < IndexSizes().unit:
        return "it does not exist; a journal of this size does not need one."
    return "it does not exist; the next start creates it from the journal."


def _check_account(state: State, said: list[str]) -> bool:
    """Everything received has ended in one way, or is still live; nothing is counted twice."""
    account, live = state.account, state.live_counts()
    total = account.settled_total + sum(live.values())
    parts = (
        " + ".join(f"{count} {name}" for name, count in {**_count_outcomes(account), **live}.items() if count) or "0"
    )
    adds_up = account.received == total
    said.append(f"The totals {'match' if adds_up else 'DO NOT MATCH'}: {account.received} received = {parts}.")
    return adds_up


def _count_outcomes(account: Account) -> dict[str, int]:
    return {name: count for name, count in asdict(account).items() if name != "received"}
