"""`fairlead spawn`: a task, and its answer now or in the next chat."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from fairlead.channels.terminal.options import ChatOptions
from fairlead.channels.terminal.spawn import run_spawn
from tests.channels.harness import a_client, run_daemon_in

pytestmark = [pytest.mark.anyio, pytest.mark.req("D4", "C6")]


async def run(directory: Path, *, waits: bool, **options: Any) -> tuple[int, list[str], list[str], list[str]]:
    told: list[str] = []
    complaints: list[str] = []
    async with run_daemon_in(directory) as daemon, a_client(daemon) as client:
        chosen = ChatOptions(**options)
        code = await run_spawn(client, chosen, waits=waits, tell=told.append, complain=complaints.append)
        for job in daemon.flow.ledger.state.jobs:
            await daemon.until(job, "done")
        left = [job.answer for job in await client.unfetched_jobs("local")]
    return code, told, complaints, left


async def test_with_wait_the_answer_is_printed_and_nothing_is_left(tmp_path: Path):
    code, told, complaints, left = await run(tmp_path, waits=True, message="count the files")
    assert (code, left) == (0, [])
    assert "count the files" in told[0]
    assert "spawn-1" in complaints[0]


async def test_without_it_the_next_chat_has_the_answer(tmp_path: Path):
    code, told, _, left = await run(tmp_path, waits=False, message="count the files")
    assert code == 0
    assert "spawn-1" in told[0]
    assert "count the files" in left[0]


def test_it_is_a_command_of_its_own(tmp_path: Path):
    project = tmp_path / "api"
    project.mkdir()
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "FAIRLEAD_HTTP_PORT": "0"}
    command = [sys.executable, "-m", "fairlead", "spawn", "--wait", "--agent", "echo", "count the files"]
    done = subprocess.run(command, env=env, cwd=project, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("echo agent:fairlead:thread:spawn:spawn-1: count the files")
