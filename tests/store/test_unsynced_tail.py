"""Pages of an unsynced write that came to disk out of order are a torn tail; the same hole in durable lines is not."""

import zlib
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.core.events import PersonSeen
from fairlead.core.state import FOLD_VERSION
from fairlead.errors import Code, FairleadError
from fairlead.store.journal import JOURNAL_NAME, SNAPSHOT_NAME, open_state
from fairlead.store.lines import encode_batch
from fairlead.store.restoration import carry_out, plan_restoration
from fairlead.store.snapshot import encode_snapshot
from fairlead.store.unsynced_tail import SECTOR
from fairlead.store.verification import verify
from fairlead.testing.disk import SimulatedDisk
from tests.store.harness import STATE, STORY, TS, disk_with, encoded
from tests.store.test_snapshot import resealed

pytestmark = pytest.mark.req("A8", "A15")

JOURNAL = STATE / JOURNAL_NAME
DURABLE = encoded()
LINES = sum(map(len, STORY))


def written_at_once(batches: int, *, size: int = 2, words: int = 40) -> tuple[bytes, list[int]]:
    """Batches that went to disk as one write, and where each ends: none was durable before the next was written."""
    chain, seq, data, ends = zlib.crc32(DURABLE), LINES, b"", [len(DURABLE)]
    for number in range(batches):
        events = [PersonSeen(f"p{number}-{n}", "x" * words) for n in range(size)]
        made, chain = encode_batch(seq + 1, TS, events, chain, unsynced=seq - LINES)
        seq += size
        data += made
        ends.append(len(DURABLE) + len(data))
    return data, ends


def without_page(journal: bytes, page: int, first: int) -> bytes:
    """The journal with one page of zeros; bytes before `first` were durable and stay."""
    begin, end = max(page * SECTOR, first), min((page + 1) * SECTOR, len(journal))
    return journal[:begin] + bytes(end - begin) + journal[end:]


TAIL, ENDS = written_at_once(12)
WHOLE = DURABLE + TAIL
FIRST_PAGE, LAST_PAGE = len(DURABLE) // SECTOR, (len(WHOLE) - 1) // SECTOR


@given(lost=st.sets(st.integers(FIRST_PAGE, LAST_PAGE), min_size=1))
def test_pages_of_an_unsynced_write_that_are_missing_tear_the_tail(lost: set[int]):
    spoilt = WHOLE
    for page in lost:
        spoilt = without_page(spoilt, page, len(DURABLE))
    disk = disk_with(spoilt)
    first_lost = max(min(lost) * SECTOR, len(DURABLE))
    kept = max(end for end in ENDS if end <= first_lost)
    verdict = verify(STATE, disk)
    assert verdict.ok, verdict.lines
    opened = open_state(STATE, disk)
    assert disk.read(JOURNAL) == WHOLE[:kept]
    assert disk.read(STATE / f"{JOURNAL_NAME}.torn-at-{kept}") == spoilt[kept:]
    assert "never acknowledged" in opened.reports[0]


def refused(disk: SimulatedDisk) -> bool:
    before = disk.read(JOURNAL)
    with pytest.raises(FairleadError) as stop:
        open_state(STATE, disk)
    assert disk.read(JOURNAL) == before
    return stop.value.code is Code.E_JOURNAL_BROKEN and not verify(STATE, disk).ok


@pytest.mark.parametrize("page", range(len(DURABLE) // SECTOR))
def test_the_same_hole_in_lines_that_a_later_line_calls_durable_stops_the_start(page: int):
    assert refused(disk_with(without_page(WHOLE, page, 0)))


@pytest.mark.parametrize("fold", [FOLD_VERSION, FOLD_VERSION - 1])
def test_a_hole_in_lines_that_a_snapshot_covers_stops_the_start(fold: int):
    """Also one of an earlier version, which is of no other use: what it covers was durable."""
    opened = open_state(STATE, disk_with(WHOLE))
    snapshot = resealed(encode_snapshot(opened.state, opened.position, opened.last_line), fold=fold)
    disk = disk_with(snapshot, SNAPSHOT_NAME, disk_with(without_page(WHOLE, LAST_PAGE - 1, len(DURABLE))))
    if fold == FOLD_VERSION:
        assert not verify(STATE, disk).ok  # a start finds it in the background
    else:
        with pytest.raises(FairleadError):
            open_state(STATE, disk)


@given(at=st.integers(len(DURABLE), len(WHOLE) - 1), bit=st.integers(0, 7))
def test_a_flipped_bit_in_an_unsynced_write_is_no_lost_page(at: int, bit: int):
    spoilt = bytearray(WHOLE)
    spoilt[at] ^= 1 << bit
    assert refused(disk_with(bytes(spoilt)))


@pytest.mark.parametrize("seed", range(20))
def test_other_bytes_in_place_of_a_page_are_refused_and_a_restoration_keeps_every_line_before_them(seed: int):
    """A file system that gives out blocks before it writes them can leave bytes of an older file there. Nothing tells
    them from damage to the last lines that were acknowledged, so a person decides, with `fairlead restore`."""
    random = Random(seed)
    page = random.randint(FIRST_PAGE + 1, LAST_PAGE - 1) * SECTOR
    stale = random.choice([random.randbytes(SECTOR), encoded()[:SECTOR], b'{"seq":1}\n' * 52])[:SECTOR]
    disk = disk_with(WHOLE[:page] + stale + WHOLE[page + len(stale) :])
    assert refused(disk)
    carry_out(plan_restoration(STATE, disk), STATE, disk, "then")
    kept = max(end for end in ENDS if end <= page)
    assert disk.read(JOURNAL)[:kept] == WHOLE[:kept]
    assert verify(STATE, disk).ok
    open_state(STATE, disk)
