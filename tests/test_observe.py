"""Logs: bounded, private, without secrets, and never a reason for anything else to fail."""

import asyncio
import json
import os
import time
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead import observe
from fairlead.errors import CODES, Code, Kind, error
from fairlead.observe import (
    JOB_LOG_BUFFER,
    JOB_LOG_LATER_SEC,
    JobLogDirectory,
    JobLogFile,
    Redactor,
    RotatingFile,
    log,
    log_failure,
    start_logging,
)
from fairlead.render.words import error_what
from fairlead.testing.clock import run_virtually

pytestmark = pytest.mark.req("A19")

SECRET = "s3cr3t-t0ken.abc"


def write_job_log(job_log: JobLogFile, *said: tuple[Literal["stdout", "stderr"], bytes]) -> None:
    async def story() -> None:
        for stream, data in said:
            job_log.write(stream, data)
        job_log.close()

    run_virtually(story())


def lines_of(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.mark.req("B14")
def test_a_secret_is_redacted_wherever_it_stands_in_a_line(tmp_path: Path):
    file = start_logging(tmp_path, Redactor([SECRET, "short"]))
    log.warning("hello", message=f"with {SECRET}", **{SECRET: 1})
    log_failure("crash", RuntimeError(SECRET), nested={"a": [SECRET]})
    file.close()
    written = (tmp_path / "app.ndjson").read_text()
    assert SECRET not in written
    assert written.count("[redacted]") >= 4


@pytest.mark.req("B14")
@given(data=st.data())
def test_a_secret_is_redacted_however_the_chunks_fall(data, tmp_path_factory):
    other = "s3cr3t-t0ken.abc-and-longer"
    parts = data.draw(st.lists(st.sampled_from([SECRET, other, "x", "s3cr3t", "\n", "-t0ken", "é"]), max_size=12))
    whole = "".join(parts).encode()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=8)))
    path = tmp_path_factory.mktemp("job") / "job_1.log"
    redactor = Redactor([SECRET, other])
    chunks = [whole[begin:end] for begin, end in zip([0, *cuts], [*cuts, len(whole)], strict=True)]
    write_job_log(JobLogFile(path, redactor), *(("stdout", chunk) for chunk in chunks))
    assert path.read_bytes() == redactor.bytes(whole)


def test_the_token_in_an_address_of_a_webhook_or_an_interaction_is_redacted():
    token = "aW50ZXJhY3Rpb246MTIzNDU2Nzg5"
    said = (
        f"404 for https://discord.com/api/v10/webhooks/157229/{token}/messages/@original?wait=true,"
        f" '/interactions/157230/{token}'"
    )
    assert Redactor([]).text(said) == (
        "404 for https://discord.com/api/v10/webhooks/157229/[redacted]/messages/@original?wait=true,"
        " '/interactions/157230/[redacted]'"
    )
    assert Redactor([]).text("/channels/1/webhooks and /webhooks/157229 alone") == (
        "/channels/1/webhooks and /webhooks/157229 alone"
    )


def test_what_cannot_be_part_of_a_secret_is_not_held_back(tmp_path: Path):
    async def story() -> None:
        job_log = JobLogFile(tmp_path / "job_1.log", Redactor([SECRET]))
        job_log.write("stdout", b"compiling\nstill at it ...")
        assert not (tmp_path / "job_1.log").exists()  # the answer that these may be goes first
        await asyncio.sleep(JOB_LOG_LATER_SEC)
        assert (tmp_path / "job_1.log").read_bytes() == b"compiling\nstill at it ..."
        job_log.write("stdout", b"x" * JOB_LOG_BUFFER)
        assert (tmp_path / "job_1.log").stat().st_size > JOB_LOG_BUFFER  # much is not kept in memory
        job_log.close()

    run_virtually(story())


def test_streams_are_kept_apart_while_a_secret_may_be_coming(tmp_path: Path):
    job_log = JobLogFile(tmp_path / "job_1.log", Redactor([SECRET]))
    write_job_log(job_log, ("stdout", SECRET[:5].encode()), ("stderr", b"warning\n"), ("stdout", SECRET[5:].encode()))
    assert (tmp_path / "job_1.log").read_bytes() == b"warning\n[redacted]"


def test_a_job_log_ends_at_its_limit_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(observe, "MAX_JOB_LOG_BYTES", 1000)
    job_log = JobLogFile(tmp_path / "job_1.log", Redactor([]))
    write_job_log(job_log, *[("stdout", b"x" * 99 + b"\n")] * 50)
    content = (tmp_path / "job_1.log").read_bytes()
    assert len(content) < 1100
    assert content.endswith(b"[the log ends here: it has reached its limit]\n")


def test_old_job_logs_are_forgotten_and_everything_is_private(tmp_path: Path):
    logs = JobLogDirectory(tmp_path, Redactor([]))
    for name in ("job_old", "job_new"):
        write_job_log(logs.open(name), ("stderr", b"hello\n"))
    old = tmp_path / "job" / "job_old.log"
    long_ago = time.time() - 31 * 86400
    os.utime(old, (long_ago, long_ago))
    JobLogDirectory(tmp_path, Redactor([]))
    assert [p.name for p in (tmp_path / "job").iterdir()] == ["job_new.log"]
    assert (tmp_path / "job" / "job_new.log").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "job").stat().st_mode & 0o777 == 0o700


