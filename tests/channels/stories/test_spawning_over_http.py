"""Tasks for sessions of their own over HTTP and by its client: once per key, back to who asked, heard of at once."""

from contextlib import aclosing
from pathlib import Path

import pytest

from fairlead.api import wire as w
from fairlead.core.ids import JobId, SessionKeyText
from fairlead.core.replies import Spawned
from fairlead.core.requests import Spawn
from fairlead.flow.spawns.spawning import AgentAsks
from tests.channels.harness import a_client, run_daemon_in

pytestmark = [pytest.mark.anyio, pytest.mark.req("D4")]

TASK = {"userId": "alice", "task": "count the files"}


async def test_the_same_key_is_one_session_and_its_answer_waits_for_who_asked(tmp_path: Path):
    async with run_daemon_in(tmp_path) as daemon:
        key = {"Idempotency-Key": "mine"}
        status, first = await daemon.post("/v1/spawn", TASK, headers=key)
        assert (status, first["returns"]) == (200, "person")
        assert (await daemon.post("/v1/spawn", TASK, headers=key))[1] == first
        await daemon.until(first["job_id"], "done")
        _, waiting = await daemon.get("/v1/answers?userId=alice")
        assert [job["job_id"] for job in waiting["jobs"]] == [first["job_id"]]
        _, listed = await daemon.get("/v1/sessions")
        assert [row["depth"] for row in listed["sessions"]] == [1]


async def test_what_is_wrong_with_a_task_is_said(tmp_path: Path):
    async with run_daemon_in(tmp_path, FAIRLEAD_SPAWN_MAX_DEPTH=0) as daemon:
        assert (await daemon.post("/v1/spawn", {"userId": "alice", "task": ""}))[0] == 400
        status, refused = await daemon.post("/v1/spawn", TASK)
        assert (status, refused["error"]["code"]) == (409, "E_SPAWN_DEPTH")


async def test_a_client_hears_of_a_task_that_it_asked_for_and_of_its_question(tmp_path: Path):
    async with run_daemon_in(tmp_path) as daemon, a_client(daemon) as client:
        async with aclosing(client.session_events("local")) as events:
            assert await anext(events) is None
            spawned = await client.command(Spawn(asked_by="", task="/ask ls"), "local")
            assert isinstance(spawned, Spawned)
            heard: list[object] = []
            while not (isinstance(heard[-1:] and heard[-1], w.QuestionInfo)):
                heard.append(await anext(events))
            assert {event.job_id for event in heard} == {spawned.job_id}
            assert [q.job_id for q in await client.questions("local")] == [spawned.job_id]


@pytest.mark.req("E10")
async def test_with_one_slot_an_agent_still_gets_what_it_asked_for(tmp_path: Path):
    async with run_daemon_in(tmp_path, FAIRLEAD_GLOBAL_MAX_RUNNING=1) as daemon:
        job_id = await daemon.begin("alice", "hello")
        await daemon.until(job_id, "done")
        job = daemon.flow.ledger.state.jobs[JobId(job_id)]
        asker = AgentAsks(SessionKeyText(job.session_key), job.job_id)
        await daemon.flow.spawning.spawn_session(asker, task="count the files", asked_by="call-1")
        ledger = daemon.flow.ledger
        while not (found := [j for j in ledger.state.jobs.values() if j.cause == "child"]):
            await ledger.until_changed(ledger.state.seq)
        ended = await daemon.until(found[0].job_id, "done")
        assert "count the files" in ended.data["job"]["answer"]
