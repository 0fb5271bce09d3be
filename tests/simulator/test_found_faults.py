"""Faults that the simulator found, each told as the short story it came down to."""

import asyncio
from random import Random

from fairlead.core.events import JobWithdrawn
from fairlead.kit.files import make_private_directory
from fairlead.store.journal import FileJournal, open_state
from fairlead.store.writer import AppendFile
from fairlead.testing.clock import run_virtually
from fairlead.testing.disk import SimulatedDisk
from fairlead.testing.stepped_writer import SteppedWriter
from fairlead.testing.world import JOURNAL, STATE


async def offload(work):
    await asyncio.sleep(0.01)
    return work()


def test_a_journal_whose_maker_died_before_its_name_was_durable_is_kept_by_the_next_one():
    disk = SimulatedDisk()
    disk.mkdir(STATE)
    disk.open_append(JOURNAL)
    disk = disk.crash(Random(1), power_lost=False)
    make_private_directory(STATE, disk=disk)
    file = AppendFile(JOURNAL, disk)
    file.write(b"a promise\n")
    file.sync()
    for seed in range(50):
        assert disk.crash(Random(seed)).read(JOURNAL) == b"a promise\n"


def test_looking_back_while_newer_lines_are_not_yet_written_ends():
    async def story() -> list[str]:
        disk = SimulatedDisk()
        make_private_directory(STATE, disk=disk)
        opened = open_state(STATE, disk)
        journal = FileJournal(
            STATE, opened, disk=disk, writer=SteppedWriter(lambda: 5.0), offload=offload, on_broken=lambda _: None
        )
        journal.append("2026-01-05T08:00:00.000Z", 1, [JobWithdrawn("job_1", "")])
        looking = asyncio.ensure_future(journal.lines_about(["job_1"]))
        await asyncio.sleep(7)
        journal.append("2026-01-05T08:00:07.000Z", 2, [JobWithdrawn("job_1", "again")])
        return [type(found.event).__name__ for found in await looking]

    assert run_virtually(story()) == ["JobWithdrawn"]
