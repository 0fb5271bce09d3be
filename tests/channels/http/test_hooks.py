"""Events for webhooks, sent to a real server by somebody who has no token."""

import asyncio
import hashlib
import hmac
import io
import json
import time
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.channels.harness import DaemonHarness, run_daemon_in

pytestmark = pytest.mark.anyio

FAILED = {"action": "completed", "workflow_run": {"name": "CI", "conclusion": "failure", "id": 7}}


async def add_hook(daemon: DaemonHarness, name: str = "ci", **more: Any) -> str:
    status, made = await daemon.post("/v1/hooks", {"name": name, **more})
    assert status == 200, made
    assert made["hook"]["path"] == f"/v1/hooks/{name}"
    return made["secret"]


def sign(secret: str, *parts: bytes) -> str:
    return "sha256=" + hmac.new(secret.encode(), b"".join(parts), hashlib.sha256).hexdigest()


def from_github(secret: str, body: bytes, event: str = "workflow_run", number: str = "d-1") -> dict[str, str]:
    return {"X-Hub-Signature-256": sign(secret, body), "X-GitHub-Event": event, "X-GitHub-Delivery": number}


def signed(secret: str, body: bytes, number: str = "d-1", at: float | None = None) -> dict[str, str]:
    stamp = str(int(time.time() if at is None else at))
    signature = sign(secret, f"{stamp}.{number}.".encode(), body)
    return {"X-Fairlead-Signature": signature, "X-Fairlead-Timestamp": stamp, "X-Fairlead-Delivery": number}


async def send(
    daemon: DaemonHarness, body: bytes, headers: dict[str, str], name: str = "ci"
) -> tuple[int, dict[str, Any], dict[str, str]]:
    """As a stranger: without the token."""
    headers = {"Content-Type": "application/json", **headers}
    async with (
        aiohttp.ClientSession() as client,
        client.post(f"{daemon.url}/v1/hooks/{name}", data=io.BytesIO(body), headers=headers) as response,
    ):
        return response.status, await response.json(), dict(response.headers)


def received(daemon: DaemonHarness) -> int:
    return daemon.flow.ledger.state.account.received


async def test_a_github_event_becomes_one_job_with_its_data_quoted_and_foreign(tmp_path: Path):
    body = json.dumps(FAILED).encode()
    async with run_daemon_in(tmp_path) as daemon:
        secret = await add_hook(daemon, template="Look why {workflow_run.name} failed.", where=["action=completed"])
        status, taken, headers = await send(daemon, body, from_github(secret, body))
        assert (status, headers["Location"]) == (202, f"/v1/jobs/{taken['job_id']}")
        await daemon.until(taken["job_id"], "done")
        _, job = await daemon.get(headers["Location"])
        assert job["session_key"] == "agent:fairlead:channel:hook:ci"
        assert job["prompt"].startswith("Look why [workflow_run.name] failed.\n\nThis is an event of the hook ci")
        assert job["prompt"].endswith("workflow_run.name:\n> CI")
        known = daemon.flow.ledger.state.jobs[taken["job_id"]]
        assert (known.foreign, known.cause) == (True, "hook")
        assert known.message_id.startswith("hook-ci-")


async def test_a_copy_of_an_event_is_the_same_job_also_with_another_delivery_id_at_once_and_after_a_restart(
    tmp_path: Path,
):
    body = json.dumps(FAILED).encode()
    async with run_daemon_in(tmp_path) as daemon:
        secret = await add_hook(daemon)
        copies = [send(daemon, body, from_github(secret, body, number=f"d-{n}")) for n in range(8)]
        replies = await asyncio.gather(*copies)
        assert {status for status, _, _ in replies} == {202}
        [job_id] = {taken["job_id"] for _, taken, _ in replies}
        assert sum(not taken.get("duplicate", False) for _, taken, _ in replies) == 1
        await daemon.until(job_id, "done")
    async with run_daemon_in(tmp_path) as daemon:
        _, again, _ = await send(daemon, body, from_github(secret, body, event="push", number="d-99"))
        assert again == {"job_id": job_id, "duplicate": True}
        assert received(daemon) == 1


async def test_a_forged_event_and_one_for_an_unknown_hook_get_the_same_answer_and_leave_nothing(tmp_path: Path):
    body = json.dumps(FAILED).encode()
    async with run_daemon_in(tmp_path) as daemon:
        secret = await add_hook(daemon)
        seq = daemon.flow.ledger.state.seq
        tries = [
            await send(daemon, body, from_github("0" * 64, body)),
            await send(daemon, body, {}),
            await send(daemon, body + b" ", from_github(secret, body)),
            await send(daemon, body, {"X-Hub-Signature-256": "sha256=é"}),
            await send(daemon, body, signed(secret, body)),
            await send(daemon, body, from_github(secret, body), name="other"),
        ]
        assert {status for status, _, _ in tries} == {401}
        assert len({json.dumps(reply) for _, reply, _ in tries}) == 1
        assert daemon.flow.ledger.state.seq == seq


async def test_a_signed_event_counts_only_at_its_time_and_once_under_its_name(tmp_path: Path):
    body = b'{"event": "deployed", "host": "web-1"}'
    async with run_daemon_in(tmp_path) as daemon:
        secret = await add_hook(daemon, form="signed", template="Check {host} after {@event}.", events=["deployed"])
        for late in (-301, 301):
            status, _, _ = await send(daemon, body, signed(secret, body, at=time.time() + late * 1.1))
            assert status == 401
        moved = signed(secret, body) | {"X-Fairlead-Delivery": "d-2"}
        assert (await send(daemon, body, moved))[0] == 401
        status, first, _ = await send(daemon, body, signed(secret, body))
        assert status == 202
        _, again, _ = await send(daemon, body, signed(secret, body, at=time.time() + 20))
        assert again == {"job_id": first["job_id"], "duplicate": True}
        assert (await send(daemon, body, signed(secret, body, number="d-2")))[1]["job_id"] != first["job_id"]
        assert (await send(daemon, body, from_github(secret, body)))[0] == 401  # the other form has no time


