"""The replaying CLI keeps its promises: what was recorded comes out, and each fault is really there."""

import contextlib
import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.replaying_cli import TRANSCRIPTS, VERSIONS, write_shim

ONE_SHOT = sorted(
    str(path.relative_to(TRANSCRIPTS))[: -len(".out")]
    for agent in VERSIONS
    for path in (TRANSCRIPTS / agent).glob("*.out")
)
NEW_TURN = {
    "claude": "claude/01-new-turn",
    "codex": "codex/01-new-turn",
    "gemini": "gemini/01-new-turn-stream-json",
}
PERMISSION = "claude/04d-perm-stdio-allow"


def play(shim: Path, *arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([shim, *arguments], input=stdin, capture_output=True, timeout=30, check=False)


def recorded(transcript: str, ending: str) -> bytes:
    path = TRANSCRIPTS / f"{transcript}.{ending}"
    return path.read_bytes() if path.exists() else b""


def lines_of(done: subprocess.CompletedProcess[bytes]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in done.stdout.splitlines()]


@contextlib.contextmanager
def running(shim: Path, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    pipe = subprocess.PIPE
    with subprocess.Popen([shim, *arguments], stdin=pipe, stdout=pipe, stderr=pipe) as process:
        try:
            yield process
        finally:
            process.kill()


def read(process: subprocess.Popen[bytes], kind: str) -> dict[str, Any]:
    assert process.stdout is not None
    for line in process.stdout:
        if (event := json.loads(line))["type"] == kind:
            return event
    raise AssertionError(f"no {kind}")


def tell(process: subprocess.Popen[bytes], message: dict[str, Any]) -> None:
    assert process.stdin is not None
    process.stdin.write(json.dumps(message).encode() + b"\n")
    process.stdin.flush()


def end_stdin(process: subprocess.Popen[bytes]) -> None:
    assert process.stdin is not None
    process.stdin.close()


def prompt(text: str, **more: str) -> dict[str, Any]:
    return {"type": "user", "message": {"role": "user", "content": text}, **more}


@pytest.mark.parametrize("transcript", ONE_SHOT)
def test_a_one_way_transcript_comes_out_as_it_was_recorded(tmp_path: Path, transcript: str):
    done = play(write_shim(tmp_path, transcript.split("/", maxsplit=1)[0], transcript))

    assert done.stdout.split() == recorded(transcript, "out").split()
    assert (done.stderr, done.returncode) == (recorded(transcript, "err"), int(recorded(transcript, "rc")))


@pytest.mark.parametrize("name", NEW_TURN)
def test_a_resumed_session_answers_with_the_id_it_was_given(tmp_path: Path, name: str):
    flags = ["resume", "my-own-id"] if name == "codex" else ["--resume", "my-own-id"]
    shim = write_shim(tmp_path, name, NEW_TURN[name])
    stubborn = write_shim(tmp_path / "stubborn", name, NEW_TURN[name], keep_ids=1)

    assert b"my-own-id" in play(shim, *flags, "hello").stdout
    assert b"my-own-id" not in play(stubborn, *flags, "hello").stdout


def test_a_two_way_talk_waits_for_each_answer_and_uses_the_callers_ids(tmp_path: Path):
    with running(write_shim(tmp_path, "claude", PERMISSION), "--replay-user-messages") as claude:
        tell(claude, {"type": "control_request", "request_id": "mine", "request": {"subtype": "initialize"}})
        assert read(claude, "control_response")["response"]["request_id"] == "mine"
        tell(claude, prompt("touch it", uuid="u-1"))
        assert read(claude, "user")["isReplay"]
        asked = read(claude, "control_request")
        tell(claude, {"type": "control_response", "response": {"request_id": asked["request_id"]}})
        assert read(claude, "result")["user_message_uuid"] == "u-1"
        end_stdin(claude)
        assert claude.wait(10) == 0


def test_a_caller_may_leave_out_or_add_control_requests(tmp_path: Path):
    with running(write_shim(tmp_path, "claude", PERMISSION)) as claude:
        tell(claude, {"type": "control_request", "request_id": "extra", "request": {"subtype": "set_model"}})
        assert read(claude, "control_response")["response"]["request_id"] == "extra"
        tell(claude, prompt("touch it"))
        assert read(claude, "control_request")["request"]["subtype"] == "can_use_tool"


def test_a_recorded_signal_is_waited_for(tmp_path: Path):
    with running(write_shim(tmp_path, "claude", "claude/05s-sigint-mid-stream")) as claude:
        read(claude, "system")
        with pytest.raises(subprocess.TimeoutExpired):
            claude.wait(0.2)
        claude.send_signal(signal.SIGINT)
        assert read(claude, "result")
        assert claude.wait(10) == 0


def test_a_bad_line_ends_a_long_lived_claude(tmp_path: Path):
    assert play(write_shim(tmp_path, "claude", PERMISSION), stdin=b"not json\n").returncode == 1


def test_garbage_stands_between_lines_that_are_still_whole(tmp_path: Path):
    done = play(write_shim(tmp_path, "codex", NEW_TURN["codex"], garbage=1))

    assert b"not json" in done.stdout.splitlines()
    assert set(recorded(NEW_TURN["codex"], "out").splitlines()) <= set(done.stdout.splitlines())


def test_a_cut_ends_inside_the_last_line_or_inside_a_character(tmp_path: Path):
    in_line = play(write_shim(tmp_path / "a", "codex", NEW_TURN["codex"], cut="line", exit=3))
    in_character = play(write_shim(tmp_path / "b", "codex", NEW_TURN["codex"], cut="utf8"))

    assert (in_line.stdout[-1:] != b"\n", in_line.returncode) == (True, 3)
    assert recorded(NEW_TURN["codex"], "out").startswith(in_line.stdout)
    with pytest.raises(UnicodeDecodeError):
        in_character.stdout.decode()


def test_an_oversized_line_has_the_length_asked_for(tmp_path: Path):
    done = play(write_shim(tmp_path, "gemini", NEW_TURN["gemini"], oversized=5_000_000))

    assert max(len(line) + 1 for line in done.stdout.splitlines()) == 5_000_000
    assert lines_of(done)[-1]["type"] == "result"


@pytest.mark.parametrize("name", NEW_TURN)
def test_ten_thousand_tool_calls_come_before_the_end(tmp_path: Path, name: str):
    done = play(write_shim(tmp_path, name, NEW_TURN[name], tool_calls=10_000))

    assert len(lines_of(done)) == 20_000 + len(recorded(NEW_TURN[name], "out").splitlines())


def test_ignored_signals_do_nothing_and_kill_still_works(tmp_path: Path):
    with running(write_shim(tmp_path, "codex", NEW_TURN["codex"], ignore="INT,TERM", hang=2)) as codex:
        end_stdin(codex)
        read(codex, "item.completed")
        codex.send_signal(signal.SIGINT)
        codex.send_signal(signal.SIGTERM)
        with pytest.raises(subprocess.TimeoutExpired):
            codex.wait(0.2)
        codex.kill()
        assert codex.wait(10) == -signal.SIGKILL


def test_stdout_closed_early_leaves_a_process_that_lives(tmp_path: Path):
    with running(write_shim(tmp_path, "codex", NEW_TURN["codex"], close_stdout=1)) as codex:
        end_stdin(codex)
        assert codex.stdout is not None
        assert len(codex.stdout.read().splitlines()) == 1
        assert codex.poll() is None


@pytest.mark.parametrize("transcript", [PERMISSION, "claude/06o-stdin-prompt"])
def test_a_deaf_process_lets_its_stdin_fill_up(tmp_path: Path, transcript: str):
    with running(write_shim(tmp_path, "claude", transcript, deaf="hang")) as claude:
        assert claude.stdin is not None
        os.set_blocking(claude.stdin.fileno(), False)
        with pytest.raises(BlockingIOError):
            fill(claude.stdin.fileno())


def fill(descriptor: int) -> None:
    while True:
        os.write(descriptor, b"x" * 65536)


def test_a_one_shot_run_waits_for_the_end_of_its_stdin(tmp_path: Path):
    with running(write_shim(tmp_path, "codex", NEW_TURN["codex"])) as codex:
        with pytest.raises(subprocess.TimeoutExpired):
            codex.wait(0.2)
        end_stdin(codex)
        assert codex.wait(10) == 0


def test_a_run_notes_how_it_was_started(tmp_path: Path):
    notes = tmp_path / "notes"
    play(write_shim(tmp_path, "codex", NEW_TURN["codex"], notes=notes), "exec", "-", stdin=b"a long prompt")

    noted = json.loads(notes.read_text())
    assert (noted["argv"], noted["stdin"]) == (["exec", "-"], "a long prompt")
    assert "PATH" in noted["environment"]


def test_a_grandchild_outlives_its_parent_in_a_session_of_its_own(tmp_path: Path):
    done = play(write_shim(tmp_path, "codex", NEW_TURN["codex"], grandchild="quiet"))

    grandchild = int(done.stderr.split()[1])
    try:
        assert os.getsid(grandchild) == grandchild
        assert {signal.SIGINT, signal.SIGTERM, signal.SIGHUP} <= ignored_by(grandchild)
    finally:
        os.kill(grandchild, signal.SIGKILL)


def ignored_by(pid: int) -> set[int]:
    status = dict(line.split(":\t", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    mask = int(status["SigIgn"], 16)
    return {number for number in range(1, 65) if mask >> (number - 1) & 1}


@pytest.mark.parametrize("name", NEW_TURN)
def test_it_tells_the_version_that_was_recorded(tmp_path: Path, name: str):
    assert b"." in play(write_shim(tmp_path, name, NEW_TURN[name]), "--version").stdout
    assert play(write_shim(tmp_path, name, NEW_TURN[name], version="0.1"), "--version").stdout == b"0.1\n"
