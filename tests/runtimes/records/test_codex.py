"""Codex's own records: its rollouts by day, and who writes a thread."""

import fcntl
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from fairlead.core.agent_sessions import Exchange
from fairlead.runtimes.records.codex import CodexRecords

pytestmark = [pytest.mark.req("F8", "F9"), pytest.mark.anyio]
KEY = "01a1eca7-3e59-7210-805a-9fd776a29736"
OTHER = "01a1eca8-2c90-70b1-ae3b-537bee50d0fb"
AT = "2026-11-18T03:15:58.168Z"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    project = tmp_path / "project"
    project.mkdir()
    return project


@pytest.fixture
def records(tmp_path: Path) -> CodexRecords:
    return CodexRecords({"HOME": str(tmp_path)})


def line(kind: str, payload: dict[str, Any]) -> str:
    return json.dumps({"timestamp": AT, "type": kind, "payload": payload}, separators=(",", ":"))


def meta(key: str, cwd: Path, **more: Any) -> str:
    return line("session_meta", {"id": key, "timestamp": AT, "cwd": str(cwd), "source": "cli", **more})


def said(kind: str, text: str) -> str:
    """As codex 0.166 writes it."""
    item = {"type": kind, "id": "x", "content": [{"type": "text", "text": text}, {"type": "image"}]}
    return line("event_msg", {"type": "item_completed", "item": item})


def write_rollout(home: Path, key: str, *lines: str, day: str = "2026/11/18") -> Path:
    directory = home / ".codex" / "sessions" / day
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f"rollout-{day.replace('/', '-')}T03-15-45-{key}.jsonl"
    path.write_text("".join(f"{each}\n" for each in lines))
    return path


def one_exchange(project: Path, key: str = KEY, **more: Any) -> Path:
    return write_rollout(
        project.parent,
        key,
        meta(key, project),
        line("response_item", {"type": "message", "role": "user", "content": [{"text": "<environment_context>"}]}),
        said("UserMessage", "my name is Alice"),
        said("AgentMessage", "Noted."),
        line("event_msg", {"type": "task_complete", "last_agent_message": "Noted."}),
        **more,
    )


async def test_a_thread_is_listed_with_its_first_words_its_time_and_its_length(project: Path, records: CodexRecords):
    one_exchange(project)
    (listed,) = await records.list_sessions(str(project))
    assert (listed.key, listed.first_words, listed.exchanges, listed.began_at) == (KEY, "my name is Alice", 1, AT)
    assert listed.latest == (Exchange("my name is Alice", "Noted.", AT),)
    assert await records.read_session(str(project), KEY) == listed


async def test_rollouts_of_earlier_versions_are_understood(project: Path, records: CodexRecords):
    write_rollout(
        project.parent,
        KEY,
        meta(KEY, project),
        line("event_msg", {"type": "user_message", "message": "hello"}),
        line("event_msg", {"type": "agent_message", "message": "hi"}),
    )
    (listed,) = await records.list_sessions(str(project))
    assert listed.latest == (Exchange("hello", "hi", AT),)


async def test_only_threads_of_this_directory_are_listed_and_none_of_a_sub_agent(project: Path, records: CodexRecords):
    write_rollout(project.parent, OTHER, meta(OTHER, project.parent), said("UserMessage", "elsewhere"))
    sub_agent = OTHER.replace("01a1", "01a2")
    write_rollout(
        project.parent,
        sub_agent,
        meta(sub_agent, project, source={"subagent": "review"}),
        said("UserMessage", "of a sub-agent"),
    )
    one_exchange(project, day="2025/01/02")
    assert [s.key for s in await records.list_sessions(str(project))] == [KEY]
    assert await records.read_session(str(project), OTHER) is None


async def test_what_was_added_later_stands_behind_the_position(project: Path, records: CodexRecords):
    path = one_exchange(project)
    before = await records.read_session(str(project), KEY)
    assert before is not None
    with path.open("a") as log:
        log.write(said("UserMessage", "in the terminal") + "\n" + said("AgentMessage", "done") + "\n")
    added = await records.read_session(str(project), KEY, before.position)
    assert added is not None
    assert (added.exchanges, added.latest) == (1, (Exchange("in the terminal", "done", AT),))


async def test_broken_rollouts_are_left_out(project: Path, records: CodexRecords):
    write_rollout(project.parent, OTHER, "no json", said("UserMessage", "x"))
    (project.parent / ".codex" / "sessions" / "2026" / "notes.txt").write_text("not a month")
    path = one_exchange(project)
    with path.open("ab") as log:
        log.write(b'{"type":"event_msg","payload":{"type":"user_message","message":7}}\n')
    assert [s.key for s in await records.list_sessions(str(project))] == [KEY]


@pytest.mark.parametrize("key", ["../../auth", "", "*", f"{KEY}*"])
async def test_an_id_is_never_a_pattern(project: Path, records: CodexRecords, key: str):
    one_exchange(project)
    assert await records.read_session(str(project), key) is None


async def test_the_terminal_gets_the_home_that_fairlead_uses(tmp_path: Path):
    chosen = CodexRecords({"HOME": str(tmp_path), "CODEX_HOME": "/srv/codex"})
    command = await chosen.resume_command("/srv/app", KEY)
    assert command is not None
    assert (command.argv, command.variables) == (("codex", "resume", KEY), {"CODEX_HOME": "/srv/codex"})


# --- who writes it


@contextmanager
def a_codex(*arguments: str, opens: Path | None = None) -> Iterator[int]:
    """A living process that is called codex and may have a file open."""
    program = "import sys; kept = open(sys.argv[1]) if sys.argv[1] else None; print('up', flush=True); sys.stdin.read()"
    process = subprocess.Popen(
        ["codex", "-c", program, str(opens or ""), *arguments],
        executable=sys.executable,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"up\n"
    try:
        yield process.pid
    finally:
        process.kill()
        process.communicate()


async def test_a_process_that_has_the_rollout_open_writes_the_thread(project: Path, records: CodexRecords):
    path = one_exchange(project)
    with a_codex(opens=path) as pid:
        (writer,) = await records.find_writers(str(project), KEY)
        assert (writer.pid, writer.certain, writer.ended_by) == (pid, True, "")
        assert await records.find_writers(str(project), OTHER) == ()
    assert await records.find_writers(str(project), KEY) == ()


async def test_codexs_own_daemon_stays_and_the_command_that_ends_it_is_named(project: Path, records: CodexRecords):
    path = one_exchange(project)
    with a_codex("app-server", opens=path):
        (writer,) = await records.find_writers(str(project), KEY)
        assert writer.ended_by == "codex app-server daemon stop"


async def test_a_thread_that_is_resumed_by_its_id_is_open(project: Path, records: CodexRecords):
    one_exchange(project)
    with a_codex("resume", KEY) as pid:
        (writer,) = await records.find_writers(str(project), KEY)
        assert writer.pid == pid


async def test_a_lock_that_somebody_holds_is_enough_where_no_process_can_be_seen(project: Path, records: CodexRecords):
    one_exchange(project)
    locks = project.parent / ".codex" / "thread-writer-locks"
    locks.mkdir()
    lock = locks / f"{KEY}.lock"
    lock.touch()
    assert await records.find_writers(str(project), KEY) == ()
    descriptor = os.open(lock, os.O_RDWR)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    try:
        (writer,) = await records.find_writers(str(project), KEY)
        assert writer.pid == 0
    finally:
        os.close(descriptor)
