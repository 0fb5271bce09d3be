"""The state at a durable moment, so that a start reads only the tail of the journal. The journal alone is the source of
facts: a snapshot can be deleted.

A snapshot names the last line it covers by seq, byte offset and crc, and ends with the crc of its own bytes: one that
was damaged, or made by another version, is set aside. It is written only when every line it covers is durable. So a
journal that lacks the covered line has lost facts, and the code that opens it must stop.
Its file keeps the names of the published format (`thread_id`, `project_name`, `discord_message_id`, `dedupe` …).
"""

from pathlib import Path
from typing import Any, Final

import msgspec

from fairlead.core.state import FOLD_VERSION, State, resume_slot
from fairlead.kit.files import Disk, read_if_there, replace_durably
from fairlead.store import lines
from fairlead.store.reader import Position

FORMAT_VERSION: Final = 1
_STATE_NAMES: Final = {
    "outbox": "debts",
    "outcomes_today": "fates_of_today",
    "outcomes_by_day": "fates_of_days",
    "dedupe_floors": "floors",
}
_SESSION_NAMES: Final = {"session_id": "thread_id", "project": "project_name", "runtime": "tool"}
_JOB_NAMES: Final = {"session_id": "thread_id", "message_id": "discord_message_id"}
_SESSION_FIELDS: Final = ("queue", "running_job_id", "last_job_id")
_JOB_FIELDS: Final = ("tool", "error_code", "error_message", "started_at", "finished_at", "result_excerpt")
_JOB_DEFAULTS: Final = dict.fromkeys(_JOB_FIELDS) | {"attempt": 1}
_RESUME_FIELD: Final = {"codex": "thread_id"}


class SnapshotUnusable(Exception):  # noqa: N818 - says what the snapshot is
    """Why a snapshot cannot be used. `covered` is the last line that it proves to have been durable all the same."""

    def __init__(self, why: str, *, covered: int = 0) -> None:
        super().__init__(why)
        self.covered = covered


class JournalFellBehind(Exception):  # noqa: N818 - says what the journal is
    """The journal does not hold the line that an undamaged snapshot covers. `covered` is the number of that line;
    `is_shorter` is False where the journal has another line in its place."""

    def __init__(self, covered: int, *, is_shorter: bool) -> None:
        super().__init__(f"line {covered}, which the snapshot covers, is not in the journal")
        self.covered = covered
        self.is_shorter = is_shorter


class Loaded(msgspec.Struct, frozen=True):
    state: State
    position: Position


class _Cover(msgspec.Struct, frozen=True):
    version: int
    fold: int
    seq: int
    offset: int
    line_crc: str
    line_length: int


def encode_snapshot(state: State, position: Position, last_line: bytes) -> bytes:
    """`last_line` is the last line covered, without its newline."""
    cover = {
        "version": FORMAT_VERSION,
        "fold": FOLD_VERSION,
        "seq": position.seq,
        "offset": position.offset,
        "line_crc": f"{lines.claimed_crc(last_line) or 0:08x}",
        "line_length": len(last_line),
    }
    return lines.seal(msgspec.json.encode(cover | _to_published(msgspec.to_builtins(state), state)))


def write_snapshot(path: Path, data: bytes, disk: Disk) -> None:
    replace_durably(path, data, disk=disk)


def load_snapshot(path: Path, journal: Path, disk: Disk) -> Loaded | None:
    """None if there is none; raises SnapshotUnusable with the reason if there is one that cannot be used, and
    JournalFellBehind if there is one that proves a loss."""
    data = read_if_there(path, disk=disk)
    if data is None:
        return None
    cover = _read_cover(data)
    # Before the version of the fold is looked at: what another version covered was durable all the same.
    chain = _chain_after_cover(cover, journal, disk)
    return Loaded(_decode_state(data, cover), Position(cover.offset, cover.seq, chain, has_crc=True))


def read_snapshot_state(path: Path, disk: Disk) -> State | None:
    """The state of an undamaged snapshot, whatever the journal beside it holds; None if there is none to be had."""
    data = read_if_there(path, disk=disk)
    try:
        return None if data is None else _decode_state(data, _read_cover(data))
    except SnapshotUnusable:
        return None


