"""The HTTP server as a whole: its port, its end, a full disk."""

import asyncio
import errno
import json
import socket
from pathlib import Path
from urllib.parse import urlsplit

import aiohttp
import pytest

from fairlead.errors import Code, FairleadError
from fairlead.kit.files import Handle, RealDisk
from tests.channels.harness import DaemonHarness, run_daemon_in

pytestmark = pytest.mark.anyio


async def test_a_port_that_is_taken_is_named(tmp_path: Path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(FairleadError, match=str(port)) as caught:
            async with run_daemon_in(tmp_path, FAIRLEAD_HTTP_PORT=port):
                pass
    assert caught.value.code == Code.E_CONFIG
    assert "FAIRLEAD_HTTP_PORT" in caught.value.next_step


@pytest.mark.req("B10")
async def test_a_client_that_waits_at_shutdown_is_told_that_nothing_is_lost(tmp_path: Path):
    body = {"userId": "alice", "message": "/question Stay? | yes"}
    key = {"Idempotency-Key": "key"}
    async with aiohttp.ClientSession() as session:
        async with run_daemon_in(tmp_path) as daemon:
            job_id = await daemon.begin("alice", body["message"], "key")
            headers = {**key, "Authorization": f"Bearer {daemon.token}"}
            waiting = asyncio.create_task(session.post(f"{daemon.url}/v1/messages", json=body, headers=headers))
            await daemon.until(job_id, "question")
            async with daemon.listening(job_id) as events:
                await anext(events)
        async with await waiting as response:
            told = (response.status, (await response.json())["error"]["code"])
    assert told == (503, "E_SHUTDOWN")
    async with run_daemon_in(tmp_path) as daemon:
        _, job = await daemon.get(f"/v1/jobs/{job_id}")
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
    async with run_daemon_in(tmp_path, disk=disk) as daemon:
        unread = await daemon.begin("alice", "before")
        await daemon.until(unread, "done")
        disk.full = True
        caught_in_it = asyncio.create_task(daemon.begin("alice", "caught in it", "key-2"))
        while (await daemon.get("/v1/health"))[1]["status"] != "disk_full":
            pass
        for path in ("/v1/answers?userId=alice", f"/v1/jobs/{unread}", "/v1/why?subject=key-2"):
            status, refused = await daemon.get(path)
            assert (path, status, refused["error"]["code"]) == (path, 507, "E_DISK_FULL")
        for path in ("/v1/status?userId=alice", "/v1/sessions", "/v1/projects", "/v1/questions", "/v1/metrics"):
            assert (path, (await daemon.get(path))[0]) == (path, 200)
        status, refused = await daemon.say("alice", "no room")
        assert (status, refused["error"]["code"]) == (507, "E_DISK_FULL")
        disk.full = False
        done = await daemon.until(await caught_in_it, "done")
    assert done.data["job"]["answer"].startswith("echo agent:fairlead:user:alice: caught in it")


@pytest.mark.req("A15", "C5")
async def test_damage_below_a_snapshot_is_named_in_health_metrics_and_log_and_the_daemon_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("fairlead.store.journal_check.DELAY_SECONDS", 0)
    async with run_daemon_in(tmp_path) as daemon:
        jobs = [(await daemon.say("alice", words))[1]["job_id"] for words in ("first", "second", "third")]
    journal = tmp_path / "state" / "events.ndjson"
    data = journal.read_bytes()
    at = data.index(b"alice: second")
    journal.write_bytes(data[:at] + b"m" + data[at + 1 :])
    async with run_daemon_in(tmp_path) as daemon:
        while (await daemon.get("/v1/health"))[1]["status"] != "journal_damaged":
            pass  # the check is on its way; the patience of the daemon's block bounds this
        _, health = await daemon.get("/v1/health")
        _, metrics = await daemon.get("/v1/metrics")
        status, refused = await daemon.get(f"/v1/jobs/{jobs[1]}")
        assert (await daemon.say("alice", "and on"))[0] == 200
    line = data[:at].count(b"\n") + 1
    assert f"line {line}: " in health["damage"]
    assert "fairlead_journal_damaged 1" in metrics.decode().splitlines()
    assert (status, refused["error"]["code"]) == (500, "E_JOURNAL_BROKEN")
    logged = [json.loads(each) for each in (tmp_path / "logs" / "app.ndjson").read_text().splitlines()]
    assert [each["level"] for each in logged if each["event"] == "the journal is damaged"] == ["error"]


HALF_OPEN = {
    "nothing": b"",
    "half a head": b"GET /v1/health HTTP/1.1\r\nHost: localhost\r\nX-Slow: ",
    "half a body": b"POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer TOKEN\r\n"
    b'Content-Type: application/json\r\nContent-Length: 500\r\n\r\n{"userId": ',
    "half a body of a stranger": b"POST /v1/messages HTTP/1.1\r\nHost: localhost\r\n"
    b'Content-Type: application/json\r\nContent-Length: 500\r\n\r\n{"userId": ',
}


BODY = b'{"userId": "alice", "message": "/hang"}'
WHOLE_REQUEST = (
    b"POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer TOKEN\r\nConnection: close\r\n"
    b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(BODY), BODY)
)
REQUEST_SEC = 3
"""So long may a request be on its way. What is sent is sent at once, and then has all this time to be read."""


