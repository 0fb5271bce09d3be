"""Messages over HTTP to a real daemon."""

import asyncio
import base64
import re
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.channels.harness import a_client, run_daemon_in

pytestmark = pytest.mark.anyio


@pytest.mark.req("C5", "C8")
async def test_a_message_is_answered_by_the_session_of_its_user(tmp_path: Path):
    async with run_daemon_in(tmp_path) as daemon:
        status, job = await daemon.say("alice", "hello")
    assert status == 200
    assert job["state"] == "success"
    assert job["session_key"] == "agent:fairlead:user:alice"
    assert "agent:fairlead:user:alice: hello" in job["answer"]


@pytest.mark.req("C3")
async def test_two_users_have_two_sessions(tmp_path: Path):
    async with run_daemon_in(tmp_path) as daemon:
        for user in ("alice", "bob", "alice"):
            await daemon.say(user, "hello")
        _, listed = await daemon.get("/v1/sessions")
        _, history = await daemon.get("/v1/sessions/agent:fairlead:user:alice/history")
    assert {s["session_key"] for s in listed["sessions"]} == {"agent:fairlead:user:alice", "agent:fairlead:user:bob"}
    assert [job["state"] for job in history["jobs"]] == ["success", "success"]


@pytest.mark.req("C2")
async def test_linked_ids_share_one_session_over_http_and_terminal(tmp_path: Path):
    links = {"77": ("http:alice",)}
    async with run_daemon_in(tmp_path, DISCORD_OWNER_ID="77", FAIRLEAD_IDENTITIES=links) as daemon:
        _, from_http = await daemon.say("alice", "one")
        body = {"userId": "local", "message": "two"}
        _, from_terminal = await daemon.post("/v1/messages", body, headers={"Fairlead-Channel": "terminal"})
    assert from_http["session_key"] == from_terminal["session_key"] == "agent:fairlead:user:77"
    assert "turn 2" in from_terminal["answer"]


@pytest.mark.req("C5")
@pytest.mark.parametrize(
    "user", [None, "", "a:b", "x" * 129, 7, "12345", "owned", "local"], ids=lambda user: str(user)[:8]
)
async def test_a_user_id_that_is_missing_malformed_or_anothers_is_400(tmp_path: Path, user: object):
    links = {"somebody": ("terminal:owned",)}
    body = {"message": "hi"} if user is None else {"userId": user, "message": "hi"}
    async with run_daemon_in(tmp_path, DISCORD_OWNER_ID="77", FAIRLEAD_IDENTITIES=links) as daemon:
        status, refused = await daemon.post("/v1/messages", body)
        assert daemon.flow.ledger.state.account.received == 0
    assert (status, refused["error"]["code"]) == (400, "E_INVALID_USER")
    assert set(refused["error"]) == {"code", "message", "next"}


@pytest.mark.req("C2", "C5")
async def test_one_person_has_one_conversation_however_the_accents_of_the_id_are_written(tmp_path: Path):
    composed, decomposed = "jos\u00e9", "jose\u0301"
    async with run_daemon_in(tmp_path) as daemon:
        job_id = await daemon.begin(composed, "once", "key-1")
        await daemon.until(job_id, "done")
        again = await daemon.begin(decomposed, "once", "key-1")
        _, waiting = await daemon.get(f"/v1/answers?userId={quote(decomposed)}")
        assert daemon.flow.ledger.state.account.received == 1
    assert again == job_id
    assert [job["job_id"] for job in waiting["jobs"]] == [job_id]


@pytest.mark.req("C5", "A8")
async def test_the_same_key_is_the_same_job_also_after_a_restart(tmp_path: Path):
    async with run_daemon_in(tmp_path) as daemon:
        together = await asyncio.gather(*(daemon.say("alice", "once", "key-1") for _ in range(5)))
    async with run_daemon_in(tmp_path) as daemon:
        status, again = await daemon.say("alice", "once", "key-1")
        assert daemon.flow.ledger.state.account.received == 1
    assert status == 200
    assert {job["job_id"] for _, job in together} == {again["job_id"]}
    assert again["answer"] == together[0][1]["answer"]


@pytest.mark.req("C5")
async def test_the_same_key_for_another_user_is_422_also_after_a_restart(tmp_path: Path):
    async with run_daemon_in(tmp_path) as daemon:
        await daemon.say("alice", "one", "key-1")
        status, refused = await daemon.say("bob", "one", "key-1")
        assert (status, refused["error"]["code"]) == (422, "E_IDEMPOTENCY_MISMATCH")
    async with run_daemon_in(tmp_path) as daemon:
        status, refused = await daemon.say("bob", "one", "key-1")
        assert daemon.flow.ledger.state.account.received == 1
    assert (status, refused["error"]["code"]) == (422, "E_IDEMPOTENCY_MISMATCH")


