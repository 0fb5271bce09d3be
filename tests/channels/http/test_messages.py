"""Talking over HTTP to a real house."""

import asyncio
import shutil
from collections.abc import AsyncGenerator
from pathlib import Path

import aiohttp
import pytest

from fairlead.core.engine import EngineEvent, ImageProduced, Invocation, TurnEnded
from fairlead.runtimes.echo import EchoRuntime
from tests.channels.harness import at_home, heard_in

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
async def test_a_stream_tells_everything_in_order(tmp_path: Path):
    body = {"userId": "alice", "message": "/tool Bash ls -la\nhello\n/image"}
    async with at_home(tmp_path) as home:
        headers = {"Accept": "text/event-stream"}
        async with home.http.post(f"{home.url}/v1/messages", json=body, headers=headers) as response:
            events = [heard async for heard in heard_in(response)]
        assert await home.get("/v1/answers?userId=alice") == (200, {"jobs": []})
    names = [event.name for event in events]
    assert names[0] == "accepted"
    assert names[-1] == "done"
    assert {"moved", "tool", "delta", "image"} < set(names)
    tools = [event.data for event in events if event.name == "tool"]
    assert [tool["phase"] for tool in tools] == ["started", "ended"]
    assert tools[0]["input"] == {"command": "ls -la"}
    told = "".join(event.data["text"] for event in events if event.name == "delta")
    assert told.strip() == events[-1].data["job"]["answer"].strip()
    assert len({event.id for event in events}) == len(events)


@pytest.mark.req("C5")
async def test_a_broken_stream_goes_on_behind_the_last_event_heard(tmp_path: Path):
    async with at_home(tmp_path) as home:
        job_id = await home.begin("alice", "one\n/question Go on? | yes | no\ntwo")
        first = await home.until(job_id, "question")
        await home.post(f"/v1/questions/{first.data['question_id']}", {"verdict": "allow", "chosen": {"Go on?": "yes"}})
        async with home.listening(job_id, first.id) as events:
            rest = [heard async for heard in events]
        async with home.listening(job_id, "elsewhere-3") as events:
            anew = [heard.name async for heard in events]
    assert "accepted" not in [heard.name for heard in rest]
    assert rest[-1].name == "done"
    assert "the answer to Go on? is yes" in rest[-1].data["job"]["answer"]
    assert (anew[0], anew[-1]) == ("accepted", "done")


@pytest.mark.req("C5", "A8")
async def test_a_client_that_hangs_up_cancels_nothing(tmp_path: Path):
    async with at_home(tmp_path) as home:
        body = {"userId": "alice", "message": "/question Still there? | yes"}
        timeout = aiohttp.ClientTimeout(total=0.2)
        with pytest.raises(TimeoutError):
            await home.http.post(f"{home.url}/v1/messages", json=body, timeout=timeout)
        question = await home.until("job_" + _only_job(home), "question")
        await home.post(f"/v1/questions/{question.data['question_id']}", {"verdict": "allow", "message": "yes"})
        await home.until(question.data["job_id"], "done")
        _, waiting = await home.get("/v1/answers?userId=alice")
    assert [job["job_id"] for job in waiting["jobs"]] == [question.data["job_id"]]
    assert "Still there? is yes" in waiting["jobs"][0]["answer"]


def _only_job(home: object) -> str:
    (job_id,) = home.daemon.flow.ledger.state.jobs
    return job_id.removeprefix("job_")


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


