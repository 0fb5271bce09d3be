"""A daemon for chats: when it is needed, who holds the state directory, and what a start reports."""

import asyncio
import json
import os
import signal
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fairlead.cli.background import (
    GRACE_SEC,
    ask_to_make_way,
    is_held,
    look_at_server,
    start_background,
    watch_need,
)
from fairlead.errors import Code, FairleadError
from fairlead.kit.files import lock_file
from tests.channels.harness import settings_in
from tests.cli.harness import run
from tests.flow.harness import virtually


class Needed:
    """A daemon as `watch_need` sees it."""

    def __init__(self) -> None:
        self.clients = 0
        self.jobs = 0
        state = SimpleNamespace(live_counts=lambda: {"running": self.jobs})
        self.flow = SimpleNamespace(ledger=SimpleNamespace(state=state))

    def count_clients(self) -> int:
        return self.clients


def watch(daemon: Any, make_way: asyncio.Event) -> "asyncio.Task[None]":
    return asyncio.get_running_loop().create_task(watch_need(daemon, make_way))


@virtually
async def test_it_is_needed_while_a_client_is_connected_or_a_job_is_not_over():
    daemon = Needed()
    daemon.clients = daemon.jobs = 1
    task = watch(daemon, asyncio.Event())
    await asyncio.sleep(100)
    daemon.clients = 0
    await asyncio.sleep(100)
    daemon.jobs, daemon.clients = 0, 1
    await asyncio.sleep(100)
    assert not task.done()
    daemon.clients = 0
    await asyncio.sleep(GRACE_SEC - 1)
    assert not task.done()
    await asyncio.sleep(2)
    assert task.done()


@virtually
async def test_it_makes_way_when_its_jobs_are_over_even_for_connected_chats():
    daemon, make_way = Needed(), asyncio.Event()
    daemon.clients = daemon.jobs = 1
    task = watch(daemon, make_way)
    make_way.set()
    await asyncio.sleep(100)
    assert not task.done()
    daemon.jobs = 0
    await asyncio.sleep(1)
    assert task.done()


def test_a_state_directory_is_held_by_a_process_that_lives(tmp_path: Path):
    assert not is_held(tmp_path)
    assert look_at_server(tmp_path) == "gone"
    with lock_file(tmp_path / "lock", "fairlead 1"):
        assert is_held(tmp_path)
        assert look_at_server(tmp_path) == "stopping"
        (tmp_path / "http-address").write_text("http://127.0.0.1:1\n")
        assert look_at_server(tmp_path) == "up"
        assert not ask_to_make_way(tmp_path)


def test_a_lock_file_that_outlived_its_daemon_speaks_of_no_process(tmp_path: Path):
    """After a power failure, its pid belongs to another program, which must neither count as a daemon nor be asked to
    make way."""
    with subprocess.Popen(["sleep", "60"]) as other:
        (tmp_path / "lock").write_text(f"{other.pid} fairlead 1 for chats\n")
        (tmp_path / "http-address").write_text("http://127.0.0.1:1\n")
        assert not is_held(tmp_path)
        assert look_at_server(tmp_path) == "gone"
        assert not ask_to_make_way(tmp_path)
        other.terminate()
    assert other.returncode == -signal.SIGTERM  # a SIGHUP would have come first


def test_a_lock_that_names_no_process_asks_nobody(tmp_path: Path):
    with lock_file(tmp_path / "lock", "fairlead 1 for chats"):
        (tmp_path / "lock").write_text("what? for chats\n")
        assert not ask_to_make_way(tmp_path)  # pid 0 would mean our own process group


@pytest.mark.anyio
async def test_the_error_of_a_start_in_the_background_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    settings = settings_in(tmp_path)
    monkeypatch.setenv("STATE_DIR", str(settings.state_dir))
    monkeypatch.setenv("LOG_DIR", str(settings.log_dir))
    settings.state_dir.mkdir()
    (settings.state_dir / "config.json").write_text("{")
    (settings.state_dir / "events.ndjson").write_text("not a journal\n" * 3)
    with pytest.raises(FairleadError) as caught:
        await start_background(settings)
    assert caught.value.code in {Code.E_CONFIG, Code.E_JOURNAL_BROKEN}


def test_a_script_asks_and_reads_json_and_the_daemon_behind_it_is_left_alone(tmp_path: Path):
    (tmp_path / "proj").mkdir()
    asked = run(tmp_path, "chat", "-p", "hello", "--json", "--project", "proj", PROJECTS=f'["{tmp_path / "proj"}"]')
    try:
        assert asked.returncode == 0, asked.stderr
        assert json.loads(asked.stdout)["answer"] == "echo agent:fairlead:user:local: hello"
    finally:
        holder = int((tmp_path / ".local/state/fairlead/state/lock").read_text().split()[0])
        os.kill(holder, 9)