async def test_a_hook_takes_only_the_events_that_its_owner_wants(tmp_path: Path):
    passed = json.dumps({**FAILED, "workflow_run": {"conclusion": "success"}}).encode()
    body = json.dumps(FAILED).encode()
    async with run_daemon_in(tmp_path) as daemon:
        secret = await add_hook(daemon, events=["workflow_run"], where=["workflow_run.conclusion=failure"])
        status, left, _ = await send(daemon, passed, from_github(secret, passed))
        assert (status, left) == (200, {"reason": "it does not fulfil the condition workflow_run.conclusion=failure"})
        assert (await send(daemon, body, from_github(secret, body, event="ping")))[0] == 200
        assert received(daemon) == 0
        assert (await send(daemon, body, from_github(secret, body)))[0] == 202


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        (b"x" * (1024 * 1024 + 1), {}, 413),
        (b"payload=%7B%7D", {"Content-Type": "application/x-www-form-urlencoded"}, 415),
        (b"{}", {"Content-Encoding": "gzip"}, 415),
        (b"[1]", {}, 400),
        (b"{", {}, 400),
        (b"[" * 5000 + b"]" * 5000, {}, 400),
    ],
    ids=["too large", "a form", "compressed", "no object", "no JSON", "deep"],
)
async def test_a_body_that_cannot_be_an_event_is_refused(
    tmp_path: Path, body: bytes, headers: dict[str, str], status: int
):
    async with run_daemon_in(tmp_path) as daemon:
        secret = await add_hook(daemon)
        got, _, _ = await send(daemon, body, {**from_github(secret, body), **headers})
        unknown, _, _ = await send(daemon, body, {**from_github(secret, body), **headers}, name="other")
        assert got == status
        assert unknown == (401 if status == 400 else status)
        assert received(daemon) == 0


async def test_a_hook_that_gets_too_many_events_refuses_new_ones_and_knows_old_ones(tmp_path: Path):
    bodies = [json.dumps({**FAILED, "number": n}).encode() for n in range(4)]
    async with run_daemon_in(tmp_path, FAIRLEAD_HOOK_EVENTS_PER_MINUTE=3) as daemon:
        secret = await add_hook(daemon)
        replies = [await send(daemon, body, from_github(secret, body)) for body in bodies]
        assert [status for status, _, _ in replies] == [202, 202, 202, 429]
        assert replies[3][2]["Retry-After"] == "60"
        assert (await send(daemon, bodies[0], from_github(secret, bodies[0])))[1]["duplicate"]


async def test_without_a_hook_the_path_needs_the_token_like_any_other(tmp_path: Path):
    body = json.dumps(FAILED).encode()
    async with run_daemon_in(tmp_path) as daemon:
        status, _, headers = await send(daemon, body, from_github("0" * 64, body))
        assert (status, headers["WWW-Authenticate"]) == (401, 'Bearer realm="fairlead"')
        secret = await add_hook(daemon)
        assert (await send(daemon, body, from_github(secret, body)))[0] == 202
        assert (await daemon.post("/v1/hooks/ci/remove", {}))[0] == 200
        status, _, headers = await send(daemon, body, from_github(secret, body))
        assert (status, "WWW-Authenticate" in headers) == (401, True)


async def test_a_stranger_can_neither_list_nor_test_nor_remove_a_hook(tmp_path: Path):
    async with run_daemon_in(tmp_path) as daemon:
        await add_hook(daemon)
        for path in ("ci/remove", "ci/test"):
            assert (await send(daemon, b"{}", {}, name=path))[0] == 401
        async with aiohttp.ClientSession() as client, client.get(f"{daemon.url}/v1/hooks") as response:
            assert response.status == 401


async def test_the_secret_is_in_its_own_file_and_nowhere_else(tmp_path: Path):
    body = json.dumps(FAILED).encode()
    async with run_daemon_in(tmp_path) as daemon:
        secret = await add_hook(daemon)
        await send(daemon, body, from_github(secret, body))
        await send(daemon, body, {"X-Hub-Signature-256": secret})
        _, listed = await daemon.get("/v1/hooks")
        assert secret not in json.dumps(listed)
    found = [path for path in tmp_path.rglob("*") if path.is_file() and secret.encode() in path.read_bytes()]
    assert [(path.name, path.parent.name, path.stat().st_mode & 0o777) for path in found] == [
        ("ci", "hook-secrets", 0o600)
    ]
    async with run_daemon_in(tmp_path) as daemon:
        assert (await send(daemon, body, from_github(secret, body)))[1]["duplicate"]
        await daemon.post("/v1/hooks/ci/remove", {})
        assert not found[0].exists()


async def test_a_test_event_runs_the_hook_once(tmp_path: Path):
    async with run_daemon_in(tmp_path) as daemon:
        await add_hook(daemon, where=["action=never"])
        tested = [await daemon.post("/v1/hooks/ci/test", {}, headers={"Idempotency-Key": "k"}) for _ in range(2)]
        assert tested[0] == tested[1]
        await daemon.until(tested[0][1]["job_id"], "done")
        assert (await daemon.post("/v1/hooks/none/test", {}))[1]["error"]["code"] == "E_HOOK_NOT_FOUND"
        assert (await daemon.post("/v1/hooks", {"name": "ci"}))[1]["error"]["code"] == "E_HOOK_EXISTS"
