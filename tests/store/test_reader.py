"""A journal is read whole or not at all: only an unfinished tail may go, and only in the open."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.core.conversation import ConversationRef
from fairlead.core.events import DaemonStarted, JobEnqueued, PersonSeen
from fairlead.core.fold import apply
from fairlead.core.state import State, as_data
from fairlead.errors import Code, FairleadError
from fairlead.store.history import find_lines
from fairlead.store.journal import JOURNAL_NAME, open_state
from fairlead.store.reader import BLOCK
from fairlead.store.verification import verify
from fairlead.testing.disk import SimulatedDisk
from tests.store.harness import STATE, STORY, TS, batch_ends, disk_with, encoded, sealed_line

pytestmark = pytest.mark.req("A15")

JOURNAL = STATE / JOURNAL_NAME
WHOLE = encoded()
ENDS = batch_ends()


def folded(batches=STORY) -> dict:
    state, seq = State(), 0
    for batch in batches:
        for event in batch:
            seq += 1
            apply(state, seq, TS, event)
    return as_data(state)


def refusal(disk: SimulatedDisk) -> FairleadError:
    with pytest.raises(FairleadError) as caught:
        open_state(STATE, disk)
    assert caught.value.code is Code.E_JOURNAL_BROKEN
    assert str(JOURNAL) in caught.value.message
    return caught.value


def named_line(fault: FairleadError) -> int:
    found = re.search(r"line (\d+):", fault.message)
    assert found, fault.message
    return int(found[1])


@pytest.mark.req("A7")
def test_what_was_written_is_what_is_read():
    opened = open_state(STATE, disk_with(WHOLE))
    assert as_data(opened.state) == folded()
    assert opened.reports == ()
    assert opened.position.offset == len(WHOLE)
    assert opened.position.seq == 8


@pytest.mark.req("A7", "A8")
@given(cut=st.integers(0, len(WHOLE)))
def test_a_crash_at_any_byte_loses_at_most_the_batch_being_written(cut: int):
    disk = disk_with(WHOLE[:cut])
    finished = max(n for n, end in enumerate(ENDS) if end <= cut)
    opened = open_state(STATE, disk)
    assert as_data(opened.state) == folded(STORY[:finished])
    assert disk.read(JOURNAL) == WHOLE[: ENDS[finished]]
    asides = [name for name in disk.listdir(STATE) if "torn" in name]
    if cut in ENDS:
        assert (opened.reports, asides) == ((), [])
    else:
        assert disk.read(STATE / asides[0]) == WHOLE[ENDS[finished] : cut]
        assert str(JOURNAL) in opened.reports[0]
        assert asides[0] in opened.reports[0]
        assert open_state(STATE, disk).reports == (), "it is reported once, by the start that cut it"


def test_events_that_belong_together_happen_together_or_not_at_all():
    before, batch = encoded(STORY[:3]), encoded(STORY[:4])
    lines = batch[len(before) :].splitlines(keepends=True)
    assert len(lines) == 3
    opened = open_state(STATE, disk_with(before + lines[0] + lines[1]))
    assert opened.state.projects == {}
    assert len(opened.reports) == 1


@given(data=st.data())
def test_a_flipped_byte_is_never_read_as_something_else(data):
    at = data.draw(st.integers(0, len(WHOLE) - 1))
    bit = data.draw(st.integers(0, 7))
    spoilt = bytearray(WHOLE)
    spoilt[at] ^= 1 << bit
    line = WHOLE[:at].count(b"\n") + 1
    disk = disk_with(bytes(spoilt))
    assert named_line(refusal(disk)) in {line, line + 1}


def test_a_gap_stops_the_start_and_names_the_line():
    before = encoded(STORY[:2])
    later = sealed_line(f'{{"seq":5,"ts":"{TS}","type":"OwnerSet","payload":{{"owner_id":"1"}}', after=before)
    fault = refusal(disk_with(before + later))
    assert "line 4: seq 5 follows 3: a gap" in fault.message


def test_a_repeat_stops_the_start_and_names_the_line():
    before = encoded(STORY[:2])
    again = sealed_line(f'{{"seq":3,"ts":"{TS}","type":"OwnerSet","payload":{{"owner_id":"1"}}', after=before)
    fault = refusal(disk_with(before + again))
    assert "line 4: seq 3 follows 3: a repeat" in fault.message


def test_an_event_of_a_later_version_stops_the_start_and_is_not_taken_for_torn():
    before = encoded(STORY[:2])
    unknown = sealed_line(f'{{"seq":4,"ts":"{TS}","type":"MoonRose","payload":{{}}', after=before)
    disk = disk_with(before + unknown)
    fault = refusal(disk)
    assert "line 4: the event type 'MoonRose' is unknown" in fault.message
    assert "later version" in fault.message
    assert disk.read(JOURNAL) == before + unknown, "nothing is cut off that was written whole"


def test_a_known_event_in_another_shape_stops_the_start():
    before = encoded(STORY[:2])
    odd = sealed_line(f'{{"seq":4,"ts":"{TS}","type":"OwnerSet","payload":{{"owner":7}}', after=before)
    fault = refusal(disk_with(before + odd))
    assert "line 4: OwnerSet cannot be read" in fault.message


def test_a_line_that_does_not_follow_from_what_was_before_stops_the_start():
    before = encoded(STORY[:2])
    here = ConversationRef("c", "a", "x")
    senseless = [
        encoded(
            [
                [
                    JobEnqueued(
                        job_id="job_1",
                        session_key="no such session",
                        conversation=here,
                        message_id="1",
                        person="p",
                        prompt="x",
                    )
                ]
            ],
            first_seq=4,
        ).decode(),
        '{"seq":4,"ts":"tomorrow","type":"OwnerSet","payload":{"owner_id":"1"}}\n',
    ]
    for line in senseless:
        sealed = sealed_line(re.sub(r'(,"crc":.*|})\n', "", line), after=before)
        fault = refusal(disk_with(before + sealed))
        assert "line 4:" in fault.message
        assert "does not fit what was before it" in fault.message


def test_what_is_no_json_stops_the_start():
    before = encoded(STORY[:2])
    assert "line 4: this is not a journal line" in refusal(disk_with(before + b"hello\n")).message
    assert named_line(refusal(disk_with(b"\n"))) == 1
    assert named_line(refusal(disk_with(before + b"\n" + encoded(STORY[2:3], first_seq=4)))) == 4


def test_a_sign_of_life_in_another_shape_does_not_stop_the_start_but_is_named_by_verify():
    before = encoded(STORY[:2])
    odd = sealed_line(f'{{"seq":4,"ts":"{TS}","type":"JobProgress","payload":{{"job":7}}', after=before)
    last = f'{{"seq":5,"ts":"{TS}","type":"OwnerSet","payload":{{"owner_id":"1"}}'
    disk = disk_with(before + odd + sealed_line(last, after=before + odd))
    assert open_state(STATE, disk).state.owner_id == "1"
    verdict = verify(STATE, disk)
    assert not verdict.ok
    assert "line 4: JobProgress cannot be read" in verdict.lines[0]


def test_an_empty_line_stops_the_start():
    before = encoded(STORY[:2])
    last = f'{{"seq":4,"ts":"{TS}","type":"OwnerSet","payload":{{"owner_id":"1"}}'
    disk = disk_with(before + b"\n" + sealed_line(last, after=before + b"\n"))
    assert "line 4: this is not a journal line" in refusal(disk).message


def without_crc(line: bytes) -> bytes:
    return re.sub(rb',"crc":"[0-9a-f]{8}"}\n', b"}\n", line)


@pytest.mark.parametrize("crcless", range(1, 9))
def test_lines_without_a_crc_are_accepted_before_the_first_that_has_one(crcless: int):
    """As a version before the checksums wrote them."""
    data = b"".join(without_crc(line) for line in WHOLE.splitlines(keepends=True)[:crcless])
    for line in WHOLE.splitlines(keepends=True)[crcless:]:
        data += sealed_line(without_crc(line).decode().removesuffix("}\n"), after=data)
    assert as_data(open_state(STATE, disk_with(data)).state) == folded()
    assert verify(STATE, disk_with(data)).ok


@pytest.mark.parametrize("crcless", range(1, 8))
def test_a_line_without_a_crc_behind_one_that_has_it_is_refused(crcless: int):
    """Even if every checksum behind it fits: it was changed, or appended by another program."""
    lines = WHOLE.splitlines(keepends=True)
    data = b"".join(lines[:crcless]) + without_crc(lines[crcless])
    for line in lines[crcless + 1 :]:
        data += sealed_line(without_crc(line).decode().removesuffix("}\n"), after=data)
    fault = refusal(disk_with(data))
    assert f"line {crcless + 1}: it carries no checksum" in fault.message
    assert not verify(STATE, disk_with(data)).ok


@pytest.mark.parametrize("kind", [PersonSeen("somebody", "en"), DaemonStarted("1.1", 8)], ids=["read", "skipped"])
def test_a_line_without_a_crc_is_refused_in_later_blocks_too(kind: PersonSeen | DaemonStarted):
    long = [[PersonSeen(f"p{n}", "x" * (BLOCK // 2))] for n in range(6)]
    before = encoded([*STORY, *long])
    bare = without_crc(encoded([[kind]], first_seq=15))
    last = without_crc(encoded([[PersonSeen("last", "en")]], first_seq=16)).decode().removesuffix("}\n")
    data = before + bare + sealed_line(last, after=before + bare)
    fault = refusal(disk_with(data))
    assert "line 15: it carries no checksum" in fault.message
    assert not verify(STATE, disk_with(data)).ok


@pytest.mark.parametrize("bit", range(8))
def test_a_bit_that_flips_anywhere_in_the_last_line_stops_the_start(bit: int):
    for at in range(ENDS[-2], len(WHOLE)):
        spoilt = bytearray(WHOLE)
        spoilt[at] ^= 1 << bit
        disk = disk_with(bytes(spoilt))
        refusal(disk)
        assert disk.read(JOURNAL) == bytes(spoilt)
        assert not verify(STATE, disk).ok, f"byte {at - ENDS[-2]} of the last line"


def test_a_wrong_crc_among_lines_without_one_is_still_found():
    lines = WHOLE.splitlines(keepends=True)
    bare_last = re.sub(rb',"crc":"[0-9a-f]{8}"}\n', b"}\n", lines[-1])
    spoilt = lines[2].replace(b"42", b"43")
    assert named_line(refusal(disk_with(b"".join([*lines[:2], spoilt, *lines[3:-1], bare_last])))) == 3


def test_no_journal_and_an_empty_one_are_a_fresh_start():
    disk = SimulatedDisk()
    disk.mkdir(STATE)
    assert open_state(STATE, disk).state == State()
    assert open_state(STATE, disk_with(b"")).state == State()


def test_only_a_beginning_of_the_first_line_is_a_fresh_start_that_was_reported():
    opened = open_state(STATE, disk_with(WHOLE[:20]))
    assert opened.state == State()
    assert "20 bytes" in opened.reports[0]


@pytest.mark.parametrize("tail", [b"\0" * 700, WHOLE[:50] + b"\0" * 100, b"x" * 3 * BLOCK])
def test_a_tail_without_a_line_end_is_torn_whatever_is_in_it(tail: bytes):
    disk = disk_with(WHOLE + tail)
    opened = open_state(STATE, disk)
    assert as_data(opened.state) == folded()
    assert disk.read(JOURNAL) == WHOLE
    assert disk.read(STATE / f"{JOURNAL_NAME}.torn-at-{len(WHOLE)}") == tail


@pytest.mark.parametrize("length", [BLOCK - 200, BLOCK, 3 * BLOCK])
def test_lines_longer_than_a_block_are_read_and_torn_like_others(length: int):
    long = [[PersonSeen(f"p{n}", "x" * length)] for n in range(3)]
    data = encoded([*STORY, *long])
    whole = open_state(STATE, disk_with(data))
    assert whole.state.people["p2"].locale == "x" * length
    assert whole.last_line == data[:-1].rpartition(b"\n")[2]
    torn = open_state(STATE, disk_with(data[:-1]))
    assert set(torn.state.people) == {"42", "43", "p0", "p1"}


def test_a_batch_of_many_blocks_that_lacks_its_last_line_never_happened():
    batch = [PersonSeen(f"p{n}", "y" * (BLOCK // 3)) for n in range(12)]
    data = encoded([*STORY, batch])
    cut = data.rstrip(b"\n").rpartition(b"\n")[0] + b"\n"
    opened = open_state(STATE, disk_with(cut))
    assert as_data(opened.state) == folded()
    assert opened.position.offset == len(WHOLE)


def test_lines_about_a_name_are_found_as_whole_words_across_blocks():
    filler = [[PersonSeen(f"p{n}", "z" * 1000)] for n in range(9000)]
    data = encoded([*STORY, *filler, [PersonSeen("p1", "last")], [PersonSeen("p11", "other")]])
    assert len(data) > 8 * BLOCK
    disk = disk_with(data)
    found = find_lines(disk, JOURNAL, len(data), ["p1"])
    assert [r.event for r in found] == [PersonSeen("p1", "z" * 1000), PersonSeen("p1", "last")]
    assert [r.seq for r in found] == [10, 9009]


def test_the_name_of_a_torn_copy_tells_where_it_was_cut(tmp_path: Path):
    from fairlead.kit.files import REAL_DISK

    (tmp_path / JOURNAL_NAME).write_bytes(WHOLE[: ENDS[2] + 9])
    opened = open_state(tmp_path, REAL_DISK)
    aside = tmp_path / f"{JOURNAL_NAME}.torn-at-{ENDS[2]}"
    assert aside.read_bytes() == WHOLE[ENDS[2] : ENDS[2] + 9]
    assert aside.stat().st_mode & 0o777 == 0o600
    assert "the last 9 bytes" in opened.reports[0]


def test_a_line_whose_end_was_changed_is_no_line_that_is_not_there():
    data = encoded([*STORY, [PersonSeen("p1", "en")], [PersonSeen("p1", "ja")]])
    end = data[:-1].rfind(b"\n") + 1  # as the index names it: behind the first of the two
    spoilt = data[: end - 1] + b"\x0b" + data[end:]
    with pytest.raises(FairleadError) as caught:
        find_lines(disk_with(spoilt), JOURNAL, end, ["p1"])
    assert caught.value.code is Code.E_JOURNAL_BROKEN
    assert len(find_lines(disk_with(data), JOURNAL, end, ["p1"])) == 1
