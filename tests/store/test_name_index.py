"""Looking back through the index finds what reading the whole journal finds, whatever became of the index."""

import asyncio
from itertools import pairwise
from random import Random

import pytest

from fairlead.core.conversation import ConversationRef
from fairlead.core.events import (
    DeliveryAcknowledged,
    JobEnqueued,
    JobProgress,
    JobWithdrawn,
    JournalEvent,
    MessageSkipped,
    QuestionClosed,
)
from fairlead.errors import Code, FairleadError
from fairlead.store.history import find_lines, read_lines_about
from fairlead.store.journal import JOURNAL_NAME, FileJournal, Opened
from fairlead.store.name_index import (
    INDEX_NAME,
    Block,
    IndexSizes,
    agrees_with_journal,
    load_index,
    names_in,
    write_run,
)
from fairlead.store.reader import Position, read_lines
from fairlead.store.verification import verify
from fairlead.testing.clock import run_virtually
from fairlead.testing.disk import SimulatedDisk
from fairlead.testing.stepped_writer import SteppedWriter
from tests.store.harness import STATE, TS, at_once, disk_with, encoded

JOURNAL = STATE / JOURNAL_NAME
INDEX = STATE / INDEX_NAME
SMALL = IndexSizes(block=300, unit=1000, fan_out=2)
HERE = ConversationRef("http", "local", "me")
ODD_NAMES = ('a "quoted" key', "clé", "back\\slash", "1234567890123456789")


def events_about(number: int) -> list[JournalEvent]:
    job = f"job_20260105_{number:04d}"
    message = ODD_NAMES[number] if number < len(ODD_NAMES) else f"m{number}"
    retry_of = f"job_20260105_{number - 7:04d}" if number >= 7 else ""
    return [
        JobEnqueued(
            job_id=job,
            session_key="agent:a:user:me",
            conversation=HERE,
            message_id=message,
            person="me",
            prompt=f"say job_20260105_{number + 1:04d}",
            retry_of=retry_of,
        ),
        JobProgress(job, 1),
        MessageSkipped(HERE, f"s{number}", "me", "too old"),
        QuestionClosed(f"q_{number}", "expired"),
        JobWithdrawn(job, "deleted"),
        DeliveryAcknowledged(f"debt_{job}"),
    ]


HISTORY = [[event] for number in range(60) for event in events_about(number)]
DATA = encoded(HISTORY)


class CountingDisk(SimulatedDisk):
    """Says how much of the journal was read."""

    journal_bytes_read = 0

    def read(self, path, offset=0, length=None):
        data = super().read(path, offset, length)
        self.journal_bytes_read += len(data) if path == JOURNAL else 0
        return data


def journal_on(disk: SimulatedDisk, sizes: IndexSizes = SMALL) -> FileJournal:
    """As a start opens it, but for the state, which nobody asks for here."""
    end = disk.size_of(JOURNAL)
    position = read_lines(disk, JOURNAL, Position(), end, lambda _: None)
    opened = Opened(None, position, b"")
    writer = SteppedWriter(lambda: 0.001)
    return FileJournal(
        STATE, opened, disk=disk, writer=writer, offload=at_once, on_broken=lambda _: None, index_sizes=sizes
    )


async def until_indexed(journal: FileJournal) -> None:
    """All that is worth a run has become one."""
    keeping = asyncio.ensure_future(journal.keep_index())
    await asyncio.sleep(5)
    keeping.cancel()
    await asyncio.wait({keeping})


def indexed_disk(data: bytes = DATA) -> CountingDisk:
    disk = disk_with(data, disk=CountingDisk())
    run_virtually(_index(disk))
    return disk


async def _index(disk: SimulatedDisk) -> None:
    await until_indexed(journal_on(disk))


def all_names(disk: SimulatedDisk) -> list[str]:
    return sorted(names_in(disk.read(JOURNAL)))


def searched(disk: SimulatedDisk, name: str) -> list:
    """By reading every line, as nothing but the journal knows them."""
    found = find_lines(disk, JOURNAL, disk.size_of(JOURNAL), [name])
    fields = ("job_id", "message_id", "retry_of", "entry_id", "question_id")
    return [line for line in found if any(getattr(line.event, f, None) == name for f in fields)]


async def assert_everything_is_found(journal: FileJournal, disk: SimulatedDisk) -> None:
    for name in [*all_names(disk), "job_20260105_9999", "me", "JobProgress"]:
        assert await journal.lines_about([name]) == searched(disk, name), name