def test_the_app_log_starts_again_past_its_limit_and_keeps_a_few(tmp_path: Path):
    file = RotatingFile(tmp_path / "app.ndjson", limit=100)
    for number in range(30):
        file.write(f"line {number:02d} of the log, forty bytes long ...\n".encode())
    file.close()
    names = sorted(p.name for p in tmp_path.iterdir())
    assert names == ["app.ndjson", "app.ndjson.1", "app.ndjson.2", "app.ndjson.3"]
    assert all(p.stat().st_size <= 100 for p in tmp_path.iterdir())
    assert b"line 29" in (tmp_path / "app.ndjson").read_bytes()


def test_a_log_that_somebody_removed_never_writes_into_another_file(tmp_path: Path):
    file = RotatingFile(tmp_path / "app.ndjson", limit=100)
    file.write(b"x" * 90)
    (tmp_path / "app.ndjson").unlink()
    file.write(b"y" * 50)  # time to rotate what is no longer there
    others = [os.open(tmp_path / f"other{n}", os.O_WRONLY | os.O_CREAT) for n in range(5)]
    file.write(b"z" * 20)
    file.close()
    file.write(b"after the end")
    more = [os.open(tmp_path / f"more{n}", os.O_WRONLY | os.O_CREAT) for n in range(5)]
    file.write(b"after the end")
    for fd in (*others, *more):
        os.close(fd)
    assert {p.stat().st_size for p in tmp_path.glob("other*")} == {0}
    assert {p.stat().st_size for p in tmp_path.glob("more*")} == {0}
    assert (tmp_path / "app.ndjson").read_bytes() == b"y" * 50 + b"z" * 20


def test_a_full_disk_silences_the_log_and_nothing_else(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    file = RotatingFile(tmp_path / "app.ndjson")
    monkeypatch.setattr(os, "write", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    file.write(b"nobody hears this\n")
    monkeypatch.undo()
    file.write(b"but this\n")
    file.close()
    assert (tmp_path / "app.ndjson").read_bytes() == b"but this\n"


@pytest.mark.req("B8")
@pytest.mark.parametrize("code", list(Code))
def test_a_failure_is_logged_at_the_level_of_its_kind(code: Code, tmp_path: Path):
    file = start_logging(tmp_path, Redactor([]))
    log_failure("something went wrong", error(code), job_id="job_1")
    file.close()
    [line] = lines_of(tmp_path / "app.ndjson")
    expected = {
        Kind.STRANGER: "warning",
        Kind.INPUT: "info",
        Kind.STATE: "warning",
        Kind.AGENT: "error",
        Kind.CHANNEL: "error",
        Kind.INTERNAL: "error",
    }[CODES[code]]
    assert (line["level"], line["error_code"], line["job_id"]) == (expected, code, "job_1")
    assert ("stack" in line) is (CODES[code] is Kind.INTERNAL)
    assert line["message"] == error_what("en", code), "an error without words of its own is still a sentence"


@pytest.mark.req("B8")
def test_a_bug_is_logged_with_its_stack(tmp_path: Path):
    file = start_logging(tmp_path, Redactor([]))
    try:
        raise KeyError("oops")
    except KeyError as bug:
        log_failure("crash", bug)
    file.close()
    [line] = lines_of(tmp_path / "app.ndjson")
    assert (line["level"], line["error_code"]) == ("error", "E_INTERNAL")
    assert "test_a_bug_is_logged_with_its_stack" in line["stack"]
    assert line["ts"].endswith("Z")


@pytest.mark.parametrize("odd", ["\udcff", b"\xff", {("a", "b"): 1}, {1: "\ud800"}, object(), float("nan"), 2**80])
def test_nothing_that_is_logged_can_make_the_log_raise(odd: object, tmp_path: Path):
    file = start_logging(tmp_path, Redactor([]), echo_warnings=True)
    log.error("odd", message=odd, odd=odd)
    log_failure("odd", ValueError(odd))
    file.close()
    assert len(lines_of(tmp_path / "app.ndjson")) == 2


def test_warnings_can_be_heard_on_standard_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    file = start_logging(tmp_path, Redactor([SECRET]), echo_warnings=True)
    log.info("quiet")
    log.warning("loud", message=f"the {SECRET} is out")
    file.close()
    assert capsys.readouterr().err == "fairlead: loud: the [redacted] is out\n"


def test_nothing_is_written_before_the_logs_are_open(capsys: pytest.CaptureFixture[str]):
    log.error("nobody hears this")
    assert capsys.readouterr() == ("", "")


@pytest.mark.req("A19", "B8")
def test_a_refusal_that_passes_several_layers_is_logged_once(tmp_path: Path):
    file = start_logging(tmp_path, Redactor([]))
    refusal = error(Code.E_QUEUE_FULL)
    log_failure("message refused", refusal)
    log_failure("http request refused", refusal)
    file.close()
    assert [line["event"] for line in map(json.loads, (tmp_path / "app.ndjson").read_text().splitlines())] == [
        "message refused"
    ]


def test_a_log_is_made_with_the_first_word_or_at_the_end_and_never_stops_a_job(tmp_path: Path):
    silent = JobLogFile(tmp_path / "job_1.log", Redactor([]))
    assert not (tmp_path / "job_1.log").exists()
    silent.close()
    assert (tmp_path / "job_1.log").read_bytes() == b""
    nowhere = JobLogFile(tmp_path / "gone" / "job_2.log", Redactor([]))
    write_job_log(nowhere, ("stdout", b"words\n"))
    assert not (tmp_path / "gone").exists()
