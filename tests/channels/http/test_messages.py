"""Talking over HTTP to a real house."""

import asyncio
from pathlib import Path

import pytest

from tests.channels.harness import at_home

pytestmark = pytest.mark.anyio


@pytest.mark.req("C5", "C8")
async def test_a_message_is_answered_by_the_session_of_its_user(tmp_path: Path):
    async with at_home(tmp_path) as home:
        status, job = await home.say("alice", "hello")
    assert status == 200
    assert job["state"] == "success"
    assert job["session_key"] == "agent:fairlead:user:alice"
    assert "agent:fairlead:user:alice: hello" in job["answer"]


@pytest.mark.req("C3")
async def test_two_users_have_two_sessions(tmp_path: Path):
    async with at_home(tmp_path) as home:
        for user in ("alice", "bob", "alice"):
            await home.say(user, "hello")
        _, listed = await home.get("/v1/sessions")
        _, history = await home.get("/v1/sessions/agent:fairlead:user:alice/history")
    assert {s["session_key"] for s in listed["sessions"]} == {"agent:fairlead:user:alice", "agent:fairlead:user:bob"}
    assert [job["state"] for job in history["jobs"]] == ["success", "success"]


@pytest.mark.req("C2")
async def test_linked_ids_share_one_session_over_http_and_terminal(tmp_path: Path):
    links = {"77": ("http:alice",)}
    async with at_home(tmp_path, DISCORD_OWNER_ID="77", FAIRLEAD_IDENTITIES=links) as home:
        _, from_http = await home.say("alice", "one")
        body = {"userId": "local", "message": "two"}
        _, from_terminal = await home.post("/v1/messages", body, headers={"Fairlead-Channel": "terminal"})
    assert from_http["session_key"] == from_terminal["session_key"] == "agent:fairlead:user:77"
    assert "turn 2" in from_terminal["answer"]


@pytest.mark.req("C5")
@pytest.mark.parametrize(
    "user", [None, "", "a:b", "x" * 129, 7, "12345", "owned", "local"], ids=lambda user: str(user)[:8]
)
async def test_a_user_id_that_is_missing_malformed_or_anothers_is_400(tmp_path: Path, user: object):
    links = {"somebody": ("terminal:owned",)}
    body = {"message": "hi"} if user is None else {"userId": user, "message": "hi"}
    async with at_home(tmp_path, DISCORD_OWNER_ID="77", FAIRLEAD_IDENTITIES=links) as home:
        status, refused = await home.post("/v1/messages", body)
        assert home.daemon.flow.ledger.state.account.received == 0
    assert (status, refused["error"]["code"]) == (400, "E_INVALID_USER")
    assert set(refused["error"]) == {"code", "message", "next"}


@pytest.mark.req("C5", "A8")
async def test_the_same_key_is_the_same_job_also_after_a_restart(tmp_path: Path):
    async with at_home(tmp_path) as home:
        together = await asyncio.gather(*(home.say("alice", "once", "key-1") for _ in range(5)))
        _, others = await home.say("bob", "once", "key-1")
    async with at_home(tmp_path) as home:
        status, again = await home.say("alice", "once", "key-1")
        assert home.daemon.flow.ledger.state.account.received == 2
    assert status == 200
    assert {job["job_id"] for _, job in together} == {again["job_id"]}
    assert others["job_id"] != again["job_id"]
    assert again["answer"] == together[0][1]["answer"]


@pytest.mark.req("C5")
@pytest.mark.parametrize("changed", [{"message": "other"}, {"tool": "echo"}, {"project": "proj"}])
async def test_the_same_key_with_another_body_is_422(tmp_path: Path, changed: dict[str, str]):
    async with at_home(tmp_path) as home:
        await home.say("alice", "one", "4711")
        body = {"userId": "alice", "message": "one", **changed}
        status, refused = await home.post("/v1/messages", body, headers={"Idempotency-Key": "4711"})
    assert (status, refused["error"]["code"]) == (422, "E_IDEMPOTENCY_MISMATCH")


@pytest.mark.req("C5")
@pytest.mark.parametrize("ask", [("?wait=0", {}), ("", {"Prefer": "respond-async"})], ids=["wait=0", "Prefer"])
async def test_a_client_need_not_wait(tmp_path: Path, ask: tuple[str, dict[str, str]]):
    query, headers = ask
    async with at_home(tmp_path) as home:
        body = {"userId": "alice", "message": "hello"}
        status, accepted = await home.post(f"/v1/messages{query}", body, headers=headers)
        assert status == 202
        await home.until(accepted["job_id"], "done")
        _, job = await home.get(f"/v1/jobs/{accepted['job_id']}")
    assert job["state"] == "success"
    assert job["prompt"] == "hello"


@pytest.mark.req("C5")
async def test_an_answer_waits_until_its_client_has_it(tmp_path: Path):
    async with at_home(tmp_path) as home:
        body = {"userId": "alice", "message": "hello"}
        _, job = await home.post("/v1/messages", body, headers={"Fairlead-Ack": "manual"})
    async with at_home(tmp_path) as home:
        _, waiting = await home.get("/v1/answers?userId=alice")
        assert [w["answer"] for w in waiting["jobs"]] == [job["answer"]]
        for _ in range(2):
            assert (await home.post(f"/v1/jobs/{job['job_id']}/ack"))[0] == 200
        assert await home.get("/v1/answers?userId=alice") == (200, {"jobs": []})
        assert (await home.get(f"/v1/jobs/{job['job_id']}"))[1]["answer"] == job["answer"]


@pytest.mark.req("B8", "A16")
async def test_a_failed_job_says_so_and_can_be_retried_once(tmp_path: Path):
    async with at_home(tmp_path) as home:
        status, failed = await home.say("alice", "/fail E_CLI_EXIT_NONZERO")
        assert (status, failed["error"]["code"], failed["job"]["state"]) == (502, "E_CLI_EXIT_NONZERO", "failed")
        path = f"/v1/jobs/{failed['job']['job_id']}/retry"
        status, queued = await home.post(path)
        assert (status, queued["attempt"]) == (200, 2)
        await home.until(queued["job_id"], "error")
        status, refused = await home.post(path, {"userId": "alice"})
    assert (status, refused["error"]["code"]) == (409, "E_JOB_NOT_RETRYABLE")


@pytest.mark.req("A16")
async def test_a_job_that_went_well_cannot_be_retried(tmp_path: Path):
    async with at_home(tmp_path) as home:
        _, job = await home.say("alice", "hello")
        status, refused = await home.post(f"/v1/jobs/{job['job_id']}/retry")
    assert (status, refused["error"]["code"]) == (409, "E_JOB_NOT_RETRYABLE")


@pytest.mark.req("A17", "C5")
async def test_a_full_queue_is_429_and_the_same_request_works_when_there_is_room(tmp_path: Path):
    async with at_home(tmp_path, FAIRLEAD_MAX_QUEUE_PER_SESSION=1) as home:
        hanging = await home.begin("alice", "/hang")
        await home.until(hanging, "moved", state="running")
        await home.begin("alice", "waiting")
        for _ in range(2):
            status, refused = await home.say("alice", "third", "key-3")
            assert (status, refused["error"]["code"]) == (429, "E_QUEUE_FULL")
        _, cancelled = await home.post("/v1/cancel", {"userId": "alice"})
        await home.until(hanging, "done")
        status, job = await home.say("alice", "third", "key-3")
        again = await home.say("alice", "third", "key-3")
    assert cancelled["stopping"] == [hanging]
    assert status == 200
    assert again == (200, job)