def test_every_name_of_every_kind_is_found_while_the_journal_grows_and_after_a_restart():
    async def write(disk: SimulatedDisk) -> None:
        journal = journal_on(disk)
        keeping = asyncio.ensure_future(journal.keep_index())
        for seq, events in enumerate(HISTORY, 1):
            journal.append(TS, seq, events)
            await journal.until_durable(seq)
            if seq % 37 == 0:
                await assert_everything_is_found(journal, disk)
        await assert_everything_is_found(journal, disk)
        keeping.cancel()

    async def look_again(disk: SimulatedDisk) -> None:
        await assert_everything_is_found(journal_on(disk), disk)

    disk = disk_with(b"")
    run_virtually(write(disk))
    assert disk.read(JOURNAL) == DATA
    index = load_index(INDEX, JOURNAL, disk, len(DATA))
    assert len(DATA) - index.end < 3 * SMALL.unit
    assert 1 < len(index.runs) < 8, "runs of one size become one"
    run_virtually(look_again(disk.crash(Random(1), power_lost=False)))
    assert [line.seq for line in read_lines_about(JOURNAL, ["job_20260105_0003"], disk)] == [19, 20, 23, 61]


def test_a_look_reads_little_of_the_journal_however_old_the_job():
    disk = indexed_disk()

    async def look() -> None:
        journal = journal_on(disk)
        await journal.lines_about(["job_20260105_0003"])  # loads the index
        for number in (0, 30, 52):
            before = disk.journal_bytes_read
            await journal.lines_about([f"job_20260105_{number:04d}"])
            gap = len(DATA) - load_index(INDEX, JOURNAL, disk, len(DATA)).end
            assert disk.journal_bytes_read - before <= gap + 8 * SMALL.block

    run_virtually(look())


def test_a_journal_without_an_index_gets_one_and_answers_meanwhile():
    disk = disk_with(DATA)

    async def look() -> None:
        journal = journal_on(disk)
        assert await journal.lines_about(["q_5"]) == searched(disk, "q_5")
        await until_indexed(journal)
        await assert_everything_is_found(journal, disk)

    run_virtually(look())
    assert load_index(INDEX, JOURNAL, disk, len(DATA)).end > len(DATA) - 3 * SMALL.unit


