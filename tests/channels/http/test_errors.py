"""What HTTP refuses, and how it says so."""

from pathlib import Path
from typing import Any

import pytest

from tests.channels.harness import run_daemon_in

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
    async with run_daemon_in(tmp_path, FAIRLEAD_MAX_MESSAGE_BYTES=2048) as daemon:
        status, refused = await daemon.post("/v1/messages", {"userId": "alice", **body})
        assert daemon.flow.ledger.state.jobs == {}
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
    async with run_daemon_in(tmp_path) as daemon:
        status, refused = await daemon.post("/v1/messages", data=data, headers=headers)
    assert (status, refused["error"]["code"]) == expected


@pytest.mark.req("B8")
async def test_ten_megabytes_are_refused_and_the_daemon_goes_on(tmp_path: Path):
    async with run_daemon_in(tmp_path) as daemon:
        status, refused = await daemon.post("/v1/messages", {"userId": "alice", "message": "x" * 10_000_000})
        assert (status, refused["error"]["code"]) == (413, "E_MESSAGE_TOO_LARGE")
        assert (await daemon.say("alice", "hello"))[0] == 200


@pytest.mark.req("B8")
async def test_a_message_of_any_characters_comes_back_as_it_was(tmp_path: Path):
    async with run_daemon_in(tmp_path) as daemon:
        status, job = await daemon.say("zoë 日本", "tab\there, nul \x00 here, 🏴‍☠️")
    assert status == 200
    assert "tab\there, nul \u2400 here, 🏴‍☠️" in job["answer"]


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
        ("GET", "/v1/why", (409, "E_NOT_IN_MANAGED_THREAD")),
    ],
)
async def test_what_is_not_there(tmp_path: Path, method: str, path: str, expected: tuple[int, str]):
    async with run_daemon_in(tmp_path) as daemon:
        status, refused = await daemon.ask(method, path)
    assert (status, refused["error"]["code"]) == expected
    assert refused["error"]["message"]
    assert refused["error"]["next"]
