"""`echo hi | fairlead chat`: one message in, one answer out."""

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

from fairlead.channels.terminal import ChatOptions, run_chat
from fairlead.errors import Code
from tests.channels.harness import a_client, at_home

pytestmark = pytest.mark.anyio


async def piped(directory: Path, data: bytes, **options: str) -> tuple[int, str, str]:
    stdin, stdout, stderr = io.TextIOWrapper(io.BytesIO(data)), io.StringIO(), io.StringIO()
    async with at_home(directory) as home, a_client(home) as client:
        code = await run_chat(client, ChatOptions(**options), stdin=stdin, stdout=stdout, stderr=stderr)
    return code, stdout.getvalue(), stderr.getvalue()


@pytest.mark.req("C6", "C8")
async def test_the_whole_of_stdin_is_one_message_and_only_the_answer_is_printed(tmp_path: Path):
    code, out, err = await piped(tmp_path, b"first line\n/tool Bash ls\nlast line\n")
    assert code == 0
    assert out.startswith("echo agent:fairlead:user:local: first line\n")
    assert "last line\n" in out
    assert "🔧" not in out
    assert "🔧" in err
    assert "ls" in err


@pytest.mark.req("C6", "B8")
@pytest.mark.parametrize(
    ("data", "options", "code"),
    [
        (b"", {}, Code.E_EMPTY_MESSAGE),
        (b" \n\n", {}, Code.E_EMPTY_MESSAGE),
        (b"hi", {"project": "nowhere"}, Code.E_PROJECT_NOT_FOUND),
        (b"hi", {"tool": "claude"}, Code.E_TOOL_NOT_ENABLED),
        (b"hi", {"user": "1234"}, Code.E_INVALID_USER),
        (b"/fail E_CLI_TIMEOUT", {}, Code.E_CLI_TIMEOUT),
        (b"/retry job_1", {}, Code.E_JOB_NOT_FOUND),
        (b"x" * 5_000_000, {}, Code.E_MESSAGE_TOO_LARGE),
    ],
)
async def test_a_failure_is_a_code_and_a_sentence_on_stderr(
    tmp_path: Path, data: bytes, options: dict[str, str], code: Code
):
    status, _out, err = await piped(tmp_path, data, **options)
    assert status == 1
    assert err.splitlines()[-1].startswith(f"{code}: ")


@pytest.mark.req("C6")
async def test_questions_are_denied_aloud_when_nobody_can_be_asked(tmp_path: Path):
    code, out, err = await piped(tmp_path, b"/ask rm -rf build")
    assert code == 0
    assert "denied: rm -rf build" in out
    assert "rm -rf build" in err
    assert "Denied" in err


@pytest.mark.req("C6", "B8")
async def test_a_pipe_speaks_the_readers_language_too(tmp_path: Path):
    _, _, empty = await piped(tmp_path, b"", lang="ja")
    assert empty == (
        "E_EMPTY_MESSAGE: メッセージが空です。本文を書くか、ファイルを添付してください。"
        " (標準入力から何も届きませんでした。)\n"
    )
    _, switched, _ = await piped(tmp_path, b"/project switch proj", lang="zh-TW")
    assert switched.startswith("已切換到專案 #1 proj")
    _, _, denied = await piped(tmp_path, b"/ask rm -rf build", lang="zh-CN")
    assert "已拒绝：没有可以询问的终端。" in denied


@pytest.mark.req("C6")
async def test_bytes_that_are_no_text_are_a_message_too(tmp_path: Path):
    code, out, _ = await piped(tmp_path, b"\xff\xfe\x00 hello \x9f")
    assert code == 0
    assert "\ufffd\ufffd\u2400 hello \ufffd" in out


@pytest.mark.req("C6", "A12")
async def test_a_command_on_stdin_is_a_command(tmp_path: Path):
    code, out, _ = await piped(tmp_path, b"/project list\n")
    assert code == 0
    assert "#1 proj  echo (echo)" in out


@pytest.mark.req("C6")
def test_the_real_program_answers_in_a_pipe_and_registers_its_directory(tmp_path: Path):
    here = tmp_path / "My Work"
    here.mkdir()
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "STATE_DIR": str(tmp_path / "state"),
        "LOG_DIR": str(tmp_path / "logs"),
    }
    program = [sys.executable, "-m", "fairlead", "chat"]
    for message, expected in (("hi", "user:local: hi"), ("/project list", "my-work")):
        done = subprocess.run(
            program, input=message, cwd=here, env=environment, capture_output=True, text=True, timeout=60, check=False
        )
        assert (done.returncode, done.stderr) == (0, "")
        assert expected in done.stdout
