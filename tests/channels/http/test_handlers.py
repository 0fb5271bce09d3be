"""Files and questions over HTTP."""

import json
import re
import shutil
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from fairlead.core.engine import EngineEvent, ImageProduced, Invocation, TurnEnded
from fairlead.runtimes.echo import EchoRuntime
from tests.channels.harness import a_client, run_daemon_in

pytestmark = pytest.mark.anyio


def facts_in(directory: Path, kind: str) -> list[dict[str, Any]]:
    lines = map(json.loads, (directory / "state" / "events.ndjson").read_text().splitlines())
    return [line for line in lines if line["type"] == kind]


@pytest.mark.req("C5")
async def test_what_is_asked_can_be_read_and_answered_over_http(tmp_path: Path):
    async with run_daemon_in(tmp_path) as daemon:
        job_id = await daemon.begin("alice", "/ask rm -rf build\n/ask rm -rf build")
        await daemon.until(job_id, "question")
        _, listed = await daemon.get("/v1/questions?userId=alice")
        (question,) = listed["questions"]
        assert (question["tool"], question["detail"], question["kind"]) == ("Bash", "rm -rf build", "permission")
        assert (await daemon.get("/v1/questions?userId=bob"))[1] == {"questions": []}
        path = f"/v1/questions/{question['question_id']}"
        assert (await daemon.post(path, {"verdict": "allow", "for_session": True}))[0] == 200
        done = await daemon.until(job_id, "done")
        status, refused = await daemon.post(path, {"verdict": "deny"})
        came_by = [f["payload"]["via"] for f in facts_in(tmp_path, "QuestionAnswered")]
    assert done.data["job"]["answer"].count("allowed: rm -rf build") >= 1
    assert [re.sub(r"\d+$", "PORT", way) for way in came_by] == [
        "terminal/fairlead/local over HTTP from 127.0.0.1:PORT"
    ]
    assert (status, refused["error"]["code"]) == (409, "E_QUESTION_CLOSED")


@pytest.mark.req("C5")
async def test_the_files_of_an_answer_can_be_fetched_and_no_others(tmp_path: Path):
    async with run_daemon_in(tmp_path) as daemon:
        _, job = await daemon.say("alice", "/image")
        (file,) = job["files"]
        status, picture = await daemon.get(file["url"])
        assert (status, picture[:4]) == (200, b"\x89PNG")
        for other in ("1", "-1", "x", "..%2F..%2Fhttp-token", "٠", "00", "000000000999"):
            status, refused = await daemon.get(f"/v1/jobs/{job['job_id']}/files/{other}")
            assert (status, refused["error"]["code"]) == (404, "E_JOB_NOT_FOUND")


class Painter(EchoRuntime):
    """An agent with its own idea of what a media type is."""

    async def invoke(self, invocation: Invocation) -> AsyncGenerator[EngineEvent]:
        yield ImageProduced(invocation.prompt, b"not a page")
        yield TurnEnded("painted")


@pytest.mark.req("C5")
@pytest.mark.parametrize("claimed", ["image/png\r\nSet-Cookie: a=b", "text/html; charset=utf-8", "", "x" * 300])
async def test_what_an_agent_says_of_its_file_cannot_write_into_the_header(tmp_path: Path, claimed: str):
    async with run_daemon_in(tmp_path) as daemon:
        daemon.runtimes["echo"] = Painter()
        _, job = await daemon.say("alice", claimed or "nothing")
        async with daemon.http.get(daemon.url + job["files"][0]["url"]) as response:
            assert (response.status, await response.read()) == (200, b"not a page")
            assert response.content_type == "application/octet-stream"
            assert "Set-Cookie" not in response.headers


@pytest.mark.req("C5", "B4")
async def test_after_a_restart_only_what_can_still_be_answered_is_an_open_question(tmp_path: Path):
    async with run_daemon_in(tmp_path) as daemon:
        for user, words in (("alice", "/question Which? | red | blue"), ("bob", "/ask rm -rf build")):
            await daemon.until(await daemon.begin(user, words), "question")
        _, listed = await daemon.get("/v1/questions")
        assert [q["kind"] for q in listed["questions"]] == ["question", "permission"]
    async with run_daemon_in(tmp_path) as daemon:
        _, listed = await daemon.get("/v1/questions")
        assert [q["kind"] for q in listed["questions"]] == ["question"]
        _, metrics = await daemon.get("/v1/metrics")
        assert b"fairlead_questions_open 1\n" in metrics


@pytest.mark.req("C5", "A16")
async def test_a_question_answered_after_a_crash_leaves_the_story_of_its_job_ended(tmp_path: Path):
    before, after = tmp_path / "before", tmp_path / "after"
    before.mkdir()
    after.mkdir()
    async with run_daemon_in(before) as daemon:
        asked = await daemon.begin("alice", "/question Which? | red | blue")
        await daemon.until(asked, "question")
        shutil.copytree(before / "state", after / "state")  # as kill -9 would leave it
    async with run_daemon_in(after) as daemon:
        _, listed = await daemon.get("/v1/questions?userId=alice")
        (question,) = listed["questions"]
        status, reply = await daemon.post(
            f"/v1/questions/{question['question_id']}", {"verdict": "allow", "chosen": {"Which?": "red"}}
        )
        assert (status, reply["job_id"] == asked) == (200, False)
        await daemon.until(reply["job_id"], "done")
        over = await daemon.until(asked, "error")
    assert over.data["error"]["code"] == "E_UNKNOWN_AFTER_CRASH"


