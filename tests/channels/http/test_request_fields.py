"""Which names a request's fields may have."""

from pathlib import Path

import pytest

from tests.channels.harness import run_daemon_in

pytestmark = [pytest.mark.anyio, pytest.mark.req("C5")]


async def test_user_id_is_taken_wherever_userid_is(tmp_path: Path):
    async with run_daemon_in(tmp_path) as daemon:
        status, job = await daemon.post("/v1/messages", {"user_id": "alice", "message": "hello"})
        assert (status, job["session_key"]) == (200, "agent:fairlead:user:alice")
        for path in ("/v1/status", "/v1/answers", "/v1/questions"):
            assert (await daemon.get(f"{path}?user_id=alice"))[0] == 200
        assert (await daemon.post("/v1/tool", {"user_id": "alice", "tool": "echo"}))[0] == 200
        twice = await daemon.post("/v1/messages", {"user_id": "alice", "userId": "alice", "message": "hello"})
    assert twice[0] == 400
    assert twice[1]["error"]["message"] == "`userId` and `user_id` are the same field: give one of them."