@pytest.mark.req("C5")
async def test_a_key_that_looks_like_one_of_ours_is_only_a_key(tmp_path: Path):
    async with run_daemon_in(tmp_path) as daemon:
        _, failed = await daemon.say("alice", "/fail E_CLI_TIMEOUT")
        job_id = failed["job"]["job_id"]
        status, _ = await daemon.say("alice", "only a key", f"retry-{job_id}")
        assert status == 200
        assert (await daemon.say("alice", "", "a"))[0] == 400  # the key `a` is used up by a refusal
        assert (await daemon.say("alice", "now", "a"))[0] == 200
        assert (await daemon.say("alice", "another", "a~2"))[0] == 200
        status, retried = await daemon.post(f"/v1/jobs/{job_id}/retry", {"userId": "alice"})
    assert (status, retried["attempt"]) == (200, 2)


@pytest.mark.req("C5")
@pytest.mark.parametrize("changed", [{"message": "other"}, {"tool": "echo"}, {"project": "proj"}])
async def test_the_same_key_with_another_body_is_422(tmp_path: Path, changed: dict[str, str]):
    async with run_daemon_in(tmp_path) as daemon:
        await daemon.say("alice", "one", "4711")
        body = {"userId": "alice", "message": "one", **changed}
        status, refused = await daemon.post("/v1/messages", body, headers={"Idempotency-Key": "4711"})
    assert (status, refused["error"]["code"]) == (422, "E_IDEMPOTENCY_MISMATCH")


@pytest.mark.req("C5")
@pytest.mark.parametrize("ask", [("?wait=0", {}), ("", {"Prefer": "respond-async"})], ids=["wait=0", "Prefer"])
async def test_a_client_need_not_wait(tmp_path: Path, ask: tuple[str, dict[str, str]]):
    query, headers = ask
    async with run_daemon_in(tmp_path) as daemon:
        body = {"userId": "alice", "message": "hello"}
        status, accepted = await daemon.post(f"/v1/messages{query}", body, headers=headers)
        assert status == 202
        await daemon.until(accepted["job_id"], "done")
        _, job = await daemon.get(f"/v1/jobs/{accepted['job_id']}")
    assert job["state"] == "success"
    assert job["prompt"] == "hello"


@pytest.mark.req("C5")
async def test_answers_that_wait_come_in_pages_and_the_client_follows_them(tmp_path: Path):
    room = {"FAIRLEAD_MAX_QUEUE_PER_SESSION": 25}
    async with run_daemon_in(tmp_path, **room) as daemon, a_client(daemon, channel="http") as client:
        asked = [await daemon.begin("alice", f"number {n}") for n in range(25)]
        for job_id in asked:
            await daemon.until(job_id, "done")
        _, first = await daemon.get("/v1/answers?userId=alice")
        assert [job["job_id"] for job in first["jobs"]] == asked[:20]
        await daemon.post(f"/v1/jobs/{first['next']}/ack")  # a cursor stays good after its answer was fetched
        _, second = await daemon.get(f"/v1/answers?userId=alice&after={first['next']}&limit=3")
        assert [job["job_id"] for job in second["jobs"]] == asked[20:23]
        _, last = await daemon.get(f"/v1/answers?userId=alice&after={second['next']}")
        assert [job["job_id"] for job in last["jobs"]] == asked[23:]
        assert "next" not in last
        followed = await client.unfetched_jobs("alice")
        for wrong in ("limit=0", "limit=101", "limit=x", "after=x", "after=job_x_9999999999999999999999"):
            status, refused = await daemon.get(f"/v1/answers?userId=alice&{wrong}")
            assert (wrong, status, refused["error"]["code"]) == (wrong, 400, "E_INVALID_ARGS")
    assert [job.job_id for job in followed] == asked[:19] + asked[20:]


@pytest.mark.req("C5")
async def test_a_page_ends_early_where_answers_are_long(tmp_path: Path):
    async with run_daemon_in(tmp_path) as daemon:
        body, headers = {"userId": "alice", "message": "x" * 1_500_000}, {"Fairlead-Ack": "manual"}
        asked = [(await daemon.post("/v1/messages", body, headers=headers))[1]["job_id"] for _ in range(3)]
        _, first = await daemon.get("/v1/answers?userId=alice")
        assert [job["job_id"] for job in first["jobs"]] == asked[:2]
        _, last = await daemon.get(f"/v1/answers?userId=alice&after={first['next']}")
    assert [job["job_id"] for job in last["jobs"]] == asked[2:]


@pytest.mark.req("C5")
async def test_an_answer_waits_until_its_client_has_it(tmp_path: Path):
    async with run_daemon_in(tmp_path) as daemon:
        body = {"userId": "alice", "message": "hello"}
        _, job = await daemon.post("/v1/messages", body, headers={"Fairlead-Ack": "manual"})
    async with run_daemon_in(tmp_path) as daemon:
        _, waiting = await daemon.get("/v1/answers?userId=alice")
        assert [w["answer"] for w in waiting["jobs"]] == [job["answer"]]
        for _ in range(2):
            assert (await daemon.post(f"/v1/jobs/{job['job_id']}/ack"))[0] == 200
        assert await daemon.get("/v1/answers?userId=alice") == (200, {"jobs": []})
        assert (await daemon.get(f"/v1/jobs/{job['job_id']}"))[1]["answer"] == job["answer"]


