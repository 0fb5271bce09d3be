"""What a snapshot covers is checked beside the daemon's work, a little at a time."""

import asyncio
from itertools import pairwise

import pytest

from fairlead.core.events import PersonSeen
from fairlead.store.journal import JOURNAL_NAME
from fairlead.store.journal_check import AGAIN_SECONDS, DELAY_SECONDS, JournalCheck
from fairlead.store.reader import BLOCK
from fairlead.testing.clock import run_virtually
from tests.store.harness import STATE, STORY, disk_with, encoded

pytestmark = pytest.mark.req("A15")

JOURNAL = STATE / JOURNAL_NAME
DATA = encoded([*STORY, *([PersonSeen(f"p{n}", "x" * 900)] for n in range(1500))])


async def checked(disk, *, seconds: float) -> JournalCheck:
    steps = []

    async def offload(work):
        steps.append(check.checked_bytes)
        return work()

    check = JournalCheck(JOURNAL, disk=disk, offload=offload, end=len(DATA))
    task = asyncio.ensure_future(check.keep_checking())
    await asyncio.sleep(seconds)
    task.cancel()
    assert all(later - earlier <= BLOCK for earlier, later in pairwise(steps) if later > earlier)
    return check


def test_it_waits_until_the_start_is_over_and_then_reads_everything():
    assert run_virtually(checked(disk_with(DATA), seconds=DELAY_SECONDS - 1)).checked_bytes == 0
    check = run_virtually(checked(disk_with(DATA), seconds=DELAY_SECONDS + 60))
    assert (check.checked_bytes, check.rounds, check.damage) == (len(DATA), 1, "")


def test_it_looks_again_every_day():
    assert run_virtually(checked(disk_with(DATA), seconds=3 * AGAIN_SECONDS)).rounds == 3


@pytest.mark.parametrize("at", [3, len(DATA) // 2, len(DATA) - 2])
def test_a_flipped_bit_is_found_and_its_line_named(at: int):
    disk = disk_with(DATA)
    disk.flip_bit(JOURNAL, at, 1)
    check = run_virtually(checked(disk, seconds=DELAY_SECONDS + 60))
    line = DATA[:at].count(b"\n") + 1
    assert f"line {line}: " in check.damage or f"line {line + 1}: " in check.damage
