"""Damage that a person or a disk does to the journal of a simulated world: every kind must be noticed. The damage is
done to a copy of the disk, and the world goes on with the sound one."""

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path
from random import Random
from typing import Any, Final

from fairlead.errors import Code, FairleadError
from fairlead.flow.startup import sequence
from fairlead.kit.files import open_private_append
from fairlead.store import restoration
from fairlead.store.journal import SNAPSHOT_NAME, FileJournal, open_state
from fairlead.store.journal_check import DELAY_SECONDS
from fairlead.store.name_index import names_in
from fairlead.testing.clock import VirtualLoop
from fairlead.testing.disk import SimulatedDisk
from fairlead.testing.simulated_machine import SimulatedMachine
from fairlead.testing.stepped_writer import SteppedWriter
from fairlead.testing.world import JOURNAL, STATE, World

_CHECK_SECONDS: Final = 600.0
_OLDER_COPY: Final = Path("/backup.ndjson")


def probe_lost_lines(world: World, found: SimulatedDisk, rng: Random) -> None:
    """An older journal, or none, beside a snapshot that covers more: a start must stop and change nothing, and a
    restoration on purpose must be the way out."""
    if not found.exists(STATE / SNAPSHOT_NAME) or not found.exists(JOURNAL):
        return
    copy, whole = (found.crash(rng, power_lost=False) for _ in range(2))
    copy.capacity = whole.capacity = None
    covered = _snapshot_end(whole)
    if not covered:
        return  # a torn snapshot proves nothing
    _cut_journal(copy, rng.choice((0, covered // 2, rng.randrange(covered))))
    if rng.random() < 0.2:
        copy.unlink(JOURNAL)
    world.happened["journals that lost lines"] += 1
    before = _all_files(copy)
    refusal = _try_start(world, copy)
    if refusal is None:
        world.accuse("a start went on with a journal that had lost lines which its snapshot covers")
    elif refusal.code is not Code.E_JOURNAL_BROKEN or _all_files(copy) != before:
        world.accuse(f"a journal that lost lines was refused with {refusal.code}, and files were changed")
    else:
        _restore_on_purpose(world, copy, rng)


def _cut_journal(disk: SimulatedDisk, size: int) -> None:
    handle = open_private_append(JOURNAL, disk=disk)
    disk.truncate(handle, size)
    disk.close(handle)


def _try_start(world: World, disk: SimulatedDisk) -> FairleadError | None:
    """The real start, on this disk. None if it went on."""
    kept_disk, kept_loop, kept_holder = world.disk, world.loop, world.lock_holder
    world.disk, world.loop, world.lock_holder = disk, VirtualLoop(start=kept_loop.time()), 0

    async def start() -> None:
        async with AsyncExitStack() as stack:
            await sequence.start(SimulatedMachine(world, on_broken=lambda _: None), stack)

    try:
        world.loop.run(start())
    except FairleadError as refusal:
        return refusal
    finally:
        world.loop.close_abruptly()
        world.disk, world.loop, world.lock_holder = kept_disk, kept_loop, kept_holder
    return None


def _restore_on_purpose(world: World, disk: SimulatedDisk, rng: Random) -> None:
    """With what is left, or with an older copy that somebody kept. Then a start must go on, and the old files must be
    there."""
    source = None
    if rng.random() < 0.5 and disk.exists(JOURNAL) and disk.size_of(JOURNAL):
        source = _OLDER_COPY
        handle = open_private_append(source, disk=disk)
        disk.write(handle, disk.read(JOURNAL))
        disk.sync(handle)
        disk.close(handle)
    before = set(disk.listdir(STATE))
    try:
        restoration.carry_out(restoration.plan_restoration(STATE, disk, source), STATE, disk, "now")
        open_state(STATE, disk)
    except FairleadError as refusal:
        if refusal.code is Code.E_CONFIG and source is not None:
            return  # the copy holds no whole line
        world.accuse(f"a restoration on purpose was no way out: {refusal.message}")
        return
    kept = [name for name in disk.listdir(STATE) if name.startswith(f"{SNAPSHOT_NAME}.{restoration.ASIDE}")]
    if not kept or not before - {SNAPSHOT_NAME} <= set(disk.listdir(STATE)):
        world.accuse("a restoration on purpose did not keep the old files")
    world.happened["restorations on purpose"] += 1


def probe_rot(world: World, rng: Random) -> None:
    """When all is quiet: a bit that flips anywhere stops the next start, or is found by its check in the background,
    and nobody reads the damaged line as if it were whole."""
    for _ in range(3):
        copy = world.disk.crash(rng, power_lost=False)
        at = rng.randrange(copy.size_of(JOURNAL))
        name = _name_at(copy, at)
        copy.flip_bit(JOURNAL, at, rng.randrange(8))
        try:
            found = _run(lambda disk=copy, about=name: _look_for_rot(world, disk, about))
        except FairleadError as refusal:
            world.happened["flipped bits that stopped a start"] += 1
            if refusal.code is not Code.E_JOURNAL_BROKEN:
                world.accuse(f"a flipped bit was called {refusal.code}")
            continue
        world.happened["flipped bits below a snapshot"] += 1
        if not found:
            world.accuse(f"nobody noticed the flipped bit in byte {at} of the journal")


async def _look_for_rot(world: World, disk: SimulatedDisk, name: str) -> bool:
    """What the check in the background says, some minutes after a start."""

    async def offload(work: Callable[[], Any]) -> Any:
        await asyncio.sleep(0.01)
        return work()

    opened = open_state(STATE, disk)
    writer = SteppedWriter(lambda: 0.01)
    journal = FileJournal(STATE, opened, disk=disk, writer=writer, offload=offload, on_broken=lambda _: None)
    check = asyncio.ensure_future(journal.keep_checking())
    await asyncio.sleep(DELAY_SECONDS + _CHECK_SECONDS)
    check.cancel()
    if name:
        try:
            await journal.lines_about([name])
        except FairleadError as broken:
            world.happened["damaged lines read back"] += 1
            if broken.code is not Code.E_JOURNAL_BROKEN:
                world.accuse(f"a damaged line that was read back was called {broken.code}")
        else:
            world.accuse(f"a damaged line about {name} was read back as if it were whole")
    return bool(journal.damage)


def _name_at(disk: SimulatedDisk, at: int) -> str:
    """What the line that holds this byte is about; empty if it names nothing."""
    data = disk.read(JOURNAL)
    begin, end = data.rfind(b"\n", 0, at) + 1, data.find(b"\n", at) + 1
    return min(names_in(data[begin:end]), default="")


def _run(make: Callable[[], Any]) -> Any:
    loop = VirtualLoop()
    try:
        return loop.run(make())
    finally:
        loop.close_abruptly()


def _all_files(disk: SimulatedDisk) -> dict[str, bytes]:
    """Every file below the state directory, with its content."""
    found: dict[str, bytes] = {}
    left = [STATE]
    while left:
        path = left.pop()
        try:
            left += [path / name for name in disk.listdir(path)]
        except OSError:
            found[str(path)] = disk.read(path)
    return found


def _snapshot_end(disk: SimulatedDisk) -> int:
    try:
        return open_state(STATE, disk).snapshot_end
    except FairleadError:
        return 0  # the next start will say why
