"""The stream of a job's events over HTTP."""

from pathlib import Path

import aiohttp
import pytest

from tests.channels.harness import at_home, heard_in

pytestmark = pytest.mark.anyio


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
