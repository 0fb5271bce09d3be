"""What HTTP refuses, and how it says so."""

import asyncio
import errno
import socket
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from fairlead.channels.http.token import read_or_make_token, read_token
from fairlead.errors import Code, FairleadError
from fairlead.kit.files import Handle, RealDisk
from tests.channels.harness import at_home

pytestmark = pytest.mark.anyio

JSON = {"Content-Type": "application/json"}


@pytest.mark.req("B8", "A18")
@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"message": ""}, (400, "E_EMPTY_MESSAGE")),
        ({"message": " \n\t"}, (400, "E_EMPTY_MESSAGE")),
        ({"message": "x" * 3000}, (413, "E_MESSAGE_TOO_LARGE")),
        ({"message": "hi", "project": "nowhere"}, (404, "E_PROJECT_NOT_FOUND")),
        ({"message": "hi", "tool": "claude"}, (400, "E_TOOL_NOT_ENABLED")),
        ({"message": "hi", "projcet": "x"}, (400, "E_INVALID_ARGS")),
        ({"message": 7}, (400, "E_INVALID_ARGS")),
        ({}, (400, "E_INVALID_ARGS")),
    ],
)
async def test_a_message_that_cannot_be_taken(tmp_path: Path, body: dict[str, Any], expected: tuple[int, str]):
    async with at_home(tmp_path, FAIRLEAD_MAX_MESSAGE_BYTES=2048) as home:
        status, refused = await home.post("/v1/messages", {"userId": "alice", **body})
        assert home.daemon.flow.ledger.state.jobs == {}
    assert (status, refused["error"]["code"]) == expected


@pytest.mark.req("B8")
@pytest.mark.parametrize(
    ("data", "headers", "expected"),
    [
        (b"\xff\xfe\x00binary", JSON, (400, "E_INVALID_ARGS")),
        (b'{"userId": "a", "message": "\xff"}', JSON, (400, "E_INVALID_ARGS")),
        (b"", JSON, (400, "E_INVALID_ARGS")),
        (b"[]", JSON, (400, "E_INVALID_ARGS")),
        (b"[" * 100_000, JSON, (400, "E_INVALID_ARGS")),
        (b"userId=a&message=b", {"Content-Type": "application/x-www-form-urlencoded"}, (415, "E_INVALID_ARGS")),
        (b'{"userId": "a", "message": "b"}', {"Content-Type": "text/plain"}, (415, "E_INVALID_ARGS")),
        (b'{"userId": "a", "message": "b"}', {**JSON, "Idempotency-Key": "a:b"}, (400, "E_INVALID_ARGS")),
        (b'{"userId": "a", "message": "b"}', {**JSON, "Fairlead-Channel": "discord"}, (400, "E_INVALID_ARGS")),
    ],
)
async def test_a_body_that_is_no_message(
    tmp_path: Path, data: bytes, headers: dict[str, str], expected: tuple[int, str]
):
    async with at_home(tmp_path) as home:
        status, refused = await home.post("/v1/messages", data=data, headers=headers)
    assert (status, refused["error"]["code"]) == expected


@pytest.mark.req("B8")
async def test_ten_megabytes_are_refused_and_the_house_goes_on(tmp_path: Path):
    async with at_home(tmp_path) as home:
        status, refused = await home.post("/v1/messages", {"userId": "alice", "message": "x" * 10_000_000})
        assert (status, refused["error"]["code"]) == (413, "E_MESSAGE_TOO_LARGE")
        assert (await home.say("alice", "hello"))[0] == 200


@pytest.mark.req("B8")
async def test_a_message_of_any_characters_comes_back_as_it_was(tmp_path: Path):
    async with at_home(tmp_path) as home:
        status, job = await home.say("zoë 日本", "tab\there, nul \x00 here, 🏴‍☠️")
    assert status == 200
    assert "tab\there, nul \u2400 here, 🏴‍☠️" in job["answer"]


