"""`echo hi | fairlead chat`: one message in, one answer out."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from fairlead.channels.terminal.options import ChatOptions
from fairlead.channels.terminal.run import run_chat
from fairlead.errors import Code
from tests.channels.harness import a_client, run_daemon_in
from tests.git.harness import make_repository

pytestmark = pytest.mark.anyio


async def piped(directory: Path, data: bytes, **options: Any) -> tuple[int, str, str]:
    stdin, stdout, stderr = io.TextIOWrapper(io.BytesIO(data)), io.StringIO(), io.StringIO()
    async with run_daemon_in(directory) as daemon, a_client(daemon) as client:
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


def run_in(home: Path, directory: Path, message: str) -> subprocess.CompletedProcess[str]:
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "STATE_DIR": str(home / "state"),
        "LOG_DIR": str(home / "logs"),
    }
    return subprocess.run(
        [sys.executable, "-m", "fairlead", "chat"],
        input=message,
        cwd=directory,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.req("C6")
def test_the_real_program_answers_in_a_pipe_and_works_where_it_stands(tmp_path: Path):
    first, second = tmp_path / "My Work", tmp_path / "other"
    for directory in (first, second / "src"):
        directory.mkdir(parents=True)
    done = run_in(tmp_path, first, "hi")
    assert (done.returncode, done.stdout) == (0, "echo agent:fairlead:user:local: hi\n")
    assert done.stderr == "Registered ~/My Work as project my-work.\n"
    assert run_in(tmp_path, first, "again").stderr == ""
    assert run_in(tmp_path, second, "hi").stderr == "Registered ~/other as project other.\n"
    assert run_in(tmp_path, second / "src", "hi").stderr == ""
    assert run_in(tmp_path, first, "/project add ../other").stdout.startswith("Project other is already registered")
    journal = (tmp_path / "state" / "events.ndjson").read_text().splitlines()
    started = [line["payload"]["project_path"] for line in map(json.loads, journal) if line["type"] == "JobStarted"]
    assert started == [str(first), str(first), str(second), str(second)]


@pytest.mark.req("C6")
def test_a_pipe_registers_neither_the_home_directory_nor_the_root_nor_fairleads_own_code(tmp_path: Path):
    home = tmp_path / "home"
    (home / "work").mkdir(parents=True)
    own_code = Path(__file__).parents[3]
    for directory, why in (
        (home, "your home directory"),
        (Path("/"), "This directory contains"),
        (own_code, "own source"),
    ):
        refused = run_in(home, directory, "delete the old tests")
        assert (refused.returncode, refused.stdout) == (1, "")
        assert refused.stderr.startswith("E_PROJECT_NOT_SELECTED: ")
        assert why in refused.stderr
    run_in(home, home / "work", "hi")
    told = run_in(home, home, "hi")
    assert told.returncode == 0
    assert told.stderr == "~ is not a project; working in work.\n"


# --- what scripts ask for


async def test_the_argument_is_the_message_and_what_is_piped_in_stands_below_it(tmp_path: Path):
    code, out, _ = await piped(tmp_path, b"a diff\n", message="look at this:")
    assert (code, out) == (0, "echo agent:fairlead:user:local: look at this:\n\na diff\n")


async def test_the_job_is_printed_as_json_and_so_is_a_refusal(tmp_path: Path):
    code, out, _ = await piped(tmp_path, b"hello", as_json=True)
    job = json.loads(out)
    assert code == 0
    assert (job["state"], job["answer"]) == ("success", "echo agent:fairlead:user:local: hello")
    code, out, err = await piped(tmp_path, b"/fail E_CLI_TIMEOUT", as_json=True)
    assert (code, json.loads(out)["error"]["code"]) == (1, "E_CLI_TIMEOUT")
    assert err.startswith("E_CLI_TIMEOUT: ")
    code, out, _ = await piped(tmp_path, b"", as_json=True)
    assert (code, json.loads(out)["error"]["code"]) == (1, "E_EMPTY_MESSAGE")


@pytest.mark.req("B3")
@pytest.mark.parametrize(
    ("allow", "says"),
    [
        ((), "denied: npm test"),
        (("Edit", "Read"), "denied: npm test"),
        (("Bash(npm)",), "denied: npm test"),
        (("Bash",), "allowed: npm test"),
        (("Bash(npm test)",), "allowed: npm test"),
    ],
)
async def test_only_the_tools_that_are_named_are_allowed_and_only_once(
    tmp_path: Path, allow: tuple[str, ...], says: str
):
    _, out, _ = await piped(tmp_path, b"/ask npm test", allow=allow)
    assert says in out
    events = (tmp_path / "state" / "events.ndjson").read_text()
    assert '"for_session":true' not in events


async def test_neither_a_plan_nor_a_question_is_a_permission(tmp_path: Path):
    _, out, _ = await piped(tmp_path, b"/plan first this", allow=("Bash", "", "plan"))
    assert "the plan was rejected" in out


async def test_a_new_conversation_is_begun_where_that_is_asked_for(tmp_path: Path):
    await piped(tmp_path, b"one")
    _, out, _ = await piped(tmp_path, b"two")
    assert "turn 2 of talk" in out
    _, out, _ = await piped(tmp_path, b"three", is_new=True)
    assert "turn " not in out


async def test_the_files_of_an_answer_are_saved_where_they_can_be_opened(tmp_path: Path):
    code, _, err = await piped(tmp_path, b"/image 2", files=tmp_path / "cache" / "files")
    assert code == 0
    paths = [Path(line.split("  ")[1]) for line in err.splitlines() if line.startswith("📎")]
    assert [path.read_bytes()[:4] for path in paths] == [b"\x89PNG"] * 2
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in paths)


@pytest.mark.req("F5")
async def test_a_pipe_works_in_a_worktree_and_says_where(tmp_path: Path):
    make_repository(tmp_path / "proj")
    code, out, err = await piped(tmp_path, b"hello", worktree=True)
    assert (code, out.startswith("echo agent:")) == (0, True)
    assert "branch: fairlead/proj-" in err
    code, _out, err = await piped(tmp_path, b"hello", worktree=True)
    assert code == 0  # it has one already
    (tmp_path / "plain").mkdir()
    code, _out, err = await piped(tmp_path / "plain", b"hello", worktree=True)
    assert (code, err.splitlines()[-1].startswith("E_WORKTREE_UNAVAILABLE")) == (1, True)
