"""Looking for words from the end of the journal backwards, on files."""

from pathlib import Path

import pytest

from fairlead.core import events as e
from fairlead.core.ids import BlobName, JobId, SessionKeyText
from fairlead.kit.files import REAL_DISK
from fairlead.store import lines
from fairlead.store.text_search import search_backwards

KEY = SessionKeyText("agent:fairlead:user:alice")


def journal_in(directory: Path, *texts: str) -> tuple[Path, list[bytes]]:
    path = directory / "events.ndjson"
    written: list[bytes] = []
    chain = 0
    for number, text in enumerate(texts, 1):
        event = e.JobCompleted(job_id=JobId(f"job_{number}"), session_key=KEY, text=text)
        data, chain = lines.encode_batch(number, f"2026-11-18T10:00:{number:02}.000Z", [event], chain)
        written.append(data)
    path.write_bytes(b"".join(written))
    return path, written


def found(path: Path, *words: str, before: int = 0, most: int = 1 << 20) -> list[str]:
    stretch = search_backwards(REAL_DISK, path, words, before or path.stat().st_size, most)
    return [line.recorded.event.text for line in stretch.lines if isinstance(line.recorded.event, e.JobCompleted)]


@pytest.mark.req("G9")
def test_all_of_the_words_must_be_in_one_text_and_the_newest_comes_first(tmp_path: Path):
    path, _ = journal_in(tmp_path, "Red and green", "red", 'a "quoted"\nRED GREEN line', "grün")
    assert found(path, "red", "green") == ['a "quoted"\nRED GREEN line', "Red and green"]
    assert found(path, 'quoted"\nred') == ['a "quoted"\nRED GREEN line']
    assert found(path, "grün") == ["grün"]


@pytest.mark.req("G9")
def test_stretches_follow_each_other_without_a_hole_whatever_their_size(tmp_path: Path):
    path, written = journal_in(tmp_path, *(f"word {number}" for number in range(20)))
    for most in (max(map(len, written)) + 1, 500, 1000):
        before, seen = path.stat().st_size, list[str]()
        while before:
            stretch = search_backwards(REAL_DISK, path, ["word"], before, most)
            seen += [
                line.recorded.event.text for line in stretch.lines if isinstance(line.recorded.event, e.JobCompleted)
            ]
            assert stretch.before < before
            before = stretch.before
        assert seen == [f"word {number}" for number in reversed(range(20))], most


@pytest.mark.req("G9")
def test_a_line_can_be_where_the_next_search_goes_on(tmp_path: Path):
    path, _ = journal_in(tmp_path, "one word", "two words", "three words")
    stretch = search_backwards(REAL_DISK, path, ["word"], path.stat().st_size, 1 << 20)
    assert stretch.since == "2026-11-18T10:00:01.000Z"
    assert found(path, "word", before=stretch.lines[1].place) == ["one word"]


@pytest.mark.req("G9")
def test_a_line_that_cannot_be_read_is_passed_over_and_one_that_is_too_long_as_well(tmp_path: Path):
    path, written = journal_in(tmp_path, "a word", "x" * 5000, "another word")
    path.write_bytes(path.read_bytes().replace(b'"a word"', b'"a word'))
    assert found(path, "word") == ["another word"]
    before, looks = path.stat().st_size, 0
    while before:
        before, looks = search_backwards(REAL_DISK, path, ["word"], before, 1000).before, looks + 1
    assert looks <= len(b"".join(written)) // 1000 + 3


@pytest.mark.req("G9")
def test_a_text_that_is_in_a_blob_may_have_the_words(tmp_path: Path):
    path = tmp_path / "events.ndjson"
    event = e.JobCompleted(job_id=JobId("job_1"), session_key=KEY, text="", text_blob=BlobName("ab" * 32))
    path.write_bytes(lines.encode_batch(1, "2026-11-18T10:00:01.000Z", [event], 0)[0])
    assert found(path, "word") == [""]
