"""Files and questions over HTTP."""

import shutil
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from fairlead.core.engine import EngineEvent, ImageProduced, Invocation, TurnEnded
from fairlead.runtimes.echo import EchoRuntime
from tests.channels.harness import at_home

pytestmark = pytest.mark.anyio


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