@pytest.mark.req("C5", "A13")
@pytest.mark.parametrize("header", ["", "Bearer", "Bearer wrong", "Basic abc", "Bearer \udcff"])
async def test_without_the_token_nothing_is_answered(tmp_path: Path, header: str):
    async with at_home(tmp_path) as home:
        headers = {"Authorization": header.encode("utf-8", "surrogateescape").decode("latin-1")}
        for path in ("/v1/status?userId=alice", "/v1/metrics", "/v1/jobs/job_1", "/nowhere"):
            status, refused = await home.get(path, headers=headers)
            assert (status, refused["error"]["code"]) == (401, "E_UNAUTHORIZED")
        assert (await home.get("/v1/health", headers=headers))[0] == 200


@pytest.mark.req("C5")
@pytest.mark.parametrize(
    "headers", [{"Origin": "https://evil.example"}, {"Origin": "null"}, {"Host": "evil.example"}], ids=str
)
async def test_a_page_on_another_site_reaches_nothing(tmp_path: Path, headers: dict[str, str]):
    async with at_home(tmp_path) as home:
        for path in ("/v1/health", "/openapi.json", "/v1/projects"):
            async with home.http.get(home.url + path, headers=headers) as response:
                assert response.status == 403
                assert not any(name.lower().startswith("access-control") for name in response.headers)
        async with home.http.options(f"{home.url}/v1/messages", headers=headers) as response:
            assert response.status == 403


@pytest.mark.req("B8")
@pytest.mark.parametrize(
    ("method", "path", "expected"),
    [
        ("GET", "/v1/nothing", (404, "E_INVALID_ARGS")),
        ("DELETE", "/v1/messages", (405, "E_INVALID_ARGS")),
        ("GET", "/v1/jobs/job_1", (404, "E_JOB_NOT_FOUND")),
        ("GET", "/v1/jobs/job_1/events", (404, "E_JOB_NOT_FOUND")),
        ("POST", "/v1/jobs/job_1/retry", (404, "E_JOB_NOT_FOUND")),
        ("POST", "/v1/jobs/job_1/cancel", (404, "E_JOB_NOT_FOUND")),
        ("POST", "/v1/jobs/job_1/ack", (404, "E_JOB_NOT_FOUND")),
        ("GET", "/v1/sessions/nobody", (404, "E_SESSION_NOT_FOUND")),
        ("GET", "/v1/sessions?project=nowhere", (404, "E_PROJECT_NOT_FOUND")),
        ("GET", "/v1/status", (400, "E_INVALID_USER")),
        ("GET", "/v1/status?userId=nobody", (409, "E_NOT_IN_MANAGED_THREAD")),
        ("GET", "/v1/projects/nowhere", (404, "E_PROJECT_NOT_FOUND")),
        ("GET", "/v1/why?subject=job_1", (404, "E_MESSAGE_NOT_FOUND")),
        ("GET", "/v1/why", (400, "E_INVALID_ARGS")),
    ],
)
async def test_what_is_not_there(tmp_path: Path, method: str, path: str, expected: tuple[int, str]):
    async with at_home(tmp_path) as home:
        status, refused = await home.ask(method, path)
    assert (status, refused["error"]["code"]) == expected
    assert refused["error"]["message"]
    assert refused["error"]["next"]


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


@pytest.mark.req("C5")
def test_the_token_is_made_once_and_only_its_owner_can_read_it(tmp_path: Path):
    token = read_or_make_token(tmp_path)
    path = tmp_path / "http-token"
    assert len(token) >= 40
    assert path.stat().st_mode & 0o777 == 0o600
    path.chmod(0o644)
    assert read_or_make_token(tmp_path) == read_token(tmp_path) == token
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("content", [b"", b"short", b"\xff\xfe" * 40, b"two words " * 10])
def test_a_token_file_without_a_token_is_named_not_replaced(tmp_path: Path, content: bytes):
    (tmp_path / "http-token").write_bytes(content)
    with pytest.raises(FairleadError, match="http-token") as caught:
        read_or_make_token(tmp_path)
    assert caught.value.code == Code.E_CONFIG
    assert (tmp_path / "http-token").read_bytes() == content


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