async def send_raw(daemon: DaemonHarness, sent: bytes) -> bytes:
    """What comes back until the server closes the connection."""
    url = urlsplit(daemon.url)
    reader, writer = await asyncio.open_connection(url.hostname, url.port)
    writer.write(sent.replace(b"TOKEN", daemon.token.encode()))
    heard = await reader.read()
    writer.close()
    return heard


@pytest.mark.req("C5")
@pytest.mark.parametrize(
    ("sent", "answer"),
    list(zip(HALF_OPEN.values(), (b"", b"", b"HTTP/1.1 408", b"HTTP/1.1 401"), strict=True)),
    ids=HALF_OPEN.keys(),
)
async def test_a_connection_that_sends_no_whole_request_is_ended(tmp_path: Path, sent: bytes, answer: bytes):
    async with run_daemon_in(tmp_path, FAIRLEAD_HTTP_TIMEOUT_SEC=REQUEST_SEC) as daemon:
        heard = await send_raw(daemon, sent)
    assert heard.startswith(answer)
    assert bool(heard) == bool(answer)


async def test_an_answer_may_take_longer_than_a_request(tmp_path: Path):
    """A connection that comes later and sends nothing is ended: by then the time for the request was over as well."""
    async with run_daemon_in(tmp_path, FAIRLEAD_HTTP_TIMEOUT_SEC=REQUEST_SEC) as daemon:
        waiting = asyncio.create_task(send_raw(daemon, WHOLE_REQUEST))
        while not (jobs := daemon.flow.ledger.state.jobs):
            await daemon.flow.ledger.until_changed(daemon.flow.ledger.state.seq)
        await send_raw(daemon, HALF_OPEN["nothing"])
        for job_id in tuple(jobs):
            await daemon.post(f"/v1/jobs/{job_id}/cancel")
        heard = await waiting
    assert heard.startswith(b"HTTP/1.1 200")
    assert b'"state":"cancelled"' in heard


@pytest.mark.req("C5")
async def test_whatever_can_be_fetched_can_be_asked_for_without_its_body(tmp_path: Path):
    """Monitors send HEAD. The stream of a job that hangs must not hang them, and nothing counts as fetched."""
    async with run_daemon_in(tmp_path) as daemon:
        _, job = await daemon.post(
            "/v1/messages", {"userId": "alice", "message": "/image"}, headers={"Fairlead-Ack": "manual"}
        )
        hanging = await daemon.begin("bob", "/hang")
        for path in (
            "/v1/health",
            "/v1/metrics",
            "/openapi.json",
            "/v1/status?userId=alice",
            f"/v1/jobs/{job['job_id']}",
            f"/v1/jobs/{job['job_id']}/files/0",
            f"/v1/jobs/{job['job_id']}/events",
            f"/v1/jobs/{hanging}/events",
        ):
            async with daemon.http.head(daemon.url + path) as response:
                assert (path, response.status, await response.read()) == (path, 200, b"")
            if path.endswith("/events"):
                assert response.content_type == "text/event-stream"
        async with daemon.http.head(f"{daemon.url}/v1/messages") as response:
            assert (response.status, response.headers["Allow"]) == (405, "POST")
        async with daemon.http.head(f"{daemon.url}/v1/jobs/job_1/events") as response:
            assert response.status == 404
        _, waiting = await daemon.get("/v1/answers?userId=alice")
    assert [each["job_id"] for each in waiting["jobs"]] == [job["job_id"]]


@pytest.mark.req("C5")
async def test_202_says_where_the_job_is_found(tmp_path: Path):
    async with run_daemon_in(tmp_path) as daemon:
        body = {"userId": "alice", "message": "hello"}
        async with daemon.http.post(f"{daemon.url}/v1/messages?wait=0", json=body) as response:
            accepted = await response.json()
        assert response.status == 202
        _, job = await daemon.get(response.headers["Location"])
    assert job["job_id"] == accepted["job_id"]


@pytest.mark.parametrize(
    ("host", "port", "why"),
    [
        ("127.0.0.1", None, "another program is listening there"),
        ("203.0.113.7", 0, "this machine has no such address"),
        ("no-such-host.invalid", 0, "the address is not known, or the system refuses it"),
    ],
)
async def test_an_address_that_cannot_be_used_is_refused_in_words(
    tmp_path: Path, host: str, port: int | None, why: str
):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1] if port is None else port
        with pytest.raises(FairleadError) as caught:
            async with run_daemon_in(tmp_path, FAIRLEAD_HTTP_HOST=host, FAIRLEAD_HTTP_PORT=port):
                pass
    assert caught.value.message == f"HTTP cannot listen on {host}:{port}: {why}."
    assert "Errno" not in caught.value.message + caught.value.next_step