@pytest.mark.req("C5")
async def test_what_is_asked_can_be_read_and_answered_over_http(tmp_path: Path):
    async with at_home(tmp_path) as home:
        job_id = await home.begin("alice", "/ask rm -rf build\n/ask rm -rf build")
        await home.until(job_id, "question")
        _, listed = await home.get("/v1/questions?userId=alice")
        (question,) = listed["questions"]
        assert (question["tool"], question["detail"], question["kind"]) == ("Bash", "rm -rf build", "permission")
        assert (await home.get("/v1/questions?userId=bob"))[1] == {"questions": []}
        path = f"/v1/questions/{question['question_id']}"
        assert (await home.post(path, {"verdict": "allow", "for_session": True}))[0] == 200
        done = await home.until(job_id, "done")
        status, refused = await home.post(path, {"verdict": "deny"})
    assert done.data["job"]["answer"].count("allowed: rm -rf build") >= 1
    assert (status, refused["error"]["code"]) == (409, "E_QUESTION_CLOSED")


@pytest.mark.req("C5")
async def test_the_files_of_an_answer_can_be_fetched_and_no_others(tmp_path: Path):
    async with at_home(tmp_path) as home:
        _, job = await home.say("alice", "/image")
        (file,) = job["files"]
        status, picture = await home.get(file["url"])
        assert (status, picture[:4]) == (200, b"\x89PNG")
        for other in ("1", "-1", "x", "..%2F..%2Fhttp-token", "٠", "00", "000000000999"):
            status, refused = await home.get(f"/v1/jobs/{job['job_id']}/files/{other}")
            assert (status, refused["error"]["code"]) == (404, "E_JOB_NOT_FOUND")


class Painter(EchoRuntime):
    """An agent with its own idea of what a media type is."""

    async def invoke(self, invocation: Invocation) -> AsyncGenerator[EngineEvent]:
        yield ImageProduced(invocation.prompt, b"not a page")
        yield TurnEnded("painted")


@pytest.mark.req("C5")
@pytest.mark.parametrize("claimed", ["image/png\r\nSet-Cookie: a=b", "text/html; charset=utf-8", "", "x" * 300])
async def test_what_an_agent_says_of_its_file_cannot_write_into_the_header(tmp_path: Path, claimed: str):
    async with at_home(tmp_path) as home:
        home.daemon.runtimes["echo"] = Painter()
        _, job = await home.say("alice", claimed or "nothing")
        async with home.http.get(home.url + job["files"][0]["url"]) as response:
            assert (response.status, await response.read()) == (200, b"not a page")
            assert response.content_type == "application/octet-stream"
            assert "Set-Cookie" not in response.headers


@pytest.mark.req("C5", "B4")
async def test_after_a_restart_only_what_can_still_be_answered_is_an_open_question(tmp_path: Path):
    async with at_home(tmp_path) as home:
        for user, words in (("alice", "/question Which? | red | blue"), ("bob", "/ask rm -rf build")):
            await home.until(await home.begin(user, words), "question")
        _, listed = await home.get("/v1/questions")
        assert [q["kind"] for q in listed["questions"]] == ["question", "permission"]
    async with at_home(tmp_path) as home:
        _, listed = await home.get("/v1/questions")
        assert [q["kind"] for q in listed["questions"]] == ["question"]
        _, metrics = await home.get("/v1/metrics")
        assert b"fairlead_questions_open 1\n" in metrics


@pytest.mark.req("C5", "A16")
async def test_a_question_answered_after_a_crash_leaves_the_story_of_its_job_ended(tmp_path: Path):
    before, after = tmp_path / "before", tmp_path / "after"
    before.mkdir()
    after.mkdir()
    async with at_home(before) as home:
        asked = await home.begin("alice", "/question Which? | red | blue")
        await home.until(asked, "question")
        shutil.copytree(before / "state", after / "state")  # as kill -9 would leave it
    async with at_home(after) as home:
        _, listed = await home.get("/v1/questions?userId=alice")
        (question,) = listed["questions"]
        status, reply = await home.post(
            f"/v1/questions/{question['question_id']}", {"verdict": "allow", "chosen": {"Which?": "red"}}
        )
        assert (status, reply["job_id"] == asked) == (200, False)
        await home.until(reply["job_id"], "done")
        over = await home.until(asked, "error")
    assert over.data["error"]["code"] == "E_UNKNOWN_AFTER_CRASH"
