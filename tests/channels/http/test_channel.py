"""The HTTP server as a whole: its port, its end, a full disk."""

import asyncio
import errno
import socket
from pathlib import Path

import aiohttp
import pytest

from fairlead.errors import Code, FairleadError
from fairlead.kit.files import Handle, RealDisk
from tests.channels.harness import at_home

pytestmark = pytest.mark.anyio


async def test_a_port_that_is_taken_is_named(tmp_path: Path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(FairleadError, match=str(port)) as caught:
            async with at_home(tmp_path, FAIRLEAD_HTTP_PORT=port):
                pass
    assert caught.value.code == Code.E_CONFIG
    assert "FAIRLEAD_HTTP_PORT" in caught.value.next_step


@pytest.mark.req("B10")
async def test_whoever_waits_at_shutdown_is_told_that_nothing_is_lost(tmp_path: Path):
    body = {"userId": "alice", "message": "/question Stay? | yes"}
    key = {"Idempotency-Key": "key"}
    async with aiohttp.ClientSession() as session:
        async with at_home(tmp_path) as home:
            job_id = await home.begin("alice", body["message"], "key")
            headers = {**key, "Authorization": f"Bearer {home.daemon.token}"}
            waiting = asyncio.create_task(session.post(f"{home.url}/v1/messages", json=body, headers=headers))
            await home.until(job_id, "question")
            async with home.listening(job_id) as events:
                await anext(events)
        async with await waiting as response:
            told = (response.status, (await response.json())["error"]["code"])
    assert told == (503, "E_SHUTDOWN")
    async with at_home(tmp_path) as home:
        _, job = await home.get(f"/v1/jobs/{job_id}")
    assert job["state"] != "queued"


class FillingDisk(RealDisk):
    full = False

    def write(self, handle: Handle, data: bytes | memoryview) -> int:
        if self.full:
            raise OSError(errno.ENOSPC, "No space left on device")
        return super().write(handle, data)


@pytest.mark.req("A18", "C5")
async def test_while_the_disk_is_full_everything_is_answered_at_once(tmp_path: Path):
    disk = FillingDisk()
    async with at_home(tmp_path, disk=disk) as home:
        unread = await home.begin("alice", "before")
        await home.until(unread, "done")
        disk.full = True
        caught_in_it = asyncio.create_task(home.begin("alice", "caught in it", "key-2"))
        while (await home.get("/v1/health"))[1]["status"] != "disk_full":
            pass
        for path in ("/v1/answers?userId=alice", f"/v1/jobs/{unread}", "/v1/why?subject=key-2"):
            status, refused = await home.get(path)
            assert (path, status, refused["error"]["code"]) == (path, 507, "E_DISK_FULL")
        for path in ("/v1/status?userId=alice", "/v1/sessions", "/v1/projects", "/v1/questions", "/v1/metrics"):
            assert (path, (await home.get(path))[0]) == (path, 200)
        status, refused = await home.say("alice", "no room")
        assert (status, refused["error"]["code"]) == (507, "E_DISK_FULL")
        disk.full = False
        done = await home.until(await caught_in_it, "done")
    assert done.data["job"]["answer"].startswith("echo agent:fairlead:user:alice: caught in it")
