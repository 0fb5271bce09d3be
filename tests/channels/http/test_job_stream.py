"""The stream of a job's events over HTTP."""

from itertools import pairwise
from pathlib import Path

import aiohttp
import pytest

from tests.channels.harness import DaemonHarness, Heard, heard_in, run_daemon_in

pytestmark = pytest.mark.anyio


@pytest.mark.req("C5")
async def test_a_stream_tells_everything_in_order(tmp_path: Path):
    body = {"userId": "alice", "message": "/tool Bash ls -la\nhello\n/image"}
    async with run_daemon_in(tmp_path) as daemon:
        headers = {"Accept": "text/event-stream"}
        async with daemon.http.post(f"{daemon.url}/v1/messages", json=body, headers=headers) as response:
            events = [heard async for heard in heard_in(response)]
        assert await daemon.get("/v1/answers?userId=alice") == (200, {"jobs": []})
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


@pytest.mark.req("C5", "A7")
async def test_a_stream_has_the_order_in_which_things_happened(tmp_path: Path):
    """The facts of a job wait for the disk and its words do not, and yet no word is heard before `running`."""
    async with run_daemon_in(tmp_path) as daemon:
        for number in range(7):
            body = {
                "userId": f"user-{number}",
                "message": "/tool Bash ls\nhello\n/question Go on? | yes\ntwo",
                "stream": True,
            }
            async with daemon.http.post(f"{daemon.url}/v1/messages", json=body) as response:
                live = [await _say_yes(daemon, heard) async for heard in heard_in(response)]
            async with daemon.listening(live[0].data["job_id"]) as events:
                replayed = [heard async for heard in events]
            for heard in (live, replayed):
                assert _outline(heard) == [
                    "accepted queued",
                    "moved queued",
                    "moved running",
                    "delta",
                    "tool started",
                    "tool ended",
                    "delta",
                    "moved waiting",
                    "question open",
                    "question answered",
                    "moved running",
                    "delta",
                    "done",
                ]


@pytest.mark.req("C5", "A7")
async def test_one_who_listens_later_hears_the_same_order_also_of_a_job_that_waits_its_turn(tmp_path: Path):
    async with run_daemon_in(tmp_path) as daemon:
        hanging = await daemon.begin("alice", "/hang")
        await daemon.until(hanging, "moved", state="running")
        waiting = await daemon.begin("alice", "hello")
        async with daemon.listening(waiting) as early:
            assert [(await anext(early)).name for _ in range(2)] == ["accepted", "moved"]
            async with daemon.listening(waiting) as late:
                await daemon.post(f"/v1/jobs/{hanging}/cancel")
                heard = [event async for event in late]
    assert _outline(heard) == ["accepted queued", "moved queued", "moved running", "delta", "done"]


async def _say_yes(daemon: DaemonHarness, heard: Heard) -> Heard:
    if heard.name == "question" and heard.data["status"] == "open":
        path = f"/v1/questions/{heard.data['question_id']}"
        await daemon.post(path, {"verdict": "allow", "chosen": {"Go on?": "yes"}})
    return heard


def _outline(events: list[Heard]) -> list[str]:
    """Each event with what it says of a state; deltas that follow each other count as one."""
    told = [" ".join([e.name, *(e.data[k] for k in ("state", "phase", "status") if k in e.data)]) for e in events]
    states = {"accepted": "accepted queued"}  # `queued` is the default, which is left out
    told = [states.get(name, name) for name in told]
    return [name for before, name in pairwise(["", *told]) if name != before or name != "delta"]


@pytest.mark.req("C5")
async def test_a_stream_says_how_soon_to_connect_again(tmp_path: Path):
    """A browser's EventSource waits as long as the server says."""
    async with run_daemon_in(tmp_path) as daemon:
        job_id = await daemon.begin("alice", "hello")
        async with daemon.http.get(f"{daemon.url}/v1/jobs/{job_id}/events") as response:
            assert (await response.read()).startswith(b"retry: 2000\n\nid: ")


@pytest.mark.req("C5")
async def test_a_broken_stream_goes_on_behind_the_last_event_heard(tmp_path: Path):
    async with run_daemon_in(tmp_path) as daemon:
        job_id = await daemon.begin("alice", "one\n/question Go on? | yes | no\ntwo")
        first = await daemon.until(job_id, "question")
        await daemon.post(
            f"/v1/questions/{first.data['question_id']}", {"verdict": "allow", "chosen": {"Go on?": "yes"}}
        )
        async with daemon.listening(job_id, first.id) as events:
            rest = [heard async for heard in events]
        async with daemon.listening(job_id, "elsewhere-3") as events:
            anew = [heard.name async for heard in events]
    assert "accepted" not in [heard.name for heard in rest]
    assert rest[-1].name == "done"
    assert "the answer to Go on? is yes" in rest[-1].data["job"]["answer"]
    assert (anew[0], anew[-1]) == ("accepted", "done")


@pytest.mark.req("C5", "A8")
async def test_a_client_that_hangs_up_cancels_nothing(tmp_path: Path):
    async with run_daemon_in(tmp_path) as daemon:
        body = {"userId": "alice", "message": "/question Still there? | yes"}
        timeout = aiohttp.ClientTimeout(total=0.2)
        with pytest.raises(TimeoutError):
            await daemon.http.post(f"{daemon.url}/v1/messages", json=body, timeout=timeout)
        question = await daemon.until("job_" + _only_job(daemon), "question")
        await daemon.post(f"/v1/questions/{question.data['question_id']}", {"verdict": "allow", "message": "yes"})
        await daemon.until(question.data["job_id"], "done")
        _, waiting = await daemon.get("/v1/answers?userId=alice")
    assert [job["job_id"] for job in waiting["jobs"]] == [question.data["job_id"]]
    assert "Still there? is yes" in waiting["jobs"][0]["answer"]


def _only_job(daemon: object) -> str:
    (job_id,) = daemon.flow.ledger.state.jobs
    return job_id.removeprefix("job_")
