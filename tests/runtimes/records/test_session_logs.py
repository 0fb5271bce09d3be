"""Session logs are read within limits, and nothing but ordinary files of the right owner is read."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.runtimes.records import session_logs
from fairlead.runtimes.records.session_logs import (
    ExchangeCounter,
    bytes_of,
    first_line,
    latest_logs,
    moment_in,
    position_of,
    read_log,
)

pytestmark = pytest.mark.req("F8")


def write(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def test_a_short_log_is_read_whole_and_its_end_is_a_position(tmp_path: Path):
    path = write(tmp_path / "a.jsonl", b"one\ntwo\n")
    log = read_log(tmp_path, path)
    assert (log.lines, log.is_whole) == ([b"one", b"two"], True)
    path.write_bytes(b"one\ntwo\nthree\n")
    added = read_log(tmp_path, path, bytes_of(position_of(log)))
    assert added.lines == [b"three"]


def test_of_a_long_log_the_head_and_the_tail_are_read_without_cut_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(session_logs, "WHOLE_BYTES", 100)
    monkeypatch.setattr(session_logs, "HEAD_BYTES", 25)
    monkeypatch.setattr(session_logs, "TAIL_BYTES", 25)
    path = write(tmp_path / "a.jsonl", b"".join(b"line %04d\n" % number for number in range(100)))
    log = read_log(tmp_path, path)
    assert log.lines == [b"line 0000", b"line 0001", b"line 0098", b"line 0099"]
    assert not log.is_whole
    assert read_log(tmp_path, path, since=500).lines == [b"line 0098", b"line 0099"]


def test_a_line_that_is_still_being_written_is_left_for_later(tmp_path: Path):
    path = tmp_path / "a.jsonl"
    log = read_log(tmp_path, write(path, b"one\ntw"))
    assert log.lines == [b"one"]
    write(path, b"one\ntwo\n")
    assert read_log(tmp_path, path, bytes_of(position_of(log))).lines == [b"two"]
    assert read_log(tmp_path, write(path, b"")).lines == []


def test_a_log_that_has_become_shorter_was_rewritten(tmp_path: Path):
    log = read_log(tmp_path, write(tmp_path / "a.jsonl", b"one\n"), since=1000)
    assert (log.lines, log.was_rewritten) == ([b"one"], True)


def test_neither_a_link_nor_a_pipe_nor_a_directory_is_a_log(tmp_path: Path):
    secret = write(tmp_path / "secret", b"not for you\n")
    root = tmp_path / "projects"
    root.mkdir()
    (root / "link.jsonl").symlink_to(secret)
    os.link(secret, root / "hard.jsonl")
    os.mkfifo(root / "pipe.jsonl")
    (root / "directory.jsonl").mkdir()
    whole = write(root / "whole.jsonl", b"x\n")
    assert {log.path for log in latest_logs(root.iterdir())} == {whole, root / "hard.jsonl"}
    for name in ("link", "hard", "pipe", "directory"):
        with pytest.raises(OSError):
            read_log(root, root / f"{name}.jsonl")
        assert first_line(root, root / f"{name}.jsonl", 100) == b""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_log_of_another_user_is_not_read(tmp_path: Path):
    path = write(tmp_path / "a.jsonl", b"one\n")
    os.chown(path, 12345, 12345)
    with pytest.raises(PermissionError):
        read_log(tmp_path, path)


def test_a_first_line_that_is_too_long_is_none(tmp_path: Path):
    path = write(tmp_path / "a.jsonl", b"x" * 50 + b"\nmore\n")
    assert first_line(tmp_path, path, 51) == b"x" * 50
    assert first_line(tmp_path, path, 50) == b""


def test_the_answer_of_an_exchange_is_what_the_agent_said_last():
    counter = ExchangeCounter()
    counter.hear_agent("nobody has asked yet")
    for number in range(5):
        counter.hear_person(f"question {number}", "2026-11-18T03:14:40.390Z")
        counter.hear_agent("let me see")
        counter.hear_agent(f"answer {number}")
    assert (counter.count, counter.first_words) == (5, "question 0")
    assert [(e.prompt, e.answer) for e in counter.latest] == [(f"question {n}", f"answer {n}") for n in (2, 3, 4)]


@given(st.text())
def test_any_text_is_a_time_or_none(text: str):
    moment = moment_in(text)
    assert moment == "" or moment.endswith("Z")


@given(st.text())
def test_any_text_is_a_position_or_the_beginning(text: str):
    assert bytes_of(text) >= 0
