"""Adopting and handing off over HTTP: the list, the command for the terminal, and what waits meanwhile."""

from pathlib import Path

import pytest

from tests.channels.harness import run_daemon_in
from tests.channels.stories.test_changes import write_files
from tests.git.harness import make_repository
from tests.support.configured_agents import ScriptedAgent, configure

pytestmark = [pytest.mark.anyio, pytest.mark.req("F8", "F9")]


async def test_a_session_goes_to_a_terminal_and_back_over_http(tmp_path: Path):
    agent = ScriptedAgent(tmp_path, "goose", name="OpenCode")
    configure(tmp_path / "state", agent)
    async with run_daemon_in(tmp_path) as daemon:
        await daemon.post("/v1/messages", {"userId": "alice", "message": "hello", "tool": "goose"})
        status, listed = await daemon.get("/v1/session/stored?userId=alice")
        (row,) = listed["sessions"]
        assert (status, row["tool"], row["here"]) == (200, "goose", True)
        _, handed_off = await daemon.post("/v1/handoff", {"userId": "alice"})
        assert handed_off["argv"] == ["opencode", "--session", row["key"]]
        status, waiting = await daemon.post("/v1/messages?wait=0", {"userId": "alice", "message": "meanwhile"})
        assert (status, waiting["held"]) == (202, "handed_off")
        _, report = await daemon.get("/v1/status?userId=alice")
        assert (report["state"], report["pending"]) == ("handed_off", 1)
        status, refused = await daemon.post("/v1/session/adopt", {"userId": "alice", "key": row["key"]})
        assert (status, refused["error"]["code"]) == (409, "E_SESSION_HANDED_OFF")
        _, back = await daemon.post("/v1/handoff", {"userId": "alice", "action": "back"})
        assert (back["handed_off"], back["pending"]) == (False, 1)
        status, unknown = await daemon.post("/v1/session/adopt", {"userId": "alice", "key": "nobody-knows-it"})
        assert (status, unknown["error"]["code"]) in {(404, "E_SESSION_NOT_FOUND"), (409, "E_SESSION_STATE")}


@pytest.mark.req("F3")
async def test_what_a_turn_changed_is_a_field_of_its_job(tmp_path: Path):
    make_repository(tmp_path / "proj")
    async with run_daemon_in(tmp_path) as daemon:
        job_id = await write_files(daemon, "alice", "a.txt one")
        _, job = await daemon.get(f"/v1/jobs/{job_id}")
        assert job["changed"]["total"] == 1
        assert job["changed"]["files"][0] == {"path": "a.txt", "kind": "added", "added": 1}