@pytest.mark.req("B8", "A16")
async def test_a_failed_job_says_so_and_can_be_retried_once(tmp_path: Path):
    async with run_daemon_in(tmp_path) as daemon:
        status, failed = await daemon.say("alice", "/fail E_CLI_EXIT_NONZERO")
        assert (status, failed["error"]["code"], failed["job"]["state"]) == (502, "E_CLI_EXIT_NONZERO", "failed")
        path = f"/v1/jobs/{failed['job']['job_id']}/retry"
        status, queued = await daemon.post(path)
        assert (status, queued["attempt"]) == (200, 2)
        await daemon.until(queued["job_id"], "error")
        status, refused = await daemon.post(path, {"userId": "alice"})
    assert (status, refused["error"]["code"]) == (409, "E_JOB_NOT_RETRYABLE")


@pytest.mark.req("A16")
async def test_a_job_that_went_well_cannot_be_retried(tmp_path: Path):
    async with run_daemon_in(tmp_path) as daemon:
        _, job = await daemon.say("alice", "hello")
        status, refused = await daemon.post(f"/v1/jobs/{job['job_id']}/retry")
    assert (status, refused["error"]["code"]) == (409, "E_JOB_NOT_RETRYABLE")


@pytest.mark.req("A17", "C5")
async def test_a_full_queue_is_429_and_the_same_request_works_when_there_is_room(tmp_path: Path):
    async with run_daemon_in(tmp_path, FAIRLEAD_MAX_QUEUE_PER_SESSION=1) as daemon:
        hanging = await daemon.begin("alice", "/hang")
        await daemon.until(hanging, "moved", state="running")
        await daemon.begin("alice", "waiting")
        for _ in range(2):
            status, refused = await daemon.say("alice", "third", "key-3")
            assert (status, refused["error"]["code"]) == (429, "E_QUEUE_FULL")
        _, cancelled = await daemon.post("/v1/cancel", {"userId": "alice"})
        await daemon.until(hanging, "done")
        status, job = await daemon.say("alice", "third", "key-3")
        again = await daemon.say("alice", "third", "key-3")
    assert cancelled["stopping"] == [hanging]
    assert status == 200
    assert again == (200, job)


# --- files ---------------------------------------------------------------------------------------------------------


def a_file(name: str, data: bytes, media_type: str = "") -> dict[str, str]:
    return {"name": name, "data": base64.b64encode(data).decode(), "media_type": media_type}


@pytest.mark.req("E8", "C5")
async def test_files_that_come_with_a_message_reach_the_agent_of_its_session(tmp_path: Path):
    files = [a_file("../a cat.png", b"\x89PNG", "image/png"), a_file("notes.txt", b"words")]
    async with run_daemon_in(tmp_path) as daemon:
        _, job = await daemon.post("/v1/messages", {"userId": "alice", "message": "look", "files": files})
        inbox = sorted(path for path in (tmp_path / "state/inbox").rglob("*") if path.is_file())
    assert [path.read_bytes() for path in inbox] == [b"\x89PNG", b"words"]
    assert [re.sub(r"job_\d+_\d+-\d-", "", path.name) for path in inbox] == ["a_cat.png", "notes.txt"]
    assert job["answer"].endswith("with a cat.png\nwith notes.txt")


@pytest.mark.req("C5")
async def test_one_key_with_other_files_is_another_body(tmp_path: Path):
    async with run_daemon_in(tmp_path) as daemon:
        said = {"userId": "alice", "message": "look", "files": [a_file("a.txt", b"one")]}
        other = {**said, "files": [a_file("a.txt", b"two")]}
        key = {"Idempotency-Key": "k"}
        statuses = [(await daemon.post("/v1/messages", body, headers=key))[0] for body in (said, said, other)]
    assert statuses == [200, 200, 422]


@pytest.mark.parametrize(
    ("files", "status", "words"),
    [
        (
            [{"name": "a.txt", "data": "?"}],
            400,
            "must be a list of objects, each with `name`",
        ),
        (
            [{"name": "", "data": ""}],
            400,
            "must be a list of objects, each with `name`",
        ),
        ([a_file("a.txt", b"x")] * 11, 400, "At most 10 files"),
        ([a_file("a.bin", b"x" * (21 << 20))], 413, "larger than 20 MiB"),
    ],
    ids=["not base64", "no name", "too many", "too large"],
)
async def test_files_that_cannot_be_taken_are_refused_and_nothing_is_kept(
    tmp_path: Path, files: list[dict[str, str]], status: int, words: str
):
    async with run_daemon_in(tmp_path) as daemon:
        told, refused = await daemon.post("/v1/messages", {"userId": "alice", "message": "look", "files": files})
        assert daemon.flow.ledger.state.account.received == 0
        assert list((tmp_path / "state/blobs").iterdir()) == []
    assert (told, words in refused["error"]["message"]) == (status, True), refused


async def test_only_a_message_may_be_as_large_as_its_files(tmp_path: Path):
    async with run_daemon_in(tmp_path) as daemon:
        status, refused = await daemon.post("/v1/questions/q_1", {"verdict": "allow", "message": "x" * (9 << 20)})
    assert (status, refused["error"]["code"]) == (413, "E_MESSAGE_TOO_LARGE")