@pytest.mark.parametrize("spoil", ["cut", "flip", "empty", "foreign", "missing"])
def test_a_run_that_is_not_what_was_written_is_made_again(spoil):
    disk = indexed_disk()
    victim = load_index(INDEX, JOURNAL, disk, len(DATA)).runs[0].path
    data = bytearray(disk.read(victim))
    match spoil:
        case "cut":
            del data[-20:]
        case "flip":
            data[len(data) // 2] ^= 1
        case "empty":
            data.clear()
        case "foreign":
            data[:8] = b"whatever"
        case _:
            pass
    disk.unlink(victim)
    if spoil != "missing":
        disk_with(bytes(data), f"{INDEX_NAME}/{victim.name}", disk)
    disk_with(b"left by a crash", f"{INDEX_NAME}/.some.tmp", disk)
    assert load_index(INDEX, JOURNAL, disk, len(DATA)).runs == ()

    async def look() -> None:
        journal = journal_on(disk)
        await assert_everything_is_found(journal, disk)
        await until_indexed(journal)
        await assert_everything_is_found(journal, disk)

    run_virtually(look())
    again = load_index(INDEX, JOURNAL, disk, len(DATA))
    assert again.runs
    assert again.unusable == ()


def test_the_index_of_another_journal_is_not_used():
    disk = indexed_disk()
    other = encoded([*HISTORY[3:], *HISTORY[:3]])
    disk.unlink(JOURNAL)
    disk_with(other, disk=disk)
    assert load_index(INDEX, JOURNAL, disk, len(other)).runs == ()
    run_virtually(_index(disk))
    assert verify(STATE, disk).lines
    assert read_lines_about(JOURNAL, ["q_5"], disk) == searched(disk, "q_5")


def test_a_crash_at_any_operation_leaves_an_index_that_tells_no_lie():
    def crash_at(chosen: int) -> SimulatedDisk | None:
        disk = disk_with(DATA)
        found: list[SimulatedDisk] = []
        first = disk.operations

        def look(number: int) -> None:
            if number == first + chosen and not found:
                found.append(disk.crash(Random(chosen), power_lost=chosen % 3 > 0))

        disk.before_operation = look
        run_virtually(_index(disk))
        return found[0] if found else None

    async def look(disk: SimulatedDisk) -> None:
        journal = journal_on(disk)
        await assert_everything_is_found(journal, disk)

    for chosen in range(0, 400, 7):
        disk = crash_at(chosen)
        if disk is None:
            assert chosen > 100, "an index is written in more steps than that"
            return
        run_virtually(look(disk))


def test_a_full_disk_costs_the_index_and_nothing_else():
    async def story() -> None:
        disk = disk_with(DATA)
        disk.capacity = disk.used_bytes + 100
        journal = journal_on(disk)
        keeping = asyncio.ensure_future(journal.keep_index())
        await asyncio.sleep(5)
        await assert_everything_is_found(journal, disk)
        disk.capacity = None
        await asyncio.sleep(120)
        await assert_everything_is_found(journal, disk)
        assert load_index(INDEX, JOURNAL, disk, len(DATA)).runs
        keeping.cancel()

    run_virtually(story())


@pytest.mark.parametrize("room", range(0, 4000, 200))
def test_room_that_ends_at_any_moment_leaves_each_line_in_a_run_or_in_the_tail(room):
    async def story() -> None:
        disk = disk_with(b"")
        journal = journal_on(disk)
        for seq, events in enumerate(HISTORY, 1):
            journal.append(TS, seq, events)
        await journal.until_durable(len(HISTORY))
        disk.capacity = disk.used_bytes + room
        keeping = asyncio.ensure_future(journal.keep_index())
        await asyncio.sleep(5)
        await assert_everything_is_found(journal, disk)
        disk.capacity = None
        await asyncio.sleep(120)
        await assert_everything_is_found(journal, disk)
        index = load_index(INDEX, JOURNAL, disk, disk.size_of(JOURNAL))
        assert index.end > disk.size_of(JOURNAL) - 3 * SMALL.unit
        assert index.unusable == ()
        assert all(agrees_with_journal(run, JOURNAL, disk) for run in index.runs)
        keeping.cancel()

    run_virtually(story())


def test_verify_compares_the_index_with_the_journal():
    data = encoded([[MessageSkipped(HERE, f"s{number}", "me", "too old")] for number in range(60)])
    disk = indexed_disk(data)
    told = verify(STATE, disk)
    assert told.ok
    assert [line for line in told.lines if INDEX_NAME in line and "agrees" in line]
    run = load_index(INDEX, JOURNAL, disk, len(data)).runs[0]
    names_left_out = [Block(start, end) for start, end in pairwise(run.read_bounds(disk))]
    write_run(INDEX, JOURNAL, disk, names_left_out, run.units)
    told = verify(STATE, disk)
    assert not told.ok
    [line] = [line for line in told.lines if INDEX_NAME in line]
    assert "DISAGREES with the journal. Stop Fairlead and delete it: the next start creates it again." in line


def index_line(disk: SimulatedDisk) -> str:
    told = verify(STATE, disk)
    assert told.ok
    [line] = [line for line in told.lines if line.startswith(f"{INDEX}: ")]
    return line.removeprefix(f"{INDEX}: ")


def test_verify_says_whether_the_index_fits_or_will_be_made_again_and_changes_nothing():
    data = encoded([[MessageSkipped(HERE, f"s{number}", "me", "too old")] for number in range(60)])
    assert index_line(disk_with(data)) == "it does not exist; a journal of this size does not need one."
    disk = indexed_disk(data)
    fits = f"covers {load_index(INDEX, JOURNAL, disk, len(data)).end} of {len(data)} bytes and agrees."
    assert index_line(disk) == fits
    disk_with(b"torn", f"{INDEX_NAME}/0-1", disk)
    assert index_line(disk) == f"{fits} 1 other file(s) in it do not fit: the next start removes them."
    files = disk.listdir(INDEX)
    disk.unlink(JOURNAL)
    disk_with(encoded([[MessageSkipped(HERE, "other", "me", "too old")]]), disk=disk)
    assert index_line(disk) == "it does not fit the journal: the next start creates it again."
    assert disk.listdir(INDEX) == files


def test_verify_says_that_a_long_journal_without_an_index_gets_one():
    skipped = [MessageSkipped(HERE, f"s{number}", "me", "too old" * 1000) for number in range(200)]
    assert index_line(disk_with(encoded([skipped]))) == "it does not exist; the next start creates it from the journal."


@pytest.mark.req("A15")
def test_reading_back_a_damaged_line_says_that_the_journal_is_broken():
    """Found through the index or by searching, and also where the damage leaves a line that can be decoded."""
    job = "job_20260105_0030"
    at = DATA.index(job.encode())
    for offset in range(at - 60, at + 60):
        spoilt = bytearray(DATA)
        spoilt[offset] ^= 1
        disk = disk_with(bytes(spoilt))
        with pytest.raises(FairleadError) as refused:
            read_lines_about(JOURNAL, [job], disk)
        assert refused.value.code is Code.E_JOURNAL_BROKEN


@pytest.mark.req("A15")
def test_a_line_whose_checksum_was_spoilt_is_not_read_back_as_one_that_never_had_any():
    """Reading begins behind a line that has a checksum, as the index leads it: so must every line that follows."""
    job = "job_20260105_0030"
    at = DATA.index(job.encode())
    begin = DATA.rfind(b"\n", 0, at) + 1
    spoilt = bytearray(DATA)
    spoilt[DATA.index(b'"crc"', at) + 1] ^= 1
    with pytest.raises(FairleadError) as refused:
        find_lines(disk_with(bytes(spoilt)), JOURNAL, DATA.index(b"\n", at) + 1, [job], begin)
    assert refused.value.code is Code.E_JOURNAL_BROKEN
