"""Forks over HTTP: the person's conversation goes on in the fork, and back."""

from pathlib import Path

import pytest

from tests.channels.harness import DaemonHarness, run_daemon_in
from tests.channels.stories.test_changes import write_files
from tests.git.harness import make_repository

pytestmark = [pytest.mark.anyio, pytest.mark.req("F7")]


async def recall(daemon: DaemonHarness, user: str) -> list[str]:
    _, job = await daemon.say(user, "/recall")
    return [line.partition(". ")[2] for line in job["answer"].splitlines() if line[:1].isdecimal()]


async def test_a_conversation_goes_on_in_a_fork_and_back_over_http(tmp_path: Path):
    project = make_repository(tmp_path / "proj", a="one\n")
    async with run_daemon_in(tmp_path) as daemon:
        status, refused = await daemon.post("/v1/fork", {"userId": "alice"})
        assert status >= 400, refused
        await daemon.say("alice", "one")
        status, forked = await daemon.post("/v1/fork", {"userId": "alice", "worktree": True})
        assert (status, forked["is_here"], forked["project"]) == (200, True, "proj")
        assert forked["branch"].startswith("fairlead/proj-")
        await write_files(daemon, "alice", "b.txt words")
        assert not (project / "b.txt").exists()
        assert await recall(daemon, "alice") == ["one", "/write b.txt words", "/recall"]
        status, back = await daemon.post("/v1/session/switch", {"userId": "alice"})
        assert (status, back["session_key"]) == (200, forked["forked_from"])
        assert await recall(daemon, "alice") == ["one", "/recall"]
        status, _ = await daemon.post("/v1/session/switch", {"userId": "bob", "session_id": forked["session_id"]})
        assert status >= 400, "a fork is its person's"
