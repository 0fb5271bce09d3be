"""Claude's own records: its logs by directory, and who has a session open."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from fairlead.core.agent_sessions import Exchange
from fairlead.kit.process_table import system_table
from fairlead.runtimes.records.claude import ClaudeRecords, log_directory_name

pytestmark = [pytest.mark.req("F8", "F9"), pytest.mark.anyio]
KEY = "5ec29595-d966-4095-9e2e-e246aafcf06d"
OTHER = "11111111-2222-4333-8444-555555555555"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    project = tmp_path / "project"
    project.mkdir()
    return project


@pytest.fixture
def records(tmp_path: Path) -> ClaudeRecords:
    return ClaudeRecords({"HOME": str(tmp_path / "home")})


def line(kind: str, content: Any, project: Path, **more: Any) -> str:
    """As claude 2.1.325 writes it."""
    fields = {
        "parentUuid": None,
        "isSidechain": False,
        "type": kind,
        "message": {"role": kind, "content": content},
        "timestamp": "2026-11-18T03:14:40.390Z",
        "cwd": str(project),
        "version": "2.1.325",
    }
    return json.dumps(fields | more, separators=(",", ":"))


def tool_result(text: str) -> list[dict[str, str]]:
    return [{"type": "tool_result", "tool_use_id": "t1", "content": text}]


def answer(text: str) -> list[dict[str, str]]:
    return [{"type": "text", "text": text}]


def write_log(project: Path, key: str, *lines: str, at: Path | None = None) -> Path:
    home = project.parent / "home"
    directory = at or home / ".claude" / "projects" / log_directory_name(str(project))
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f"{key}.jsonl"
    path.write_text("".join(f"{each}\n" for each in lines))
    return path


def two_exchanges(project: Path, key: str = KEY) -> Path:
    return write_log(
        project,
        key,
        json.dumps({"type": "permission-mode", "permissionMode": "auto", "sessionId": key}),
        line("user", "my name is Alice", project),
        line("assistant", answer("Noted."), project),
        line("user", "run the tests", project),
        line("assistant", [{"type": "tool_use", "id": "t1", "name": "Bash", "input": {}}], project),
        line("user", tool_result("5 passed"), project),
        line("assistant", answer("All 5 pass."), project),
    )


async def test_a_session_is_listed_with_its_first_words_its_time_and_its_length(project: Path, records: ClaudeRecords):
    path = two_exchanges(project)
    (listed,) = await records.list_sessions(str(project))
    assert (listed.key, listed.first_words, listed.exchanges) == (KEY, "my name is Alice", 2)
    assert listed.began_at == "2026-11-18T03:14:40.390Z"
    assert listed.latest == (
        Exchange("my name is Alice", "Noted.", "2026-11-18T03:14:40.390Z"),
        Exchange("run the tests", "All 5 pass.", "2026-11-18T03:14:40.390Z"),
    )
    assert await records.read_session(str(project), listed.key) == listed
    assert path.exists()


async def test_what_was_added_later_stands_behind_the_position(project: Path, records: ClaudeRecords):
    path = two_exchanges(project)
    before = await records.read_session(str(project), KEY)
    assert before is not None
    with path.open("a") as log:
        log.write(line("user", "in the terminal", project) + "\n" + line("assistant", answer("done"), project) + "\n")
    added = await records.read_session(str(project), KEY, before.position)
    assert added is not None
    assert (added.exchanges, [e.prompt for e in added.latest]) == (1, ["in the terminal"])


async def test_what_no_person_said_is_no_exchange(project: Path, records: ClaudeRecords):
    write_log(
        project,
        KEY,
        line("user", "<command-name>/clear</command-name>", project),
        line("user", "Caveat: …", project, isMeta=True),
        line("user", "a summary of what was before", project, isCompactSummary=True),
        line("user", "search the code", project, isSidechain=True),
        line("user", "[Request interrupted by user]", project),
        line("user", answer("a real question"), project),
    )
    (listed,) = await records.list_sessions(str(project))
    assert (listed.exchanges, listed.first_words) == (1, "a real question")


async def test_a_directory_whose_name_claude_writes_alike_is_another_one(project: Path, records: ClaudeRecords):
    twin = project.parent / "pro" / "ject"
    at = project.parent / "home" / ".claude" / "projects" / log_directory_name(str(project))
    write_log(project, KEY, line("user", "of the twin", twin), at=at)
    assert await records.list_sessions(str(project)) == ()
    assert await records.read_session(str(project), KEY) is None


async def test_a_directory_is_the_same_however_its_path_is_written(project: Path, records: ClaudeRecords):
    two_exchanges(project)
    link = project.parent / "link"
    link.symlink_to(project)
    assert len(await records.list_sessions(str(link))) == 1


async def test_a_name_that_claude_cuts_is_found_by_what_is_left_of_it(tmp_path: Path, records: ClaudeRecords):
    long = tmp_path / ("x" * 120) / ("y" * 120)
    at = tmp_path / "home" / ".claude" / "projects" / f"{log_directory_name(str(long))[:200]}-a1b2c3"
    write_log(tmp_path / "any", KEY, line("user", "deep", long), at=at)
    assert [s.key for s in await records.list_sessions(str(long))] == [KEY]


async def test_broken_logs_are_left_out_and_broken_lines_too(project: Path, records: ClaudeRecords):
    write_log(project, OTHER, "no json", '{"type":"user"', "\x00" * 100)
    write_log(project, "agent-1", line("user", "a sub-agent", project))
    path = two_exchanges(project)
    with path.open("ab") as log:
        log.write(b'{"type":"user","message":{"content":7}}\n\xff\xfe"type":"user"\n')
    assert [s.key for s in await records.list_sessions(str(project))] == [KEY]


@pytest.mark.parametrize("key", ["../../../etc/passwd", "", "x" * 36, f"{KEY}/.."])
async def test_an_id_is_never_a_path(project: Path, records: ClaudeRecords, key: str):
    assert await records.read_session(str(project), key) is None


async def test_without_records_there_are_no_sessions(project: Path, records: ClaudeRecords):
    assert await records.list_sessions(str(project)) == ()
    assert await records.find_writers(str(project), KEY) == ()


async def test_the_terminal_gets_the_configuration_that_fairlead_uses(tmp_path: Path):
    chosen = ClaudeRecords({"HOME": str(tmp_path), "CLAUDE_CONFIG_DIR": "/srv/claude"}, "/opt/claude")
    command = await chosen.resume_command("/srv/app", KEY)
    assert command is not None
    assert (command.argv, command.variables) == (
        ("/opt/claude", "--resume", KEY),
        {"CLAUDE_CONFIG_DIR": "/srv/claude"},
    )


# --- who has it open


@contextmanager
def a_claude(cwd: Path, *arguments: str) -> Iterator[int]:
    """A living process that is called claude, as a person starts it: not below this one."""
    launcher = (
        "import subprocess, sys\n"
        "claude = subprocess.Popen(['claude', '-c', sys.argv[1], *sys.argv[2:]], executable=sys.executable,\n"
        "    stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, start_new_session=True)\n"
        "claude.stdout.readline()\n"
        "print(claude.pid)"
    )
    program = "import signal; print('up', flush=True); signal.pause()"
    launched = subprocess.run(
        [sys.executable, "-c", launcher, program, *arguments], cwd=cwd, stdout=subprocess.PIPE, check=True
    )
    pid = int(launched.stdout)
    try:
        yield pid
    finally:
        os.kill(pid, signal.SIGKILL)
        while system_table().start_time(pid) is not None:
            pass


def register(project: Path, pid: int, key: str, start: str | None = None) -> None:
    """As claude 2.1.325 writes it for as long as it lives."""
    sessions = project.parent / "home" / ".claude" / "sessions"
    sessions.mkdir(parents=True, exist_ok=True)
    entry = {
        "pid": pid,
        "sessionId": key,
        "cwd": str(project),
        "procStart": start if start is not None else system_table().start_time(pid),
        "kind": "interactive",
    }
    (sessions / f"{pid}.json").write_text(json.dumps(entry))


async def test_a_process_that_says_which_session_it_has_open_is_believed(project: Path, records: ClaudeRecords):
    with a_claude(project) as pid:
        register(project, pid, KEY)
        (writer,) = await records.find_writers(str(project), KEY)
        assert (writer.pid, writer.certain) == (pid, True)
        assert await records.find_writers(str(project), OTHER) == ()
    assert await records.find_writers(str(project), KEY) == ()


async def test_a_process_that_was_killed_has_nothing_open_although_its_file_is_left(
    project: Path, records: ClaudeRecords
):
    with a_claude(project, "--resume", OTHER) as pid:
        register(project, pid, KEY, start="1")  # another process had this number
        assert await records.find_writers(str(project), KEY) == ()


async def test_an_older_claude_is_recognised_by_its_arguments(project: Path, records: ClaudeRecords):
    with a_claude(project, "--resume", KEY) as pid:
        (writer,) = await records.find_writers(str(project), KEY)
        assert (writer.pid, writer.certain) == (pid, True)
    with a_claude(project, "--resume", KEY, "--fork-session"):
        assert await records.find_writers(str(project), KEY) == ()


async def test_an_older_claude_that_does_not_show_its_session_may_have_any_of_its_directory(
    project: Path, records: ClaudeRecords
):
    with a_claude(project) as pid:
        (writer,) = await records.find_writers(str(project), KEY)
        assert (writer.pid, writer.certain) == (pid, False)
    with a_claude(project.parent):
        assert await records.find_writers(str(project), KEY) == ()


async def test_files_that_say_nothing_useful_are_passed_over(project: Path, records: ClaudeRecords):
    sessions = project.parent / "home" / ".claude" / "sessions"
    sessions.mkdir(parents=True)
    (sessions / "1.json").write_text("{")
    (sessions / "2.json").symlink_to("/etc/passwd")
    os.mkfifo(sessions / "3.json")
    assert await records.find_writers(str(project), KEY) == ()