@pytest.mark.req("A13")
async def test_a_tier_that_changed_since_a_person_saw_it_is_shown_with_the_next_permission(tmp_path: Path):
    workspace = tmp_path / "state" / "workspaces" / "proj"
    async with run_daemon_in(tmp_path) as daemon:
        workspace.mkdir(parents=True)
        changes: list[str] = []
        for tier in ("readonly", "readonly", "full", "full"):
            (workspace / "PERMISSIONS.json").write_text(f'{{"tier": "{tier}"}}')
            job = await daemon.begin("alice", "/ask ls")
            asked = (await daemon.until(job, "question")).data
            assert asked["tier"].startswith(f"{tier} (")
            changes.append(asked.get("tier_before", "").partition(" ")[0])
            await daemon.post(f"/v1/questions/{asked['question_id']}", {"verdict": "deny"})
            await daemon.until(job, "done")
    assert changes == ["", "", "readonly", ""]


@pytest.mark.req("C5")
async def test_history_comes_in_pages_from_either_end(tmp_path: Path):
    async with run_daemon_in(tmp_path) as daemon, a_client(daemon, channel="http") as client:
        asked = [(await daemon.say("alice", f"number {n}"))[1]["job_id"] for n in range(5)]
        path = "/v1/sessions/agent:fairlead:user:alice/history"

        async def read(query: str) -> tuple[list[str], str]:
            status, page = await daemon.get(f"{path}?{query}")
            assert status == 200, page
            return [job["job_id"] for job in page["jobs"]], page.get("next", "")

        assert await read("") == (asked, "")
        assert await read("limit=2") == (asked[:2], asked[1])
        assert await read(f"limit=2&after={asked[1]}") == (asked[2:4], asked[3])
        assert await read(f"limit=2&after={asked[3]}") == (asked[4:], "")
        assert await read("limit=2&order=newest_first") == (asked[:2:-1], asked[3])
        assert await read(f"limit=9&order=newest_first&after={asked[3]}") == (asked[2::-1], "")
        assert [job.job_id for job in await client.history("agent:fairlead:user:alice")] == asked
        status, refused = await daemon.get(f"{path}?after=yesterday")
    assert (status, refused["error"]["code"]) == (400, "E_INVALID_ARGS")


@pytest.mark.req("C5")
async def test_sessions_come_in_pages_and_one_that_becomes_active_takes_none_away(tmp_path: Path):
    users = [f"user-{n}" for n in range(7)]
    async with run_daemon_in(tmp_path) as daemon:
        for user in users:
            await daemon.say(user, "hello")
        found: list[str] = []
        after = ""
        while True:
            _, page = await daemon.get(f"/v1/sessions?limit=3{after and '&after=' + after}")
            found += [row["session_key"].rpartition(":")[2] for row in page["sessions"]]
            if "next" not in page:
                break
            after = page["next"]
            await daemon.say("user-6", "once more")
        status, refused = await daemon.get("/v1/sessions?after=here")
    assert found == users[::-1]
    assert (status, refused["error"]["code"]) == (400, "E_INVALID_ARGS")


@pytest.mark.req("C5")
async def test_every_key_of_a_status_has_one_meaning(tmp_path: Path):
    async with run_daemon_in(tmp_path) as daemon:
        _, job = await daemon.say("alice", "hello")
        _, status = await daemon.get("/v1/status?userId=alice")
    assert status["session_key"] == job["session_key"] == "agent:fairlead:user:alice"
    assert status["resume_key"] not in {None, status["session_key"]}
    assert status["session_key_name"] == status["session_key"], "the old name of the same key"


@pytest.mark.req("C5", "A13")
async def test_the_address_in_a_browser_is_a_page_that_tells_strangers_nothing(tmp_path: Path):
    async with run_daemon_in(tmp_path) as daemon:
        await daemon.say("alice", "a secret plan")
        browser = {"Authorization": "", "Accept": "text/html,*/*;q=0.8", "Accept-Language": "ja,en;q=0.5"}
        linked = {**browser, "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
        for headers in (browser, linked):
            async with daemon.http.get(f"{daemon.url}/", headers=headers) as response:
                page = await response.text()
            assert (response.status, response.content_type) == (200, "text/html")
        assert "default-src 'none'" in response.headers["Content-Security-Policy"]
        assert response.headers["X-Content-Type-Options"] == "nosniff"
        async with daemon.http.get(f"{daemon.url}/", headers={**browser, "Host": "evil.example"}) as response:
            assert response.status == 403
    assert '<html lang="ja">' in page
    assert "正常に動作しています" in page
    for secret in ("alice", "plan", "proj", str(tmp_path), daemon.token):
        assert secret not in page
