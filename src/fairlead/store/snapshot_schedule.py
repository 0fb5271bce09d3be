"""When a snapshot is due: after N events or seconds, one at a time, and seldom enough to leave the disk free."""

import asyncio
from typing import Final

import msgspec

from fairlead.core.state import State
from fairlead.observe import log
from fairlead.ports import Snapshots

QUIET_SEC: Final = 0.1
REST_FACTOR: Final = 20
"""After a snapshot, rest this many times as long as it took: a large state must not keep the disk busy."""


class SnapshotPace(msgspec.Struct, frozen=True):
    every_events: int = 50
    every_seconds: float = 5.0


async def keep_snapshots(journal: Snapshots, state: State, pace: SnapshotPace) -> None:
    """For ever. A snapshot that cannot be written is logged and tried again: a start can do without it."""
    loop = asyncio.get_running_loop()
    covered = state.seq
    while True:
        await journal.until_appended(covered + 1)
        try:
            async with asyncio.timeout(pace.every_seconds):
                await journal.until_appended(covered + pace.every_events)
        except TimeoutError:
            pass
        await _until_quiet(state, pace)
        began = loop.time()
        covered = state.seq
        try:
            await journal.snapshot(state)
        except OSError as fault:
            log.warning("snapshot not written", message=str(fault), error_code="E_DISK_FULL")
            covered = 0
            await asyncio.sleep(pace.every_seconds)
        else:
            await asyncio.sleep((loop.time() - began) * REST_FACTOR)


async def _until_quiet(state: State, pace: SnapshotPace) -> None:
    """What made the snapshot due is mostly a message, and its agent starts in these very milliseconds. Where it is
    never quiet, this waits no longer than the snapshot might have waited anyway."""
    for _ in range(int(pace.every_seconds / QUIET_SEC)):
        seen = state.seq
        await asyncio.sleep(QUIET_SEC)
        if state.seq == seen:
            return
