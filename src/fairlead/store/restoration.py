"""Going back on purpose: which facts an older or shorter journal forgets, and putting it in place. Blocking.

1. Nothing is changed before a person has read what would be forgotten.
2. The journal that is replaced, its snapshot and the blobs of forgotten facts are kept beside it.
3. The snapshot leaves last. It proves that the journal was longer, so a crash before that leaves a state that refuses
   to start, and never one that starts with less than was chosen.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from fairlead.core.fold import replay
from fairlead.core.ids import BlobName, JobId
from fairlead.core.state import State
from fairlead.errors import Code, error
from fairlead.kit.files import Disk, make_private_directory, read_if_there, replace_durably, replace_durably_with
from fairlead.store.blobs import BLOBS_NAME, named_blobs
from fairlead.store.journal import JOURNAL_NAME, SNAPSHOT_NAME
from fairlead.store.reader import BLOCK, DamagedLine, Position, find_finished_end, read_lines
from fairlead.store.snapshot import read_snapshot_state

ASIDE: Final = "before-restore"
TAKE_OVER: Final = Path("machines", "take-over")
"""In the state directory: a person went back on purpose, so the next daemon gives orders to other machines though one
that this journal does not know has given some. That daemon removes it."""


class Forgotten(msgspec.Struct, frozen=True, kw_only=True):
    """`jobs` are unknown afterwards, `answers` were still owed to somebody, `keys` counts messages that would be taken
    again if they came again, and `run_again` are jobs that have ended since and would be queued once more."""

    facts: int
    jobs: tuple[JobId, ...]
    answers: tuple[JobId, ...]
    keys: int
    run_again: tuple[JobId, ...]


class Restoration(msgspec.Struct, frozen=True, kw_only=True):
    """`source` holds the journal to go on with, up to byte `end`, which is `lines` lines long."""

    source: Path
    end: int
    lines: int
    damage: str
    forgotten: Forgotten
    kept_blobs: frozenset[BlobName]


class _Readable(msgspec.Struct, frozen=True):
    """As much of a journal as is sound, and why there is no more."""

    state: State
    position: Position
    damage: str = ""


def plan_restoration(directory: Path, disk: Disk, copy: Path | None = None) -> Restoration:
    """What going on with `copy`, or without it with what is sound of the journal here, would mean. Changes nothing.
    Raises E_JOURNAL_BROKEN for a copy that is damaged itself."""
    own = directory / JOURNAL_NAME
    here = _read_sound_part(own, disk)
    chosen = here if copy is None else _read_copy(copy, disk)
    snapshot = read_snapshot_state(directory / SNAPSHOT_NAME, disk)
    before = snapshot if snapshot is not None and snapshot.seq > here.state.seq else here.state
    common = chosen.position.seq if copy is None else _count_common_lines(own, here, copy, chosen, disk)
    return Restoration(
        source=own if copy is None else copy,
        end=chosen.position.offset,
        lines=chosen.position.seq,
        damage=chosen.damage,
        forgotten=_compare(before, chosen.state, max(0, before.seq - common)),
        kept_blobs=frozenset(named_blobs(chosen.state)),
    )


def carry_out(plan: Restoration, directory: Path, disk: Disk, stamp: str) -> list[Path]:
    """Put the chosen journal in place. Returns where the old files are kept. Only for the holder of the lock."""
    journal, snapshot = directory / JOURNAL_NAME, directory / SNAPSHOT_NAME
    kept: list[Path] = []
    if disk.exists(journal):
        kept.append(journal.with_name(f"{JOURNAL_NAME}.{ASIDE}-{stamp}"))
        replace_durably_with(kept[-1], _chunks(journal, disk, disk.size_of(journal)), disk=disk)
    kept += _keep_forgotten_blobs(plan, directory, disk, stamp)
    if disk.exists((directory / TAKE_OVER).parent):
        replace_durably(directory / TAKE_OVER, b"", disk=disk)
    _bring_blobs(plan, directory, disk)
    if plan.source != journal or (disk.exists(journal) and disk.size_of(journal) != plan.end):
        replace_durably_with(journal, _chunks(plan.source, disk, plan.end), disk=disk)
    if disk.exists(snapshot):
        kept.append(snapshot.with_name(f"{SNAPSHOT_NAME}.{ASIDE}-{stamp}"))
        disk.replace(snapshot, kept[-1])
        disk.sync_directory(directory)
    return kept


def _read_sound_part(journal: Path, disk: Disk) -> _Readable:
    """Up to the last batch before the first damage."""
    size = disk.size_of(journal) if disk.exists(journal) else 0
    end = find_finished_end(disk, journal, size) if size else 0
    damage = ""
    while True:
        state = State()
        try:
            position = read_lines(disk, journal, Position(), end, lambda some: replay(state, some))  # noqa: B023 - called in this round
        except DamagedLine as broken:
            damage = damage or broken.message
            end = find_finished_end(disk, journal, broken.before.offset)
        else:
            return _Readable(state, position, damage)


def _read_copy(copy: Path, disk: Disk) -> _Readable:
    if not disk.exists(copy):
        raise error(Code.E_CONFIG, f"There is no journal at {copy}.", next_step="Name a copy of events.ndjson.")
    end = find_finished_end(disk, copy, disk.size_of(copy))
    state = State()
    position = read_lines(disk, copy, Position(), end, lambda some: replay(state, some))
    if position.seq == 0:
        raise error(Code.E_CONFIG, f"{copy} is empty.", next_step="Name a copy of events.ndjson that is not empty.")
    return _Readable(state, position)


def _count_common_lines(own: Path, here: _Readable, copy: Path, chosen: _Readable, disk: Disk) -> int:
    """How many lines the copy shares with what was written here. Where one journal is the beginning of the other, the
    copy is taken to be of this very state as far as it goes; a copy of another state shares nothing."""
    if chosen.state.state_id != (here.state.state_id or chosen.state.state_id):
        return 0
    end = min(here.position.offset, chosen.position.offset)
    common = 0
    for offset in range(0, end, BLOCK):
        length = min(BLOCK, end - offset)
        mine, theirs = disk.read(own, offset, length), disk.read(copy, offset, length)
        if mine != theirs:
            differs = next(i for i, (a, b) in enumerate(zip(mine, theirs, strict=True)) if a != b)
            return common + mine[:differs].count(b"\n")
        common += mine.count(b"\n")
    return chosen.position.seq


def _compare(before: State, after: State, facts: int) -> Forgotten:
    ended_since = (j for j in after.jobs.values() if j.state == "queued" and not _is_queued(before, j.job_id))
    owed = (entry.job_id for key, entry in before.outbox.items() if entry.kind == "answer" and key not in after.outbox)
    return Forgotten(
        facts=facts,
        jobs=tuple(job_id for job_id in before.jobs if job_id not in after.jobs and facts),
        answers=tuple(owed),
        keys=len(_keys(before) - _keys(after)) if facts else 0,
        run_again=tuple(job.job_id for job in ended_since),
    )


def _is_queued(state: State, job_id: JobId) -> bool:
    job = state.jobs.get(job_id)
    return job is not None and job.state == "queued"


def _keys(state: State) -> set[tuple[str, str]]:
    days = (state.outcomes_today, *state.outcomes_by_day.values())
    return {(address, message_id) for day in days for address, outcomes in day.items() for message_id in outcomes}


def _keep_forgotten_blobs(plan: Restoration, directory: Path, disk: Disk, stamp: str) -> list[Path]:
    """The next start removes blobs that no fact names: those of forgotten facts are copied aside before."""
    blobs = directory / BLOBS_NAME
    names = disk.listdir(blobs) if disk.exists(blobs) else []
    forgotten = [name for name in names if name not in plan.kept_blobs and not name.startswith(".")]
    if not forgotten:
        return []
    aside = directory / f"{BLOBS_NAME}.{ASIDE}-{stamp}"
    make_private_directory(aside, disk=disk)
    for name in forgotten:
        replace_durably(aside / name, disk.read(blobs / name), disk=disk)
    return [aside]


def _bring_blobs(plan: Restoration, directory: Path, disk: Disk) -> None:
    """A copy of a whole state directory has the blobs that its journal names."""
    here = directory / BLOBS_NAME
    make_private_directory(here, disk=disk)
    for name in sorted(plan.kept_blobs):
        data = None if disk.exists(here / name) else read_if_there(plan.source.parent / BLOBS_NAME / name, disk=disk)
        if data is not None:
            replace_durably(here / name, data, disk=disk)


def _chunks(path: Path, disk: Disk, end: int) -> Iterator[bytes]:
    for offset in range(0, end, BLOCK):
        yield disk.read(path, offset, min(BLOCK, end - offset))