def _read_cover(data: bytes) -> _Cover:
    try:
        cover = msgspec.json.decode(data, type=_Cover)
    except lines.UNREADABLE as fault:
        raise SnapshotUnusable(f"it cannot be read ({fault})") from None
    if cover.version != FORMAT_VERSION:
        raise SnapshotUnusable(f"it was made by another version (format {cover.version}, fold {cover.fold})")
    if not lines.is_sealed(data):
        raise SnapshotUnusable("its checksum is wrong")
    return cover


def _decode_state(data: bytes, cover: _Cover) -> State:
    if cover.fold != FOLD_VERSION:
        why = f"it was made by another version (format {cover.version}, fold {cover.fold})"
        raise SnapshotUnusable(why, covered=cover.seq)
    try:
        return msgspec.convert(_from_published(msgspec.json.decode(data)), State)
    except (*lines.UNREADABLE, KeyError, AttributeError, TypeError) as fault:
        raise SnapshotUnusable(f"its content cannot be read ({fault})", covered=cover.seq) from None


def _chain_after_cover(cover: _Cover, journal: Path, disk: Disk) -> int:
    """The chain at the covered offset, once the journal has been seen to hold the very line that the snapshot names."""
    start = cover.offset - cover.line_length - 1
    before = min(max(start, 0), lines.LINE_END_LENGTH)
    read = disk.read(journal, max(start, 0) - before, before + cover.line_length + 1) if disk.exists(journal) else b""
    covered = read[before:-1]
    if len(covered) != cover.line_length:
        raise JournalFellBehind(cover.seq, is_shorter=True)
    chain_before = lines.chain_behind(read[:before]) if before else 0
    is_sound = chain_before is None or lines.is_sound(covered, chain_before)
    claimed, chain = lines.claimed_crc(covered), lines.chain_behind(read)
    if claimed is None or chain is None or f"{claimed:08x}" != cover.line_crc or not is_sound:
        raise JournalFellBehind(cover.seq, is_shorter=False)
    return chain


def _to_published(data: dict[str, Any], state: State) -> dict[str, Any]:
    sessions = {}
    for key, session in data["sessions"].items():
        live = state.sessions[key]
        project = state.projects.get(live.project)
        resume = live.resume_keys.get(
            resume_slot(live.runtime, state.directory_of(live.session_key, project) if project else "")
        )
        shown = _rename_fields(session, _SESSION_NAMES) | {
            "adapter_state": {_RESUME_FIELD.get(live.runtime, "session_id"): resume} if resume else {},
            "adapter_states": live.resume_keys,
        }
        # Another agent id may have had a session in the same thread.
        name = live.session_id if live.session_id not in sessions else key
        sessions[name] = dict.fromkeys(_SESSION_FIELDS) | {"queue": []} | shown
    jobs = {key: _JOB_DEFAULTS | _rename_fields(job, _JOB_NAMES) for key, job in data["jobs"].items()}
    days = (*state.outcomes_by_day.values(), state.outcomes_today)
    dedupe = {f"{at}:{i}": outcome for day in days for at, outcomes in day.items() for i, outcome in outcomes.items()}
    return _rename_fields(data, _STATE_NAMES) | {"sessions": sessions, "jobs": jobs, "dedupe": dedupe}


def _from_published(data: dict[str, Any]) -> dict[str, Any]:
    sessions = {}
    for session in data["sessions"].values():
        inner = _rename_fields(session, _invert(_SESSION_NAMES))
        inner.pop("adapter_state")
        inner.pop("adapter_states")
        sessions[inner["session_key"]] = inner
    jobs = {k: _rename_fields(j, _invert(_JOB_NAMES)) for k, j in data["jobs"].items()}
    return _rename_fields(data, _invert(_STATE_NAMES)) | {"sessions": sessions, "jobs": jobs}


def _rename_fields(fields: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    return {names.get(name, name): value for name, value in fields.items()}


def _invert(names: dict[str, str]) -> dict[str, str]:
    return {shown: name for name, shown in names.items()}
